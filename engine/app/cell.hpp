// One cell of a run and all that is its own: what cells share is in app/shared_cores.hpp and
// app/station.hpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/baseband.hpp"
#include "app/owned_port.hpp"
#include "app/radio.hpp"
#include "app/recorder.hpp"
#include "app/run_plan.hpp"
#include "app/shared_cores.hpp"
#include "emulator/seeded_source.hpp"
#include "emulator/sent_bits.hpp"
#include "fronthaul/link.hpp"
#include "telemetry/store.hpp"

namespace carillon::app {

inline bool has_baseband(const RunPlan& plan) { return plan.run.role != Role::Radio; }
inline bool has_radio(const RunPlan& plan) { return plan.run.role != Role::Bbu; }

class Cell {
 public:
  /// `threads`: their names; `workers` of them work. Opens the link and allocates everything but
  /// what needs the runtime; throws std::runtime_error saying what to do.
  Cell(const RunPlan& plan, const std::vector<std::string>& threads, std::uint32_t workers);
  ~Cell();

  Sharer sharer() { return {plan_, *pipeline_}; }
  /// Only with a baseband: its place in the runtime, and in the accelerator if there is one.
  void join(runtime::Runtime::Source cell, Accelerator::Cell* accelerator);

  const RunPlan& plan() const { return plan_; }
  Baseband* baseband() { return baseband_.get(); }  ///< null in a radio's run
  Radio* radio() { return radio_.get(); }           ///< null in a baseband unit's run
  Recorder& recorder() { return recorder_; }
  telemetry::Store& store() { return store_; }
  const fronthaul::Link& link() const { return link_; }
  /// Samples were to be received in a GPU's memory if that can be had: why they are not; or empty.
  const std::string& why_in_host() const { return why_in_host_; }

  /// Makes the radio's frames, which takes a while; `say` tells how far it is.
  void prepare(const std::atomic<bool>& stop, const std::function<void(const std::string&)>& say);
  void start(Tick air_start);
  /// The radio ends after the frame that is on air; no other is begun.
  void end_together();
  /// After the radio has finished: whether the baseband unit has begun all that it sent.
  bool all_announced();
  /// All frames of the plan were sent, or at a baseband unit alone have ended.
  bool over() const;
  /// As long as its frames in flight can take to end.
  Tick patience() const;
  /// Copies sums that live outside the store into it.
  void report();
  /// Of these, those of data ports alone: also when there was no run.
  void report_ports();
  /// When no thread is at it any more: the owner of its bits has what there is for it.
  void close();

 private:
  std::uint64_t frames_due() const;
  frame::DataPort open_port(const std::string& socket, const std::string& tun,
                            frame::Direction sends);

  const RunPlan plan_;
  const frame::Frame frame_;
  const fronthaul::Layout layout_;
  telemetry::Store store_;
  fronthaul::Link link_;
  const std::string why_in_host_;
  Recorder recorder_;
  std::unique_ptr<frame::Pipeline> pipeline_;
  std::unique_ptr<emulator::SeededSource> source_;  // with a baseband whose bits are the emulator's
  std::unique_ptr<emulator::SentBits> sent_;        // … whose users' bits are
  port::ControlChannel control_;                    // between these
  std::vector<std::unique_ptr<OwnedPort>> ports_;   // of bits that have another owner
  std::unique_ptr<Baseband> baseband_;
  std::unique_ptr<Radio> radio_;
};

}  // namespace carillon::app
