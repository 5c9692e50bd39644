// Link simulation (engine/emulator/link.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "bindings.hpp"
#include "emulator/harq_link.hpp"
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
  dict["known_error"] = counts.known_error;
  dict["known_symbols"] = counts.known_symbols;
  return dict;
}

nb::dict to_dict(const emulator::LinkSide& side) {
  nb::dict dict = to_dict(side.total());
  nb::list users;
  for (const auto& counts : side.users) users.append(to_dict(counts));
  dict["users"] = users;
  return dict;
}

/// The same of hybrid ARQ.
class Harq {
 public:
  explicit Harq(const std::string& plan_text)
      : plan_(checked_plan(plan_text)), simulator_(of_two(plan_.cell), plan_.radio) {}

  nb::dict point(double snr_db, std::uint64_t frames, std::uint64_t seed,
                 std::uint64_t first_frame) {
    plan_.radio.snr_db = {snr_db};
    plan_.radio.seed = seed;
    emulator::HarqResult result;
    {
      nb::gil_scoped_release released;
      simulator_.set_radio(plan_.radio);
      result = simulator_.run(first_frame, frames);
    }
    nb::dict dict;
    dict["frames"] = frames;
    dict["blocks"] = result.blocks;
    dict["errors"] = std::vector<std::uint64_t>(result.errors.begin(), result.errors.end());
    return dict;
  }

 private:
  static frame::FrameFormat of_two(frame::FrameFormat format) {
    format.ring = 2;
    format.deadlines.precoder_age = 0;
    return format;
  }

  app::RunPlan plan_;
  emulator::HarqLink simulator_;
};

/// A cell, and a simulator of it that is made once: that takes as long as some frames.
class Link {
 public:
  Link(const std::string& plan_text, bool samples)
      : plan_(one_at_a_time(checked_plan(plan_text))),
        frame_(plan_.cell),
        simulator_(frame_, plan_.radio,
                   samples ? emulator::UplinkPath::Samples : emulator::UplinkPath::Subcarriers) {}

  nb::dict point(double snr_db, std::uint64_t frames, std::uint64_t seed,
                 std::uint64_t first_frame) {
    plan_.radio.snr_db = {snr_db};
    plan_.radio.seed = seed;
    emulator::LinkResult result;
    {
      nb::gil_scoped_release released;
      simulator_.set_radio(plan_.radio);
      result = simulator_.run(first_frame, frames);
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

 private:
  // Slots for more frames in flight would be memory for nothing.
  static app::RunPlan one_at_a_time(app::RunPlan plan) {
    plan.cell.ring = std::max(2U, plan.cell.deadlines.precoder_age + 1);
    return plan;
  }

  app::RunPlan plan_;
  frame::Frame frame_;
  emulator::LinkSimulator simulator_;
};

}  // namespace

void bind_link(nb::module_& core) {
  nb::class_<Link>(core, "Link",
                   "Link simulation of a plan's cell, for one thread at a time. The uplink is "
                   "simulated by subcarriers, or with `samples` through the OFDM transforms and "
                   "16-bit samples of a run.")
      .def(nb::init<const std::string&, bool>(), nb::arg("plan_text"), nb::kw_only(),
           nb::arg("samples") = false)
      .def("point", &Link::point, nb::arg("snr_db"), nb::arg("frames"), nb::arg("seed"),
           nb::kw_only(), nb::arg("first_frame") = 0,
           nb::sig("def point(self, snr_db: float, frames: int, seed: int, *, "
                   "first_frame: int = 0) -> dict[str, typing.Any]"),
           "Simulates frames with all users at one signal-to-noise ratio: sums over the uplink, "
           "per user under `users`, the same of the downlink under `downlink`. `noise_estimate` "
           "and `signal_power` (per user) are means relative to the noise that was added. What a "
           "frame brings depends on the seed and its number alone. Does not hold the GIL.");
  nb::class_<Harq>(core, "Harq",
                   "Hybrid ARQ of a plan's cell without real time, for one thread at a time: each "
                   "uplink block is sent in redundancy versions 0, 2, 3 and 1, over a channel of "
                   "its own each time.")
      .def(nb::init<const std::string&>(), nb::arg("plan_text"))
      .def("point", &Harq::point, nb::arg("snr_db"), nb::arg("frames"), nb::arg("seed"),
           nb::kw_only(), nb::arg("first_frame") = 0,
           nb::sig("def point(self, snr_db: float, frames: int, seed: int, *, "
                   "first_frame: int = 0) -> dict[str, typing.Any]"),
           "`blocks`, and under `errors` how many of them were wrong after one transmission, two, "
           "three and four. What a frame brings depends on the seed and its number alone. Does not "
           "hold the GIL.");
}

}  // namespace carillon::bindings
