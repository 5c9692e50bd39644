// MegaStation's schedule (§4.4, §4.6). A frame's instructions are planned when it comes, by
// structural analysis (algorithm 1): full or partial parallelism where the predecessor runs,
// fragmented parallelism elsewhere when that is sooner than to wait, delayed parallelism when
// nothing has room; what begins more than two frames' time later is planned then. They are issued
// by LROC (algorithm 2): least slack first what is urgent, the rest reordered by the room they need
// (then by slack), over-committed to what others leave, coalesced behind their predecessors.
//
// First fit holds four resources of a device against its limits (CTAs or SMs, warps, registers,
// shared memory). An executor's SM use comes from its occupancy, which keeps to all four on every
// SM: executors whose SMs fit together fit in each of them (occupancy_test), so that SMs are
// enough. SMs that somebody else keeps are not free (DeviceStatus::others).
//
// Where the paper leaves a choice:
// - data.copy is until the operands would be there behind what links have to carry already, not
//   what a copy takes on idle links: else each step goes to another idle device, and all copies
//   wait for the one link of the device that made what they share. What the rest of a step reads of
//   other steps counts too, since the rest follows; and so does the copies' own time, since
//   results that leave by the same link wait for them.
// - Of devices with as many free SMs, that to which the least has to be copied.
// - An executor that waits for SMs is planned for when they are free.
// - A task that needs more SMs than are free is issued all the same when more than the degree α of
//   the device's are, since that is what structural analysis calls partial parallelism; coalescing
//   looks at an instruction when its predecessor is issued.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/policies/pool/links.hpp"
#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class Lroc final : public Placement {
 public:
  struct Options {
    Tick urgent = 200 * kMicrosecond;  ///< T_thr: slack below which a task is issued at once
  };
  explicit Lroc(const Options& options) : options_(options) {}

  bool pending() const override {
    return !by_slack_.empty() || resume_ != kNever || Placement::pending();
  }
  Tick next() const override;
  void ended(const View& view, FrameRef frame) override;
  void changed(const View& view, std::uint16_t device) override;

 protected:
  void prepare(const View& view) override;
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;

 private:
  // Of an instance.
  struct Estimate {
    double path = 0;  // ns to the end of the frame from its start
    bool delayed = false;
  };
  // Of a frame.
  struct Course {
    std::uint16_t home = kNowhere;  // where it began
    bool delayed = false;           // it found no room: what is left of it stays together
  };
  // Where an instance goes.
  struct Where {
    std::uint16_t device = kNowhere;
    Reason why = Reason::Delayed;
    Tick wait = 0;  // for SMs
  };
  // [instruction] What it reads, and what the rest of its step, which follows it, reads of other
  // steps.
  using Operands = std::vector<std::vector<std::uint16_t>>;
  using Slack = std::pair<Tick, InstanceId>;

  Estimate& estimate(const View& view, const InstanceId& id) { return estimates_[index(view, id)]; }
  Course& course(FrameRef frame) { return courses_[first_course_[frame.source] + frame.slot]; }
  void plan_frame(const View& view, FrameRef frame);
  void plan_instruction(const View& view, const InstanceId& id, Course& course);
  std::uint16_t before(const View& view, const InstanceId& id, const Course& course, Tick start,
                       Tick end);
  Tick brought(const View& view, const InstanceId& id, std::uint16_t device);
  Tick operands(const View& view, const InstanceId& id, std::uint16_t device);
  static Operands operands_of(const Graph& graph);
  Tick symbol_operands(const View& view, const InstanceId& id, std::uint16_t device);
  Tick symbol_copies(const View& view, const InstanceId& id, std::uint16_t device);
  bool to_copy(const View& view, const InstanceId& id, std::uint16_t device);
  Tick transfer(const View& view, const InstanceId& id, std::uint16_t device, Tick start);
  void bring(const View& view, const InstanceId& id, std::uint16_t device);
  bool planned(const View& view, const InstanceId& id);
  Tick slack(const View& view, const InstanceId& id);
  Tick wanted(const View& view, const InstanceId& id);
  double lasts(const View& view, const InstanceId& id, std::uint16_t home);
  Where find_room(const View& view, const InstanceId& id, Tick start, Tick end, std::uint16_t pred);
  std::uint32_t room(const View& view, std::uint16_t device, Tick start, Tick end) const;
  static std::uint32_t least(const View& view, std::uint16_t device);
  std::uint16_t roomiest(const View& view, const InstanceId& id, Tick start, Tick end);
  static bool goes_before(const View& view, const InstanceId& id,
                          const std::optional<InstanceId>& other);
  bool enough(const View& view, std::uint16_t device, std::uint32_t sms) const;
  void issue(const View& view, const InstanceId& id, Reason why);
  void coalesce(const View& view, const InstanceId& id);
  void urgent(const View& view);
  void resume(const View& view);

  Options options_;
  std::vector<Estimate> estimates_;              // [source][slot][instruction]
  std::vector<Slack> by_slack_;                  // a heap, the least first
  std::vector<InstanceId> reordered_;            // ready, by the room they need
  std::vector<std::optional<InstanceId>> over_;  // [device] to be over-committed in this pass
  Links links_;                                  // what copies are planned on them
  std::vector<Tick> there_;                      // [instance][device] when its result is; kNever
  std::vector<Course> courses_;                  // [source][slot]
  std::vector<std::size_t> first_course_;        // [source]
  std::vector<Operands> operands_;               // [source]
  Tick resume_ = kNever;                         // when what lies beyond the window is looked at
};

}  // namespace carillon::runtime
