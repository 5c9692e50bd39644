// What frames are told to do while they come: grants made into a program, or refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame.hpp"

namespace carillon::frame {

/// One thread; it allocates.
class WorkCompiler {
 public:
  /// A cell whose frames a port tells. The frame outlives this.
  explicit WorkCompiler(const Frame& frame) : frame_(frame) {}

  /// One frame's grants, as in Grants::list, their slots within the frame. What cannot be done is
  /// left out, and a problem under "grants.list.N" and the number's name.
  FrameProgram compile(std::span<const std::uint32_t> list, std::vector<Problem>& problems);

 private:
  const Frame& frame_;
  TransportPlans plans_;
};

/// The grant that a problem of compile() names.
std::size_t grant_of(const Problem& problem);

}  // namespace carillon::frame
