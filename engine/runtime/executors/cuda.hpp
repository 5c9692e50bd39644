// Issues on real devices. The host only gives orders: an issue's kernels go into one of its
// device's streams as soon as the orders for all that they read have been given, and a word in the
// host's own memory tells when they are done. Within a device, streams wait for each other by
// events; a result that is needed elsewhere is copied once, behind the word of whoever makes it.
//
// Each call of the driver takes the host a microsecond or more. What of one step has been issued
// to one stream therefore is a run: ordered together, with one event and one word for all of it.
//
// A device that refuses an order, or has told nothing for too long while it had something to do,
// has failed: what it had, and what elsewhere waited for copies from it, has to be issued again.
// It is back when recover() finds that it answers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include "base/cuda/driver.hpp"
#include "runtime/executor.hpp"

namespace carillon::runtime {

/// What instructions are on a device: for those to say who know what is computed. Every frame that
/// the board has a place for has memory on every device.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  /// An order to fetch from the host, one for kernels, or one to bring a result to the host.
  enum class Kind : std::uint8_t { Fetch, Kernels, Bring };
  virtual Kind kind(std::uint16_t source, std::uint16_t instruction) const noexcept = 0;
  /// Instructions of one frame, one after the other, on a stream of the device, which is the
  /// thread's current one.
  virtual cuda::Status launch(std::span<const InstanceId> run, std::uint16_t device,
                              cuda::Stream stream) noexcept = 0;
  /// The result, as another device has it, on a stream of the one that needs it.
  virtual cuda::Status copy(const InstanceId& what, std::uint16_t from, std::uint16_t to,
                            cuda::Stream stream) noexcept = 0;
};

class CudaExecutor final : public Executor {
 public:
  // A device's streams: what comes from the host and from other devices, and goes to the host; what
  // is ready, before all others; what policies name; what runs on what those leave.
  static constexpr std::uint32_t kFetch = 0, kCopies = 1;
  static constexpr std::uint32_t kBring = 2, kBringStreams = 4;
  static constexpr std::uint32_t kOwn = kBring + kBringStreams, kOwnStreams = 8;
  static constexpr std::uint32_t kOrdered = kOwn + kOwnStreams, kOrderedStreams = 16;
  static constexpr std::uint32_t kBackground = kOrdered + kOrderedStreams;
  /// Of the ordered ones, that of a policy's stream: spread, since policies count them by source,
  /// place in the ring and step, and sources begin together.
  static constexpr std::uint32_t ordered(std::uint16_t stream) {
    static_assert(kOrderedStreams == 1 << 4);
    return kOrdered + (std::uint32_t{stream} * 0x9E3779B1U >> (32 - 4));
  }
  /// What the driver has to have for a scoreboard's sources.
  static cuda::DriverOptions needs(const Scoreboard& board);

  struct Options {
    Tick patience = 50 * kMillisecond;  ///< for a device that has something to do and tells nothing
  };

  /// The board's devices are the driver's. All outlive it.
  CudaExecutor(const Scoreboard& board, cuda::Driver& driver, DeviceWork& work,
               const Options& options);

  std::size_t room() const noexcept override { return free_.size(); }
  void issue(const Issue& issue, Tick now) noexcept override;
  void flush() noexcept override;
  std::size_t poll(std::span<Finished> out) noexcept override;
  std::uint32_t undone(const InstanceId& what) const noexcept override;
  void cancel(const InstanceId& what) noexcept override;
  std::size_t poll(std::span<DeviceEvent> out) noexcept override;
  bool lost(const InstanceId& what) const noexcept override;

