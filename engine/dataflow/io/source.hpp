// Sources with a file or device: a thread brings samples into a ring, and execute() copies them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dataflow/blocks/type.hpp"
#include "dataflow/io/format.hpp"
#include "dataflow/io/thread.hpp"
#include "dataflow/ring.hpp"

namespace carillon::dataflow {

/// Counted by one thread, read by any.
class Count {
 public:
  void add(std::uint64_t more) noexcept { value_.fetch_add(more, std::memory_order_relaxed); }
  double value() const noexcept {
    return static_cast<double>(value_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Tags on their way between threads, with positions that count samples from the first.
class TagRing {
 public:
  TagRing() : ring_(sizeof(Slot), kRoom, 1) {}
  bool add(const Tag& tag) noexcept;
  /// The next one, if it is before `end`.
  std::optional<Tag> next(std::uint64_t end) noexcept;

 private:
  static constexpr std::uint64_t kRoom = 1024;
  struct alignas(128) Slot {
    Tag tag;
  };
  Ring ring_;
};

/// Where a reader puts what it reads.
class Feed {
 public:
  Feed(Items items, std::uint64_t room)
      : floats_(floats_of(items)), samples_(floats_ * sizeof(float), room, 1) {}

  std::size_t room() const { return samples_.room(); }
  bool is_half_full() const { return samples_.room() <= samples_.capacity() / 2; }
  float* place() const { return reinterpret_cast<float*>(samples_.place()); }
  void wrote(std::size_t samples) noexcept;
  /// Of `format`, as many as there is room for; returns how many.
  std::size_t put(const Format& format, const std::byte* from, std::size_t samples) noexcept;
  /// The next sample written has an Overflow tag.
  void lost(std::uint64_t samples) noexcept;
  /// At the next sample. False: there is no room yet.
  bool tag(Tag tag) noexcept;
  double all_lost() const { return all_lost_.value(); }

 private:
  friend class DeviceSource;
  std::size_t floats_;
  Ring samples_;
  TagRing tags_;
  std::uint64_t lost_ = 0;
  Count all_lost_;
};

/// A file or device to read. Only figures() is called from other threads than the reading one while
/// that runs.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Throws std::runtime_error that names it and says what to do.
  virtual void open() = 0;
  /// Puts what there is into `feed`, after waiting for it with `stop` if there is nothing. False:
  /// there will be no more. Throws std::runtime_error.
  virtual bool read(Feed& feed, const Stop& stop) = 0;
  virtual void close() noexcept {}
  /// That it is read also where there is no room, and what has none is lost.
  virtual bool is_live() const noexcept { return false; }
  /// Block::set(), from another thread than the reading one.
  virtual void set(std::string_view parameter, double value) noexcept {
    static_cast<void>(parameter);
    static_cast<void>(value);
  }
  virtual std::vector<Figure> figures() const { return {}; }
};

/// An execution makes one sample.
class DeviceSource final : public Block {
 public:
  DeviceSource(Items items, std::unique_ptr<Reader> reader, std::uint64_t buffer_samples);
  ~DeviceSource() override { thread_.stop(0); }

  void execute(const float* const*, float* out, std::size_t count) noexcept override;
  bool has_device() const noexcept override { return true; }
  bool is_live() const noexcept override { return reader_->is_live(); }
  void start() override;
  std::uint64_t ready() noexcept override;
  bool over() noexcept override;
  void finish() override;
  std::string failure() const override { return thread_.failure(); }
  void set(std::string_view parameter, double value) noexcept override {
    reader_->set(parameter, value);
  }
  std::vector<Figure> figures() const override;

 private:
  void move(const Stop& stop);

  std::unique_ptr<Reader> reader_;
  std::uint64_t buffer_samples_;
  std::unique_ptr<Feed> feed_;  // from start() on
  Count missing_;
  IoThread thread_;
};

/// `buffer_samples`, of sources and sinks.
Parameter buffer_parameter();
std::uint64_t buffer_samples(const Values& values);

/// How long an I/O thread sleeps where there is little to do, so that it does much at a time:
/// nobody wakes it, because that would be a system call of a worker.
inline constexpr int kNap_ms = 1;

}  // namespace carillon::dataflow
