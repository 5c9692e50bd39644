// Frames' milestones as arrays for Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <vector>

#include "frame/milestones.hpp"

namespace carillon::bindings {

inline double milliseconds(Tick ticks) {
  return static_cast<double>(ticks) / static_cast<double>(kMillisecond);
}

/// A copy that Python owns.
template <typename T>
nanobind::object array_of(std::vector<T> given) {
  auto* values = new std::vector<T>(std::move(given));
  const nanobind::capsule owner(values,
                                [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T>(values->data(), {values->size()}, owner));
}

/// ms by name, NaN where a frame has none; `missed` and `completed` as they are.
void set_milestones(nanobind::dict& result, const std::vector<frame::Milestones>& frames);

}  // namespace carillon::bindings
