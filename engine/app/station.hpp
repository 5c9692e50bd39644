// A run of one or several cells: their parts, the threads that play their duties, and its end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/accelerator.hpp"
#include "app/cell.hpp"
#include "app/clocks.hpp"
#include "app/loop.hpp"
#include "app/shared_cores.hpp"
#include "app/silence.hpp"

namespace carillon::app {

class Station {
 public:
  /// Where GPUs come from: at most so many, the first of them in so many partitions.
  using Gpus = std::function<frame::GpuPool(std::uint32_t partitions, std::size_t most)>;
  /// Of plans that check_together finds nothing wrong with. Opens links and allocates everything;
  /// throws std::runtime_error saying what to do.
  explicit Station(const std::vector<RunPlan>& plans, const Gpus& gpus = frame::this_machines);
  ~Station();

  /// Runs until the plans' frames or seconds are over or `stop` becomes true, then drains, and
  /// writes the last records. What a person should know goes to standard error.
  void run(const std::atomic<bool>& stop);

 private:
  struct Assignment;

  std::uint32_t workers() const;
  void join(const Gpus& gpus);
  void accelerate(const Gpus& gpus, const std::vector<Accelerator::Served>& served);
  void make_loops();
  void launch(Tick begun);
  bool prepare(const std::atomic<bool>& stop);
  void check_groups() const;
  bool over(Tick begun, const std::atomic<bool>& stop) const;
  std::uint64_t packets_still_coming() const;
  bool fell_silent(const Silence& silence) const;
  void tell_who_is_silent(bool all) const;
  void set_phase(std::uint64_t phase);
  void report();
  void share_ghosts();
  void drain();
  void tell_findings();

  const RunPlan first_;  // for all that cells share
  std::vector<Assignment> assignments_;
  std::vector<std::unique_ptr<Cell>> cells_;
  std::optional<Accelerator> accelerator_;   // with basebands and GPUs
  std::optional<SharedCores> shared_cores_;  // with basebands
  std::optional<Clocks> clocks_;             // with basebands and clocks to choose
  std::vector<std::unique_ptr<Duty>> duties_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace carillon::app
