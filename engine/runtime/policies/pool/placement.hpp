// What the policies for a pool of devices share: which device each instruction of a frame is meant
// for and when, what is still to be issued, and how much each device has to do.
//
// Input from outside is taken to a device when it is there; whatever else may be issued before it
// is ready, in its stream behind what it waits for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/policies/pool/costs.hpp"
#include "runtime/policies/pool/outlook.hpp"
#include "runtime/policy.hpp"

namespace carillon::runtime {

class Placement : public Policy {
 public:
  Admission admit(const View& view, FrameRef frame) override;
  std::size_t decide(const View& view, std::span<Issue> out) override;
  bool pending() const override { return !queue_.empty(); }
  void committed(const View& view, const InstanceId& id) override;
  void returned(const View& view, const InstanceId& id) override;
  void ended(const View& view, FrameRef frame) override;
  void changed(const View& view, std::uint16_t device) override;

  /// ns of what is meant for a device and has not ended.
  Tick load(std::uint16_t device) const { return load_[device]; }
  /// SMs of a device that what is issued occupies, background left out.
  std::uint32_t used_sms(std::uint16_t device) const { return used_[device]; }

 protected:
  struct Plan {
    std::uint16_t device = kNowhere;
    std::uint16_t stream = 0;
    bool asked = false;     // to be issued, as soon as what it waits for has been
    bool issued = false;    // to the executor, or about to be
    bool queued = false;    // about to be
    bool stranded = false;  // its device died, and no other was left
    bool background = false;
    Reason placed = Reason::None, why = Reason::None;
    Tick time = 0;              // that counts as its device's load
    std::uint32_t sms = 0;      // that count as used there while it is issued
    Tick end = 0;               // expected
    Outlook::Entry entry = {};  // of its device's outlook
  };

  /// Makes room for what is kept per device and instruction, once.
  virtual void prepare(const View& view);
  /// Says where a new frame's instances are meant to be, if that is known by now. At least one
  /// device is up. False: it cannot be in time.
  virtual bool arrange(const View& view, FrameRef frame) = 0;
  /// Called whenever something may be issued, with what is ready and has not been enqueued: the
  /// earliest frame first, in its graph's order.
  virtual void ready(const View& view, std::span<const InstanceId> ids) = 0;
  /// A place for what has lost its own. `from`: the device that died.
  virtual std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from);
  /// For a unit that stays together: where something else of it is (`same`: whether an instance of
  /// the frame is of it), or else the idlest.
  template <typename Same>
  std::uint16_t beside(const View& view, const InstanceId& id, std::uint16_t from, Same&& same) {
    std::uint16_t device = kNowhere;
    for_each(view, id.place(), [&](const InstanceId& each) {
      const std::uint16_t its = plan(view, each).device;
      if (same(each) && its != kNowhere && its != from && usable(view, its)) device = its;
    });
    return device != kNowhere ? device : idlest(view);
  }
  /// Called when it has been placed there.
  virtual void moved(const View& /*view*/, const InstanceId& /*id*/) {}

  Plan& plan(const View& view, const InstanceId& id) { return plans_[index(view, id)]; }
  /// Its place among all of [source][slot][instruction], and how many those are.
  std::size_t index(const View& view, const InstanceId& id) const;
  std::size_t instances() const { return plans_.size(); }
  /// The last step of a source's frames whose results several later steps read.
  std::uint16_t shared_step(std::uint16_t source) const { return shared_[source]; }
  /// A stream for a step of a frame; those of a frame, and of the next, follow each other. Hardware
  /// has fewer queues than there are. Parts have streams of their own, from the second on.
  std::uint16_t stream_of(FrameRef frame, std::uint16_t step, std::uint16_t part = 0) const;
  /// Of instructions of one opcode and step in a row, which could be one: how many are before it.
  static std::uint16_t part_of(const Graph& graph, std::uint16_t instruction);
  /// Means an instance for a device, instead of where it was meant to be before.
  void place(const View& view, const InstanceId& id, std::uint16_t device, Reason why);
  /// Counts it among what its device has to do between the two.
  void expect(const View& view, const InstanceId& id, Tick start, Tick end);
  const Outlook& outlook(std::uint16_t device) const { return outlook_[device]; }
  std::span<const Outlook> outlooks() const { return outlook_; }
  /// Has it issued, after what was enqueued before; false when it has no device or was enqueued
  /// already. One that is not ready goes behind all that it waits for: otherwise streams could wait
  /// for each other.
  bool enqueue(const View& view, const InstanceId& id, Reason why);
  /// SMs of a device that nothing issued occupies.
  std::uint32_t free_sms(const View& view, std::uint16_t device) const;
  /// Of those that are usable, the one with the least to do; kNowhere when none is.
  std::uint16_t idlest(const View& view) const;
  /// Visits the frame's instances that are not committed or missed.
  template <typename Visit>
  static void for_each(const View& view, FrameRef frame, Visit&& visit) {
    const SourceBoard& source = view.board[frame.source];
    for (std::uint16_t i = 0; i < source.graph().size(); ++i) {
      const InstructionStatus& status = source.status(frame.slot, i);
      if (status.chunks != 0 && status.state < InstructionStatus::State::Committed)
        visit(instance(view, frame, i));
    }
  }

  /// Visits an instance that is ready and what else of its step may be issued behind it.
  template <typename Visit>
  static void for_each_of_step(const View& view, const InstanceId& id, Visit&& visit) {
    const Graph& graph = view.board[id.source].graph();
    visit(id);
    for_each(view, id.place(), [&](const InstanceId& other) {
      const bool same = graph[other.instruction].step == graph[id.instruction].step;
      if (same && !needs_input(view, other)) visit(other);
    });
  }

 private:
  bool may_wait(const View& view, const InstanceId& id);
  void strand(Plan& plan);
  void settle(Plan& plan);
  void forget(Plan& plan);

  std::vector<std::size_t> first_;              // [source] of plans_
  std::vector<std::uint16_t> shared_;           // [source]
  std::vector<std::uint32_t> steps_, streams_;  // [source], of a frame
  std::vector<std::uint32_t> first_stream_;     // [source]
  std::vector<Plan> plans_;                     // [source][slot][instruction]
  std::vector<Outlook> outlook_;                // [device]
  std::vector<Tick> load_;                      // [device] ns of what is meant for it
  std::vector<std::uint32_t> used_;             // [device] SMs of what is issued
  std::vector<InstanceId> queue_;               // to be issued, in order
  std::vector<InstanceId> seen_;
};

}  // namespace carillon::runtime
