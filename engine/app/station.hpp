// A run: its parts, the threads that play their duties, and its end.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/baseband.hpp"
#include "app/loop.hpp"
#include "app/radio.hpp"
#include "app/recorder.hpp"
#include "app/run_plan.hpp"
#include "fronthaul/link.hpp"
#include "telemetry/store.hpp"

namespace carillon::app {

class Station {
 public:
  /// Opens the link and allocates everything; throws std::runtime_error saying what to do.
  explicit Station(const RunPlan& plan);
  ~Station();

  /// Runs until the plan's frames or seconds are over or `stop` becomes true, then drains, and
  /// writes the last records. What a person should know goes to standard error.
  void run(const std::atomic<bool>& stop);

 private:
  struct Assignment;

  bool has_baseband() const { return plan_.run.role != Role::Radio; }
  bool has_radio() const { return plan_.run.role != Role::Bbu; }
  std::vector<Assignment> assign() const;
  std::uint32_t workers() const;
  telemetry::Store::Sizes store_sizes() const;
  void make_loops();
  void launch();
  bool prepare(const std::atomic<bool>& stop);
  void check_groups() const;
  std::uint64_t frames_due() const;
  bool over(Tick begun, const std::atomic<bool>& stop) const;
  void report();
  void drain();

  RunPlan plan_;
  frame::Frame frame_;
  fronthaul::Layout layout_;
  std::vector<Assignment> assignments_;
  telemetry::Store store_;
  fronthaul::Link link_;
  Recorder recorder_;
  std::unique_ptr<Baseband> baseband_;
  std::unique_ptr<Radio> radio_;
  std::vector<std::unique_ptr<Duty>> duties_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace carillon::app