  /// Asks devices that have failed whether they answer. Any thread.
  void recover() noexcept;
  /// How often a device failed, and what the first order that was refused was refused with.
  std::uint64_t failures() const { return failures_; }
  const cuda::Status& trouble() const { return trouble_; }
  /// Copies from device to device so far.
  std::uint64_t copies() const { return copied_; }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  // An issue that is not finished. Once submitted: the word in which its run tells that ticket.
  struct Live {
    Issue issue;
    std::uint16_t device = 0;
    std::uint32_t stream = 0, place = 0, word = 0, ticket = 0;
    std::uint64_t order = 0;  // in which it was issued
    bool joined = false, submitted = false, spoiled = false, cancelled = false;
    Tick given = 0;  // when it was issued, then when it was submitted
  };
  // Where an instance's result is, and the mark behind which it is there. Copies: from which
  // device, and whether that has been seen done.
  struct There {
    bool here = false, copied = false, sure = false;
    std::uint16_t from = 0;
    std::uint32_t stream = 0, mark = 0;
  };
  struct Place {
    std::uint32_t generation = 0, live = kNone, word = 0, ticket = 0;
    Tick told = 0;
  };
  enum class Health : std::uint8_t { Up, Down, Answers };
  struct Gpu {
    std::atomic<Health> health{Health::Up};
    std::uint32_t busy = 0;  // issues submitted and not finished
    std::uint32_t turn = 0;  // of its streams that nobody names
    Tick told = 0;           // when it last told something, or had nothing to do
  };

  bool up(std::uint16_t device) const {
    return gpus_[device]->health.load(std::memory_order_relaxed) == Health::Up;
  }
  std::uint32_t index(const InstanceId& what, std::uint16_t instruction) const;
  There& there(std::uint32_t place, std::uint16_t device) {
    return there_[std::size_t{place} * gpus_.size() + device];
  }
  std::uint32_t place_of(const InstanceId& what, std::uint16_t instruction);
  // What an instruction reads, of what its frame has.
  auto waits_for(const InstanceId& what) const {
    return std::span(board_[what.source].graph()[what.instruction].waits_for) |
           std::views::filter([this, &what](std::uint16_t s) { return has_chunks(what, s); });
  }
  bool has_chunks(const InstanceId& what, std::uint16_t instruction) const;
  std::uint32_t stream_for(const Issue& issue, std::uint16_t device);
  std::uint32_t stream_of_run() const;

  bool in_run(std::uint32_t id) const;
  bool can_submit(const Live& live);
  bool joins(const Live& live);
  bool read_outside(std::uint32_t id) const;
  void gather(std::uint32_t first);
  void leave(std::span<const std::uint32_t> members);
  void submit_waiting() noexcept;
  void submit(Tick now) noexcept;
  cuda::Status order();
  cuda::Status launch(std::span<const std::uint32_t> members);
  bool awaits(const Live& live, std::uint16_t instruction);
  bool awaits_any(const Live& live);
  cuda::Status bring_here(const Live& live, std::uint16_t instruction);
  std::uint16_t holder(std::uint32_t place) const;

  void look(Tick now) noexcept;
  void look_for_silence(Tick now) noexcept;
  void done(std::span<const std::uint32_t> run, Tick now) noexcept;
  double times_expected(std::span<const std::uint32_t> run, Tick now) const;
  Tick awaited(const Live& live, Tick now) const;
  double expected(const Live& live) const;
  void finish(std::uint32_t id, Tick begin, Tick end, bool failed) noexcept;
  void fail(std::uint16_t device, Tick now) noexcept;
  void give_up(std::uint16_t device, Tick now) noexcept;
  void spoil_readers(std::uint16_t dead) noexcept;

  const Scoreboard& board_;
  cuda::Driver& driver_;
  DeviceWork& work_;
  Options options_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::uint32_t> first_place_;  // [source]
  std::vector<Place> places_;               // [source][slot][instruction]
  std::vector<There> there_;                // [place][device]
  std::vector<Live> lives_;                 // as many as places, each of which has one at most
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> waiting_, given_;  // not submitted, in order; submitted, in order
  std::vector<std::uint32_t> run_;              // what is about to be submitted
  std::vector<InstanceId> launched_;            // of it, with one launch
  std::vector<Finished> finished_;
  std::vector<DeviceEvent> events_;
  std::uint32_t ticket_ = ~0U - 100;  // it turns soon, so that this is nothing rare
  std::uint64_t issued_ = 0, failures_ = 0;
  cuda::Status trouble_;
  std::uint64_t copied_ = 0;
};

}  // namespace carillon::runtime
