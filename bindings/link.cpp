// Link simulation (engine/emulator/link.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.hpp"
#include "emulator/link.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

nb::dict to_dict(const emulator::LinkCounts& counts) {
  nb::dict dict;
  dict["blocks"] = counts.blocks;
  dict["block_errors"] = counts.block_errors;
  dict["undetected"] = counts.undetected;
  dict["code_blocks"] = counts.code_blocks;
  dict["code_block_errors"] = counts.code_block_errors;
  dict["iterations"] = counts.iterations;
  dict["raw_bits"] = counts.raw_bits;
  dict["raw_errors"] = counts.raw_errors;
  dict["payload_bits"] = counts.payload_bits;
  dict["payload_errors"] = counts.payload_errors;
  dict["error_power"] = counts.error_power;
  dict["noise_power"] = counts.noise_power;
  dict["symbols"] = counts.symbols;
  return dict;
}

nb::dict to_dict(const emulator::LinkSide& side) {
  nb::dict dict = to_dict(side.total());
  nb::list users;
  for (const auto& counts : side.users) users.append(to_dict(counts));
  dict["users"] = users;
  return dict;
}

nb::dict link_point(const std::string& plan_text, double snr_db, std::uint64_t frames,
                    std::uint64_t seed, std::uint64_t first_frame) {
  auto plan = checked_plan(plan_text);
  plan.radio.snr_db = {snr_db};
  plan.radio.seed = seed;
  emulator::LinkResult result;
  {
    nb::gil_scoped_release released;
    const frame::Frame frame(plan.cell);
    result = emulator::LinkSimulator(frame, plan.radio).run(first_frame, frames);
  }
  nb::dict dict = to_dict(result.uplink);
  dict["downlink"] = to_dict(result.downlink);
  dict["frames"] = result.frames;
  dict["ill_conditioned"] = result.ill_conditioned;
  dict["clipped"] = result.clipped;
  dict["noise_estimate"] = result.noise_estimate;
  dict["signal_power"] = result.signal_power;
  return dict;
}

}  // namespace

void bind_link(nb::module_& core) {
  core.def("link_point", &link_point, nb::arg("plan_text"), nb::arg("snr_db"), nb::arg("frames"),
           nb::arg("seed"), nb::kw_only(), nb::arg("first_frame") = 0,
           nb::sig("def link_point(plan_text: str, snr_db: float, frames: int, seed: int, *, "
                   "first_frame: int = 0) -> dict[str, typing.Any]"),
           "Simulates frames of a plan's cell with all users at one signal-to-noise ratio: sums "
           "over the uplink, per user under `users`, the same of the downlink under `downlink`. "
           "`noise_estimate` and `signal_power` (per user) are means relative to the noise that "
           "was added. Does not hold the GIL.");
}

}  // namespace carillon::bindings
