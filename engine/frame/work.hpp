// Schedules frames while they come: makes a program of a frame's grants, or refuses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frame/frame.hpp"
#include "frame/harq.hpp"

namespace carillon::frame {

/// One thread; it allocates.
class WorkCompiler {
 public:
  /// A cell whose frames a program schedules; at the side that `receives` the uplink or at its
  /// users'. The frame outlives this.
  explicit WorkCompiler(const Frame& frame, bool receives = true)
      : frame_(frame), harq_(frame, receives) {}

  /// One frame's grants, as in Grants::list, their slots within the frame. What cannot be done is
  /// left out, and a problem under "grants.list.N" and the number's name.
  FrameProgram compile(std::span<const std::uint32_t> list, std::vector<Problem>& problems);
  /// A program of compile() that no frame will have.
  void withdraw(const FrameProgram& program) noexcept { harq_.withdraw(program); }
  /// What became of an uplink block of a frame that has begun. Another thread.
  void settle(const TransportBlock& block, Verdict verdict) noexcept {
    harq_.settle(block, verdict);
  }

 private:
  using Which = std::vector<std::size_t>;  // of the grants

  FrameProgram compile(std::span<const Grant> grants, Which& right, std::vector<Problem>& problems);
  void forget_plans(const FrameProgram& program, std::size_t refused);
  void check_processes(std::span<const Grant> grants, Which& right,
                       std::vector<Problem>& problems) const;
  bool check_again(const FrameProgram& program, std::span<const Grant> grants, Which& right,
                   std::vector<Problem>& problems) const;
  bool check_references(const FrameProgram& program, std::span<const Grant> grants, Which& right,
                        std::vector<Problem>& problems) const;

  const Frame& frame_;
  TransportPlans plans_;
  std::size_t kept_ = 0;  // code blocks that they may have
  HarqProcesses harq_;
};

/// The grant that a problem of compile() names, and what is wrong with it: with its number's name.
std::size_t grant_of(const Problem& problem);
std::string reason_of(const Problem& problem);

}  // namespace carillon::frame
