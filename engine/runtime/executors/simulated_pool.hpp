// Issues on imaginary GPUs in virtual time: kernels on SMs and queues (devices/gpu.hpp), input
// and results over links (devices/fabric.hpp), the host's launches and what it learns late. The
// same calls and the same seed give the same schedule; nothing is computed.
//
// An instruction without CTAs is a transfer between host and device. What an instruction reads on
// another device is copied there as soon as it is done and somebody there waits for it, once. A
// kernel starts when its operands are there and its stream has come to it; one that goes to no
// stream in particular, or to the background's, is held back until then, lest others wait for it.
//
// A frame is admitted when every device has memory for all its results, so that none ever lacks it
// whatever a policy does; they stay until the frame is over, since a device that dies may take with
// it what others have to be fed with again.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "runtime/arrivals.hpp"
#include "runtime/devices/device_type.hpp"
#include "runtime/devices/fabric.hpp"
#include "runtime/devices/gpu.hpp"
#include "runtime/devices/memory.hpp"
#include "runtime/devices/work.hpp"
#include "runtime/executors/virtual.hpp"

namespace carillon::runtime {

struct PoolDevice {
  const DeviceType* type = nullptr;
  std::uint16_t node = 0;          ///< where it is in the fabric
  std::uint32_t queues = 32;       ///< of its hardware
  std::uint32_t reserved_sms = 0;  ///< busy with something else all the time
  std::uint64_t memory = 0;        ///< bytes for results; 0: all that the type has
  double degree = 0.2;             ///< DeviceStatus::degree
  bool reserve = false;            ///< not in use until a join is asked for
};

/// What scheduling and the host's driver cost.
struct HostCosts {
  Tick decision = 0;               ///< per issue, of the one scheduling thread
  Tick launch = 2 * kMicrosecond;  ///< per issue, of the device's own thread on the host
  Tick notify = 1 * kMicrosecond;  ///< from the end of a kernel until the host knows
  Tick gap = 1 * kMicrosecond;     ///< between kernels of a stream
};

/// Log-normal: coefficients of variation. Drawn by frame and instruction, so that every policy
/// meets the same.
struct Jitter {
  double kernel = 0, launch = 0;
};

/// What becomes of a device. Lost: all that it held is. Hung: it stands still, and goes on where it
/// was if it is back before the host gives it up. The host notices a loss, or that a hung device
/// does not answer, so much later. What befalls a device in reserve, nobody notices.
struct Fault {
  enum class Kind : std::uint8_t { Lost, Hung, Back };
  Tick at = 0;
  std::uint16_t device = 0;
  Kind kind = Kind::Lost;
  Tick noticed = 100 * kMicrosecond;
};

/// Kernels of somebody else on one device, always so many in its queue.
struct Background {
  std::uint16_t device = 0;
  std::uint32_t kernels = 0;
  Work work;
};

struct PoolModel {
  std::vector<PoolDevice> devices;
  Fabric fabric;
  HostCosts host;
  Jitter jitter;
  std::vector<Fault> faults;
  std::vector<Background> background;
  std::uint64_t seed = 1;
};

class SimulatedPool final : public VirtualExecutor {
 public:
  /// `work`: by source and instruction; it must fit every device. `keep`: remember executions.
  SimulatedPool(ScoreboardWriter& board, PoolModel model, std::vector<std::vector<Work>> work,
                bool keep);

  using Executor::poll;
  std::size_t room() const noexcept override { return 64; }
  void issue(const Issue& issue, Tick now) noexcept override;
  std::size_t poll(std::span<Finished> out) noexcept override;
  std::size_t poll(std::span<DeviceEvent> out) noexcept override;
  std::uint32_t undone(const InstanceId& what) const noexcept override;
  void cancel(const InstanceId& what) noexcept override;
  bool lost(const InstanceId& what) const noexcept override;
  bool admit(FrameRef frame) noexcept override;
  void over(FrameRef frame) noexcept override;

  /// A device in reserve comes up then, as one that is back does. One that has joined does nothing.
  void join(std::uint16_t device, Tick at) { push(at, Event::Kind::Joined, device, 0); }

  void advance(Tick now) override;
  bool start(Tick) override { return false; }
  Tick next() const override;
  bool pending() const override { return !finished_.empty() || !device_events_.empty(); }
  bool self_driven() const override { return true; }
  std::span<const Execution> executions() const override { return executions_; }

  /// SM time that a device spent, in SM·ns.
  double busy(std::uint32_t device, Tick now) const { return gpus_[device].busy(now); }
  const DeviceMemory& memory(std::uint32_t device) const { return memory_[device]; }
  const Fabric& fabric() const { return model_.fabric; }
  std::uint64_t copies() const { return copied_; }  ///< from device to device

