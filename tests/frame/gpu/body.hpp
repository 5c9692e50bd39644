// The text of every kernel, to be run on the host. It is compiled once (body.cpp): that takes
// longer than most tests.
#pragma once

#include "frame/gpu/frame.hpp"
#include "support/emulated_cta.hpp"

namespace carillon::test {

// A kernel's text, by its task: any of frame::GpuTask.
struct KernelBody {
  template <typename Task>
  void operator()(EmulatedCta& cta, const Task& task) const;
};

}  // namespace carillon::test
