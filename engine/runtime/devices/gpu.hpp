// A GPU in virtual time: SMs that CTAs occupy, and hardware queues that kernels wait in.
//
// Kernels of a queue run one after the other. The heads of the queues share the SMs by the
// left-over policy: by priority, then in order of submission, each takes all the room it can use
// and only when it has started its last CTA does the next get what is left (Amert et al. 2017).
// Streams of one kernel each have the highest priority; of queues' heads the urgent go first. CTAs
// spread over the SMs that other kernels leave, and share their SM's arithmetic; all that runs
// shares the device's memory. A batch of CTAs that starts together is given its time when it
// starts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tick.hpp"
#include "runtime/devices/work.hpp"
#include "runtime/graph.hpp"

namespace carillon::runtime {

class Gpu {
 public:
  struct Options {
    std::uint32_t sms = 1;
    double bytes_per_ns = 1;    ///< of its memory
    std::uint32_t queues = 32;  ///< of the hardware
    Tick gap = 0;               ///< from the end of a kernel to the start of the next in its queue
  };
  struct Ended {
    std::uint64_t tag = 0;
    Tick start = 0, end = 0;
    bool executed = false;  ///< false: cancelled before it started
  };
  using KernelId = std::uint32_t;

  explicit Gpu(const Options& options);

  /// In place of a queue: of a stream of its own and of the highest priority, so that it waits for
  /// its gates and what runs.
  static constexpr std::uint32_t kOwn = ~0U;

  /// Behind what the queue holds. Starts when open() has been called `gates` times. `factor`: how
  /// much longer than its load says it takes.
  KernelId submit(std::uint32_t queue, bool urgent, const KernelLoad& load, double factor,
                  std::uint32_t gates, std::uint64_t tag, Tick now);
  void open(KernelId kernel, Tick now);
  /// A kernel that has not started never will; it ends when its turn comes.
  void cancel(KernelId kernel, Tick now);

  /// When something ends or can start; kNever when nothing will by itself.
  Tick next() const { return hung() || events_.empty() ? kNever : events_.front().at; }
  /// Appends what has ended by `now`, in order of time.
  void advance(Tick now, std::vector<Ended>& ended);

  /// SMs that something else keeps busy from now on, at most all but one.
  void reserve(std::uint32_t sms, Tick now);
  /// Stands still, then goes on where it was.
  void hang(Tick now);
  void resume(Tick now);
  /// All that it holds is gone, and it works.
  void clear(Tick now);

  /// SMs in use, by their resources: CTAs over CTAs per SM.
  double used_sms() const;
  /// The sum over time of used_sms(), in ns.
  double busy(Tick now) const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Kernel {
    KernelLoad load;
    double factor = 1;
    std::uint64_t tag = 0, sequence = 0;
    std::uint32_t queue = 0, next = kNone, gates = 0;
    std::uint32_t waiting = 0, running = 0;  // CTAs
    bool urgent = false, started = false, cancelled = false;
    bool called = false;  // an event without CTAs is on its way
    Tick start = 0;
  };
  struct Queue {
    std::uint32_t head = kNone, tail = kNone;
    Tick open = 0;  // its head may start
  };
  struct Event {  // the end of a batch, or of a gap (no CTAs)
    Tick at;
    std::uint64_t sequence;
    std::uint32_t kernel, ctas;
    double bytes;
    bool operator<(const Event& other) const {  // a heap's top is its largest
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  bool hung() const { return hung_since_ != kNever; }
  void push(Tick at, std::uint32_t kernel, std::uint32_t ctas, double bytes);
  void consider(std::uint32_t kernel, Tick now);
  static bool precedes(const Kernel& kernel, const Kernel& other);
  Tick may_start(std::uint32_t kernel) const;
  void dispatch(Tick now);
  void start(std::uint32_t kernel, std::uint32_t ctas, Tick now);
  Tick duration(const Kernel& kernel) const;
  void finish(std::uint32_t kernel, Tick now);
  void account(Tick now);

  Options options_;
  std::uint64_t room_ = 0, used_ = 0;  // in shares of an SM
  double in_flight_ = 0;               // bytes
  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> active_;  // heads with CTAs to start, in order of precedence
  std::vector<Event> events_;          // a heap
  std::vector<Ended> ended_;
  std::uint64_t sequence_ = 0;
  double busy_ = 0;
  Tick accounted_ = 0, hung_since_ = kNever;
};

}  // namespace carillon::runtime
