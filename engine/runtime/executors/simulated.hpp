// Issues on imaginary devices in virtual time: a claim of N chunks takes I + N·Δ, by opcode, always
// or as often as was measured. No thread, no clock; the same calls give the same schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "runtime/arrivals.hpp"
#include "runtime/executors/virtual.hpp"

namespace carillon::runtime {

/// A point of a distribution: so large a share of all claims takes at most `factor` times as long.
struct Quantile {
  double share, factor;
};

/// The marginal cost of an opcode: what a claim takes besides its chunks, and what each chunk
/// takes.
struct Cost {
  Tick claim = 0, chunk = 0;
  Tick commit = 0;                    ///< what an issue's last claim takes more
  std::vector<Quantile> spread = {};  ///< from share 0 to 1, straight between; empty: none
};

class SimulatedExecutor final : public VirtualExecutor {
 public:
  /// `arrivals` by source; `costs` by source and opcode, 0 where missing. The board's number of
  /// devices execute; they are entered in its device table.
  SimulatedExecutor(ScoreboardWriter& board, std::span<const Arrivals> arrivals,
                    std::vector<std::vector<Cost>> costs, std::uint64_t seed = 1);

  std::size_t room() const noexcept override { return kRoom - live_.size(); }
  void issue(const Issue& issue, Tick now) noexcept override;
  std::size_t poll(std::span<Finished> out) noexcept override;
  using Executor::poll;
  std::uint32_t undone(const InstanceId& what) const noexcept override;
  void cancel(const InstanceId& what) noexcept override;

  void advance(Tick now) override;
  /// Gives idle devices what is there, most urgent first.
  bool start(Tick now) override;
  /// When the next running claim ends.
  Tick next() const override;
  bool pending() const override { return !finished_.empty(); }
  std::span<const Execution> executions() const override { return executions_; }

 private:
  static constexpr std::size_t kRoom = 64;
  struct Live {
    Issue issue;
    std::uint32_t next;  // chunk
    std::uint32_t left;  // not done and not cancelled
    Finished record;
  };
  struct Device {
    bool running = false;
    Execution execution;
  };
  void finish(const Execution& execution);
  void subtract(std::size_t live, std::uint32_t chunks);
  std::uint32_t claimable(const Live& live, std::uint32_t device) const;
  Tick duration(const Live& live, std::uint32_t count);

  ScoreboardWriter& board_;
  std::span<const Arrivals> arrivals_;
  std::vector<std::vector<Cost>> costs_;
  std::vector<Live> live_;  // by priority
  std::vector<Device> devices_;
  std::vector<Finished> finished_;
  std::vector<Execution> executions_;
  Random random_;
};

}  // namespace carillon::runtime
