// What a node computes. A block knows no graph and no runtime: it can be used alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataflow/blocks/tag.hpp"

namespace carillon::dataflow {

/// What samples are: a float, or two of a complex one, real part first.
enum class Items : std::uint8_t { Real, Complex };
constexpr std::size_t floats_of(Items items) { return items == Items::Complex ? 2 : 1; }

/// An execution waits for `threshold` new samples and takes `consume` of them away. It also reads
/// the `history` samples before them: zeros before the first, so that a filter waits for no more
/// than it consumes. What it makes first is of the sample that comes `ahead` of the first new one:
/// tags go out there.
struct Input {
  Items items = Items::Complex;
  std::uint64_t threshold = 1, consume = 1, history = 0, ahead = 0;
};
/// An execution makes `produce` samples.
struct Output {
  Items items = Items::Complex;
  std::uint64_t produce = 1;
};
struct Ports {
  std::vector<Input> inputs;     ///< none: a source
  std::optional<Output> output;  ///< none: a sink
};

/// Something that a block found or counted: "overflows", "power".
struct Figure {
  std::string name, unit;
  double value = 0;
};

/// What a sink keeps for a picture: powers at `width` frequencies, row after row.
struct Rows {
  std::size_t width = 0;
  double first_hz = 0, step_hz = 0;  ///< the first frequency, and from one to the next
  std::vector<float> values;
  std::uint64_t came = 0;    ///< rows in all
  std::uint64_t merged = 1;  ///< each is the mean of so many of those, the last of what was left
};

/// Threads: one at a time calls execute(), remaining(), ready(), over() and set(), not always the
/// same one; start() comes before and finish() after all of these; failure() and figures() may be
/// called meanwhile.
class Block {
 public:
  explicit Block(Ports ports) : ports_(std::move(ports)) {}
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Ports& ports() const { return ports_; }
  /// Floats that so many executions read of an input (count ≥ 1), and write.
  std::size_t reads(std::size_t input, std::size_t count) const {
    const Input& in = ports_.inputs[input];
    return floats_of(in.items) * (in.history + in.threshold + (count - 1) * in.consume);
  }
  std::size_t writes(std::size_t count) const {
    return ports_.output ? floats_of(ports_.output->items) * ports_.output->produce * count : 0;
  }

  /// `count` executions: reads(i, count) floats of each in[i], the history first, and writes(count)
  /// of `out`, which overlaps no input. No allocation, lock or system call.
  virtual void execute(const float* const* in, float* out, std::size_t count) noexcept = 0;
  /// Executions that it still has to do, asked at first and after each job. With the last one its
  /// node ends, and then those that nothing else reads.
  virtual std::uint64_t remaining() const noexcept {
    return std::numeric_limits<std::uint64_t>::max();
  }

  /// Whether ready() and over() are to be asked: of blocks with a file or a device.
  virtual bool has_device() const noexcept { return false; }
  /// Of a source: whether its samples come when they come, as a radio's do. Others, files among
  /// them, are asked at the graph's rate.
  virtual bool is_live() const noexcept { return false; }
  /// Samples that its device has taken so far. Any thread.
  virtual std::uint64_t moved() const noexcept { return 0; }
  /// Whether some executions take many times as long as others: of blocks that decode bursts, or
  /// call out. If not, a job that does was interrupted.
  virtual bool varies() const noexcept { return false; }
  /// Opens the device. Throws std::runtime_error that names it and says what to do.
  virtual void start() {}
  /// Executions for which the device has samples, or room. Of a source that is over(), its device
  /// gives no more than what is ready() after that.
  virtual std::uint64_t ready() noexcept { return std::numeric_limits<std::uint64_t>::max(); }
  virtual bool over() noexcept { return false; }
  /// Waits for the device no longer: it has taken nothing for a while, and the run is to end. From
  /// the thread that calls start() and finish().
  virtual void abandon() noexcept {}
  /// Writes what is left and closes the device. Throws std::runtime_error.
  virtual void finish() {}
  /// Why the device does no more; empty while it does. The run then ends.
  virtual std::string failure() const { return {}; }

  /// Changes a parameter that is declared as changeable; takes effect with the next execution.
  virtual void set(std::string_view parameter, double value) noexcept {
    static_cast<void>(parameter);
    static_cast<void>(value);
  }
  virtual std::vector<Figure> figures() const { return {}; }
  /// After finish().
  virtual std::optional<Rows> rows() const { return std::nullopt; }

  /// What is said about the samples of an execution: the runtime sets `tags_in` before execute(),
  /// with positions relative to the first new sample of the first input; a block may put tags of
  /// its own into `tags_out`, relative to its first output. Tags that come in go out by themselves,
  /// at the sample that is made of theirs, unless keeps_tags().
  virtual bool keeps_tags() const noexcept { return false; }
  std::span<const Tag> tags_in;
  TagList tags_out;

 private:
  Ports ports_;
};

}  // namespace carillon::dataflow
