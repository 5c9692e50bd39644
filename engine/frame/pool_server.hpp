// One server full of imaginary devices in virtual time: the task graphs of the cells it serves,
// under its own scheduler and policy. Nothing is computed or measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/tick.hpp"
#include "frame/frame.hpp"
#include "frame/pool.hpp"
#include "runtime/executors/simulated_pool.hpp"
#include "runtime/policies/pool/lroc.hpp"
#include "runtime/simulation.hpp"

namespace carillon::frame {

struct PoolServerOptions {
  std::string policy = "scoreboard";
  runtime::Lroc::Options lroc;
  PoolGraphOptions graph;
  const PoolProfile* profile = nullptr;
  std::vector<PoolProfile> of_cells = {};  ///< [cell], instead of `profile`, which may be null
  std::uint32_t ring = 8;                  ///< frames of a cell that can be under way
  bool keep = false;                       ///< executions
  /// What asks the policy in its stead, to watch it.
  std::function<std::unique_ptr<runtime::Policy>(std::unique_ptr<runtime::Policy>)> around = {};
};

/// A cell and its frames' task graph.
struct PoolCell {
  const Frame& frame;
  PoolGraph graph;
};

/// What a server has done.
struct PoolUse {
  std::vector<double> busy;           ///< [device] SM·ns
  std::vector<std::uint64_t> memory;  ///< [device] bytes, the most that results took at once
  std::vector<double> of_opcode;      ///< [Op] ns of kernels and transfers of frames that were done
  std::uint64_t tasks = 0;            ///< instructions that committed
  std::uint64_t copies = 0;           ///< between devices
  std::uint64_t again = 0;            ///< instructions that had to be issued again
  std::vector<runtime::Execution> executions;
};

/// What of a cell's frames has no room in the pool: the first kernel that fits no SM of a device,
/// under `devices.N.type`, and a frame's results, under `devices.N.memory_bytes`.
std::vector<Problem> misfits(const PoolGraph& cell, const runtime::PoolModel& model);

class PoolServer {
 public:
  /// What became of a frame.
  struct Ended {
    runtime::FrameId frame;
    Tick at = 0;
    bool done = false;
    runtime::Reason why = runtime::Reason::None;  ///< of one that was not
    std::uint16_t devices = 0;                    ///< that executed something of it
  };

  /// Cells, model and options outlive it. `ended` may begin frames; `go_on` is asked as
  /// Simulation::ask() says. Throws std::invalid_argument with what misfits() finds, or when the
  /// policy is unknown.
  PoolServer(const std::vector<PoolCell>& cells, const runtime::PoolModel& model,
             const PoolServerOptions& options, std::function<void(const Ended&)> ended,
             std::function<bool()> go_on);

  /// A frame, and when its radio units' samples for an instruction are there. In any order of
  /// calls.
  void begin(Tick at, runtime::FrameId frame, Tick air_start);
  void arrive(Tick at, runtime::FrameId frame, std::uint16_t instruction);
  /// Until then, or until nothing is left to come and no frame under way.
  void run(Tick until = runtime::kNever);

  /// The host dies, and all that it was told: returns the frames that were under way, whose end
  /// nobody will hear of. Until it starts again, nothing may be begun.
  std::vector<runtime::FrameId> lose(Tick now);
  /// The host starts, and knows nothing of what was before. The constructor does so at zero.
  void start(Tick now);
  bool up() const { return simulation_ != nullptr; }
  /// How often it has started.
  std::uint32_t life() const { return life_; }

  /// The first device in reserve that no fault has taken joins, and which that is; nothing: there
  /// is none, or the host is down. A host that starts again has them all in reserve again.
  std::optional<std::uint16_t> join(Tick now);

  /// Of its devices, those that its scheduler sees up: the share that the cell's frames ask for.
  double share(std::uint16_t cell) const;
  /// Of the last event.
  Tick now() const;
  /// Up to now.
  PoolUse use() const;

 private:
  // The devices of a pool, one of each type with as many SMs left, and which of them each is like:
  // what the scoreboard has a profile for.
  struct Kinds {
    explicit Kinds(const runtime::PoolModel& model);
    std::vector<const runtime::PoolDevice*> kinds;
    std::vector<std::uint16_t> of_device;
  };

  runtime::PoolModel model_since_start() const;
  bool faulty(std::uint16_t device, Tick now) const;
  std::vector<runtime::OnType> profile_of(const PoolGraph& cell) const;
  void take(const runtime::FrameEvent& event);
  std::uint16_t count(const runtime::FrameEvent& event);

  const std::vector<PoolCell>& cells_;
  const runtime::PoolModel& model_;
  const PoolServerOptions& options_;
  std::function<void(const Ended&)> ended_;
  std::function<bool()> go_on_;
  Kinds kinds_;
  std::unique_ptr<runtime::Policy> policy_;
  std::unique_ptr<runtime::Simulation> simulation_;
  runtime::SimulatedPool* pool_ = nullptr;
  std::vector<bool> in_reserve_;            // [device] since it started
  std::vector<std::vector<double>> asked_;  // [kind][cell] SM·ns of a frame
  PoolUse use_;                             // of simulations that are over, and of frames
  Tick start_ = 0, end_ = 0;                // of the simulation: its zero; of the one before
  std::uint32_t life_ = 0;
};

/// ns that a kernel takes when it has the device to itself, but for SMs that are always busy.
Tick alone(const runtime::DeviceType& type, const runtime::Work& work,
           std::uint32_t reserved_sms = 0);

}  // namespace carillon::frame
