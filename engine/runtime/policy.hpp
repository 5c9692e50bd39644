// Who does what next. A policy is a function of what it is shown: no clock, no thread, no
// allocation, no knowledge of whether time is real.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

/// What goes first, the least of all: by deadline, but within a source one frame after the other,
/// and within a frame in the graph's order of urgency.
struct Priority {
  bool yields = false;  ///< Order::yields
  Tick due = kAlways;
  std::uint64_t frame = 0;
  std::uint16_t rank = 0;
  std::uint16_t source = 0;
  auto operator<=>(const Priority&) const = default;
};

/// An order to execute: chunks [first, first + count) of an instruction, `grain` at a time.
struct Issue {
  InstanceId what;
  std::uint32_t first = 0, count = 0, grain = 1;
  DeviceMask where;
  Priority priority;
  Reason why = Reason::None;
  /// Of a device that has streams: in order after what was issued there before. What is not ready
  /// may be issued; it waits on the device.
  std::uint16_t stream = 0;
  /// A stream of which nothing else can be in the way, before all others of its device: what goes
  /// there has to be ready.
  static constexpr std::uint16_t kFree = 0xffff;
  bool background = false;       ///< only on what other streams leave
  Reason placed = Reason::None;  ///< why on this device
  Tick expected = kNever;        ///< end, where there is a forecast of it
};

struct View {
  const Scoreboard& board;
  std::span<const InstanceId> ready;    ///< may be issued, in no particular order
  std::span<const InstanceId> planned;  ///< issued and not committed
  Tick now = 0;
  std::size_t room = 0;  ///< issues that the executor can take
};

/// Whether a frame may be worked on (else: an overload NACK), and where it stands then.
struct Admission {
  bool admitted = false;
  Order order = {};
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// May this frame, already in the scoreboard, be worked on?
  virtual Admission admit(const View& view, FrameRef frame) = 0;
  /// Writes issues of ready instances, the most urgent first, and returns how many.
  virtual std::size_t decide(const View& view, std::span<Issue> out) = 0;

  /// decide() may have something to say even when nothing is ready.
  virtual bool pending() const { return false; }
  /// When it will, though nothing else happens; kNever when that is not known.
  virtual Tick next() const { return kNever; }
  /// An instance has committed.
  virtual void committed(const View&, const InstanceId&) {}
  /// An instance that was issued has to be issued again.
  virtual void returned(const View&, const InstanceId&) {}
  /// A frame is over: done, dropped or never begun.
  virtual void ended(const View&, FrameRef) {}
  /// A device is there, or is no longer.
  virtual void changed(const View&, std::uint16_t) {}
};

/// Null when no policy has that name. `groups`: for core-groups, the cores of each opcode.
std::unique_ptr<Policy> make_policy(std::string_view name, std::span<const DeviceMask> groups = {});
std::vector<std::string_view> policy_names();

}  // namespace carillon::runtime
