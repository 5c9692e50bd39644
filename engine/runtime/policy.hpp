// Who does what next. A policy is a function of what it is shown: no clock, no thread, no
// allocation, no knowledge of whether time is real.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

/// An order to execute: chunks [first, first + count) of an instruction, `grain` at a time.
struct Issue {
  InstanceId what;
  std::uint32_t first = 0, count = 0, grain = 1;
  DeviceMask where;
  std::uint64_t priority = 0;  ///< lower goes first
  Reason why = Reason::None;
};

struct View {
  const Scoreboard& board;
  std::span<const InstanceId> ready;    ///< may be issued, in no particular order
  std::span<const InstanceId> planned;  ///< issued and not committed
  Tick now = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// May this frame, already in the scoreboard, be worked on? false refuses it (an overload NACK).
  virtual bool admit(const View& view, std::uint16_t slot) = 0;
  /// Writes issues of ready instances, the most urgent first, and returns how many.
  virtual std::size_t decide(const View& view, std::span<Issue> out) = 0;
};

/// Null when no policy has that name. `groups`: for core-groups, the cores of each opcode.
std::unique_ptr<Policy> make_policy(std::string_view name, std::span<const DeviceMask> groups = {});
std::vector<std::string_view> policy_names();

}  // namespace carillon::runtime
