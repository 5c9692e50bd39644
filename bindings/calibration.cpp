// What a cell's stages cost on this machine (engine/emulator/calibration.hpp).
#include "emulator/calibration.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using emulator::Calibration;
using emulator::ClaimTime;

nb::object column(const std::vector<ClaimTime>& claims, std::uint32_t ClaimTime::*member) {
  auto* values = new std::vector<std::uint32_t>;
  const nb::capsule owner(
      values, [](void* p) noexcept { delete static_cast<std::vector<std::uint32_t>*>(p); });
  values->reserve(claims.size());
  for (const ClaimTime& claim : claims) values->push_back(claim.*member);
  return nb::cast(nb::ndarray<nb::numpy, std::uint32_t>(values->data(), {values->size()}, owner));
}

nb::dict time(Calibration& calibration, std::uint32_t grain, std::uint64_t frames) {
  if (grain < 1) throw nb::value_error("grain must be at least 1");
  std::vector<ClaimTime> claims;
  {
    nb::gil_scoped_release released;
    claims = calibration.time(grain, frames);
  }
  nb::dict result;
  result["opcode"] = column(claims, &ClaimTime::opcode);
  result["chunks"] = column(claims, &ClaimTime::chunks);
  result["ns"] = column(claims, &ClaimTime::ns);
  return result;
}

}  // namespace

void bind_calibration(nb::module_& core) {
  nb::class_<Calibration>(core, "Calibration",
                          "A cell's stages timed in place, on one core, from samples in memory.")
      .def(
          "__init__",
          [](Calibration* self, const std::string& plan_text) {
            const auto plan = checked_plan(plan_text);
            nb::gil_scoped_release released;
            new (self) Calibration(plan.cell, plan.radio);
          },
          nb::arg("plan_text"), "Makes the samples. Raises ValueError on a plan that cannot be.")
      .def("time", &time, nb::arg("grain"), nb::arg("frames") = 1,
           nb::sig("def time(self, grain: int, frames: int = 1) -> dict[str, "
                   "numpy.typing.NDArray[numpy.uint32]]"),
           "Runs frames with claims of at most `grain` chunks. One entry for each claim: opcode "
           "(see opcodes()), chunks and ns.");
}

}  // namespace carillon::bindings
