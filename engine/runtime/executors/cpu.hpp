// Issues on CPU cores. There is no manager: workers claim chunks of published issues by
// compare-exchange, each from its home range first and then from the others'.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "runtime/arrivals.hpp"
#include "runtime/clock_debt.hpp"
#include "runtime/executor.hpp"
#include "runtime/opcode.hpp"
#include "telemetry/trace.hpp"

namespace carillon::runtime {

/// Adds to a counter that one thread writes and others may read.
template <typename T>
void add(std::atomic<T>& counter, T value) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

class CpuExecutor final : public Executor {
 public:
  /// Issues that can be live at once: one bit each in a word.
  static constexpr std::uint32_t kPlaces = 64;

  /// `kernels` and `arrivals`: by source.
  CpuExecutor(const Scoreboard& board, std::span<const Kernels> kernels,
              std::span<const Arrivals> arrivals, std::uint32_t workers, std::size_t trace);

  // Scheduler side.
  std::size_t room() const noexcept override;
  void issue(const Issue& issue, Tick now) noexcept override;
  void flush() noexcept override;
  std::size_t poll(std::span<Finished> out) noexcept override;
  std::uint32_t undone(const InstanceId& what) const noexcept override;
  void cancel(const InstanceId& what) noexcept override;

  // Worker side.
  enum class Ran : std::uint8_t { Nothing, Chunks, Last };  ///< Last: an issue is finished; poll it
  /// Claims and executes up to a grain of chunks of the most urgent issue that has any.
  Ran run(std::uint32_t worker) noexcept;
  /// Any thread. Emulates cores with this share of the clock that they have, 0 < share <= 1: chunks
  /// are done more than once, until kernels have taken 1/share of their time. All else is as fast
  /// as ever.
  void emulate_clock(double share) noexcept {
    extra_.store(1 / share - 1, std::memory_order_relaxed);
  }
  /// poll() would return something.
  bool pending() const noexcept { return finished_.load() != 0; }
  /// No issue is live.
  bool empty() const noexcept { return (order_[0].load(std::memory_order_acquire) & 0xff) == kEnd; }

  /// One per worker, on cache lines of its own, written by it alone.
  struct alignas(kCacheLine) Worker {
    std::atomic<Tick> kernel{0}, schedule{0};
    std::atomic<std::uint64_t> tasks{0}, chunks{0}, tokens{0};
    Tick last = 0;                 // time, as the worker last knew it
    Tick expected = 0;             // of the kernel in its last work(), before it ran
    std::vector<ClockDebt> debts;  // [opcode]
    telemetry::TraceRing trace;
    Worker(std::size_t opcodes, std::size_t events) : debts(opcodes), trace(events) {}
  };
  Worker& worker(std::uint32_t id) const noexcept { return *workers_[id]; }

 private:
  static constexpr std::uint64_t kEnd = 0xff;

  /// Chunks [next, end) are still unclaimed: `generation:32 | next:32`. Home ranges do not change
  /// within a generation. A word whose `next` is kRetired gives out nothing.
  struct alignas(kCacheLine) Range {
    std::atomic<std::uint64_t> word{kRetired};
    std::atomic<std::uint32_t> end{0};
  };
  static constexpr std::uint64_t kRetired = 0xffffffff;

  /// One live issue. A worker that reads fields of two generations finds that its compare-exchange
  /// fails: words are retired before the fields change and renewed after.
  struct Place {
    alignas(kCacheLine) std::atomic<std::uint32_t> generation{0};
    std::atomic<std::uint32_t> exhausted{0};  // the last generation seen to have nothing left
    std::atomic<std::uint64_t> frame{0};
    std::atomic<std::uint16_t> source{0}, slot{0}, instruction{0};
    std::atomic<std::uint32_t> grain{1}, ranges{0};
    std::array<std::atomic<std::uint64_t>, 2> where{};
    std::atomic<const std::uint16_t*> arrived{nullptr};
    // `chunks not done:24 | busy ns:40`, so that finishing is one addition.
    alignas(kCacheLine) std::atomic<std::uint64_t> progress{0};
    std::atomic<Tick> executed{0}, ended{0};
    std::atomic<std::uint32_t> device{0};
    // The scheduler's own.
    alignas(kCacheLine) InstanceId what;
    std::uint32_t count = 0;
    Priority priority;
    std::unique_ptr<Range[]> range;
  };
  struct Source {
    const SourceBoard& board;
    const Arrivals& arrivals;
    std::vector<Opcode> opcodes;
    void* context;
  };
  struct Claim {
    std::uint32_t first, count;
  };

  bool claim(Place& place, std::uint32_t worker, Task& task) noexcept;
  static bool take(Range& range, std::uint32_t generation, std::uint32_t grain,
                   const std::uint16_t* arrived, Claim& claim, bool& spent) noexcept;
  bool execute(Place& place, std::uint32_t index, Task& task) noexcept;
  static void rehearse(const Source& source, const Task& task, ClockDebt& debt) noexcept;
  bool subtract(Place& place, std::uint32_t index, std::uint32_t chunks, Tick busy,
                Tick at) noexcept;
  void insert(std::uint8_t index) noexcept;
  void remove(std::uint8_t index) noexcept;

  std::vector<Source> sources_;
  std::atomic<double> extra_{0};  // emulate_clock()
  std::vector<Place> places_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // The scheduler's own: free places, and live ones in order of priority.
  std::uint64_t free_ = ~std::uint64_t{0};
  std::array<std::uint8_t, kPlaces> sorted_{};
  std::uint32_t live_ = 0;
  // The same order for workers: eight places to a word, kEnd where it ends.
  alignas(kCacheLine) std::array<std::atomic<std::uint64_t>, kPlaces / 8> order_;
  alignas(kCacheLine) std::atomic<std::uint64_t> finished_{0};
};

}  // namespace carillon::runtime