 private:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint64_t kBackground = std::uint64_t{1} << 63;  // in a kernel's tag
  struct Event {
    enum class Kind : std::uint8_t { Launched, Copied, Transferred, Told, Fault, Noticed, Joined };
    Tick at;
    std::uint64_t sequence;
    Kind kind;
    std::uint32_t which;  // a live issue, a place, a fault or a device
    std::uint64_t of;     // the live issue's sequence, or where a copy goes
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  // An issue that is on its way or running.
  struct Live {
    /// Held: by the host, until its operands are there. Queued: on the device, running or not.
    enum class State : std::uint8_t { Free, Launching, Held, Queued, Transferring, Over };
    State state = State::Free;
    bool cancelled = false;
    std::uint16_t device = 0;
    Issue issue;
    std::uint32_t gates = 0;  // operands that are not there
    std::uint64_t sequence = 0;
    Gpu::KernelId kernel = 0;
    Finished record;
  };
  // Of a result: it is there, nowhere, or on its way from the device of that number.
  static constexpr std::int16_t kThere = -2, kNowhere = -1;
  struct Copy {
    std::int16_t from = kNowhere;
    bool has_block = false;
    std::uint64_t sequence = 0;  // of the event of its arrival
    DeviceMemory::Address block = 0;
  };
  // The block of a copy that is still on its way though its frame is over.
  struct Leftover {
    std::uint64_t sequence;
    std::uint16_t device;  // where it goes
    std::uint32_t of;      // class
    DeviceMemory::Address block;
  };
  // Gone: dead, and the host knows. Reserve: it has not joined yet.
  enum class Health : std::uint8_t { Well, Hung, Dead, Gone, Reserve };
  struct State {
    Health health = Health::Well;
    bool watched = false;        // it will be given up unless it answers
    Tick patience = 0;           // of the host, when it hangs
    std::uint64_t changes = 0;   // of its health
    std::vector<Event> stalled;  // while it hangs
  };
  struct Reader {
    std::uint32_t live;
    std::uint64_t sequence;
  };
  // Of one instruction in one place of a frame ring.
  struct Place {
    std::uint16_t source = 0, instruction = 0;
    std::uint32_t generation = 0;
    std::uint32_t live = kNone;
    std::vector<Copy> there;      // [device]
    std::vector<Reader> readers;  // that wait for its result
  };

  std::uint32_t index_of(const InstanceId& what, std::uint16_t instruction) const;
  std::uint32_t place_of(const InstanceId& what, std::uint16_t instruction);
  const Work& work(const InstanceId& what) const { return work_[what.source][what.instruction]; }
  void push(Tick at, Event::Kind kind, std::uint32_t which, std::uint64_t of);
  void happen(const Event& event);
  bool current(std::uint32_t live, std::uint64_t sequence) const;
  void launched(std::uint32_t live, Tick now);
  void request(std::uint32_t place, std::uint16_t device, Tick now);
  std::uint32_t queue_of(const Live& live) const;
  void opened(std::uint32_t live, Tick now);
  void release(std::uint32_t live, Tick now);
  void submit(std::uint32_t live, Tick now);
  void transfer(std::uint32_t live, Tick now);
  void done(std::uint32_t live, Tick start, Tick end);
  void produced(std::uint32_t place, std::uint16_t device, Tick now);
  void arrived(std::uint32_t place, std::uint16_t device, Tick now);
  void forget(std::uint32_t live);
  void finish(std::uint32_t live, bool failed);
  void set_up_memory();
  void take_block(Place& place, std::uint16_t device);
  void give_block(Place& place, std::uint16_t device);
  bool dead(std::uint16_t device) const { return state_[device].health >= Health::Dead; }
  void watch(std::uint16_t device, Tick now);
  bool stalls(const Event& event);
  void resume(std::uint16_t device, Tick now);
  void copied(const Event& event);
  void fault(const Fault& fault, Tick now);
  void come_back(std::uint16_t device, Tick now);
  void lose(std::uint16_t device, Tick now);
  void occupy(std::uint32_t background, std::uint16_t device, Tick now);
  void refill(std::uint32_t background, Tick now);
  double factor(const InstanceId& what, double variation, std::uint64_t salt) const;
  bool is_transfer(const InstanceId& what) const { return work(what).footprint.ctas == 0; }

  ScoreboardWriter& board_;
  PoolModel model_;
  std::vector<std::vector<Work>> work_;
  std::vector<std::vector<std::vector<KernelLoad>>> loads_;  // [device][source][instruction]
  std::vector<Gpu> gpus_;
  std::vector<DeviceMemory> memory_;
  std::vector<std::vector<std::uint32_t>> class_of_;  // [source][instruction] of its result
  std::vector<std::vector<std::uint32_t>> blocks_;    // [source][class] of a frame, on each device
  std::vector<Leftover> leftovers_;
  std::vector<State> state_;                // [device]
  std::vector<Tick> launcher_;              // when each device's thread on the host is free
  Tick thinking_ = 0;                       // until when the scheduling thread decides
  std::vector<std::uint32_t> first_place_;  // [source]
  std::vector<Place> places_;
  std::vector<Live> live_;
  std::vector<std::uint32_t> free_;
  std::vector<Event> events_;  // a heap
  std::vector<Finished> finished_;
  std::vector<DeviceEvent> device_events_;
  std::vector<Gpu::Ended> ended_;
  std::vector<Execution> executions_;
  bool keep_;
  std::uint64_t sequence_ = 0, copied_ = 0;
  Tick latest_ = 0;  // instant that was advanced to
};

}  // namespace carillon::runtime

template <>
struct carillon::EnumNames<carillon::runtime::Fault::Kind> {
  static constexpr std::array<std::string_view, 3> value{"lost", "hung", "back"};
};
