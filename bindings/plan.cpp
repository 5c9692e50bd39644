// Run plans: what is wrong with one, and every figure that follows from it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/together.hpp"
#include "bindings.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/frame.hpp"
#include "fronthaul/key_file.hpp"
#include "fronthaul/packet.hpp"
#include "milestones.hpp"

namespace carillon::bindings {

namespace nb = nanobind;
using frame::Direction;
using frame::Frame;
using frame::SymbolKind;

void require_none(const std::vector<Problem>& problems) {
  if (!problems.empty())
    throw nb::value_error((problems.front().key + " " + problems.front().message).c_str());
}

app::RunPlan checked_plan(const std::string& text) {
  std::vector<Problem> problems;
  auto plan = app::parse_run_plan(text, problems);
  require_none(problems);
  return plan;
}

namespace {

std::vector<Problem> validate(const std::string& text) {
  std::vector<Problem> problems;
  app::parse_run_plan(text, problems);
  return problems;
}

std::string key_problem(const std::string& file) {
  try {
    fronthaul::SipHash(fronthaul::read_key(file));
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

using Clash = std::pair<std::size_t, Problem>;

std::vector<Clash> validate_together(const std::vector<std::string>& texts,
                                     const std::vector<std::string>& names) {
  if (names.size() != texts.size()) throw nb::value_error("names must be as many as plan_texts");
  std::vector<app::RunPlan> plans;
  for (const auto& text : texts) plans.push_back(checked_plan(text));
  std::vector<Clash> clashes;
  for (auto& [plan, problem] : app::check_together(plans, names))
    clashes.emplace_back(plan, std::move(problem));
  return clashes;
}

bool travels(SymbolKind kind, Direction direction) {
  return direction == Direction::Downlink ? kind == SymbolKind::Downlink
                                          : kind == SymbolKind::Uplink || kind == SymbolKind::Pilot;
}

struct Traffic {
  double packets_per_second = 0, gigabits_per_second = 0;
};

Traffic traffic(const Frame& frame, Direction direction, std::uint32_t code_bytes) {
  double packets = 0, bytes = 0;
  for (const auto& symbol : frame.symbols()) {
    if (!travels(symbol.kind, direction)) continue;
    packets += frame.format().antennas;
    bytes += static_cast<double>(frame.format().antennas) *
             static_cast<double>(sizeof(fronthaul::PacketHeader) + code_bytes +
                                 2 * sizeof(std::int16_t) * symbol.samples);
  }
  const double seconds = milliseconds(frame.duration()) * 1e-3;
  return {packets / seconds, bytes * 8 / seconds * 1e-9};
}

nb::list describe_symbols(const Frame& frame) {
  nb::list list;
  for (std::uint32_t i = 0; i < frame.symbols().size(); ++i) {
    const auto& symbol = frame.symbol(i);
    nb::dict entry;
    entry["kind"] = std::string(1, static_cast<char>(symbol.kind));
    entry["slot"] = symbol.slot;
    entry["start_ms"] = milliseconds(symbol.start);
    entry["end_ms"] = milliseconds(symbol.end);
    entry["samples"] = symbol.samples;
    entry["prefix"] = symbol.prefix;
    entry["occasion"] = symbol.occasion;
    entry["references"] = symbol.references;
    entry["deadline_ms"] = nb::none();
    if (symbol.kind == SymbolKind::Uplink)
      entry["deadline_ms"] = milliseconds(frame.uplink_deadline(i));
    if (symbol.kind == SymbolKind::Downlink)
      entry["deadline_ms"] = milliseconds(frame.downlink_deadline(i));
    list.append(entry);
  }
  return list;
}

// Of all frames that differ, one after another.
nb::list describe_users(const Frame& frame, Direction direction) {
  nb::list list;
  for (std::uint32_t u = 0; u < frame.format().users; ++u) {
    std::vector<std::uint32_t> bits, code_blocks, coded_bits;
    std::uint32_t bits_per_element = 0;  // of the first
    std::uint64_t payload_bits = 0;
    for (const frame::FrameProgram& program : frame.programs())
      for (const auto& block : program.transport_blocks(direction)) {
        if (block.user != u) continue;
        const auto& plan = program.plan(block);
        if (bits.empty()) bits_per_element = plan.Qm();
        payload_bits += plan.A();
        bits.push_back(plan.A());
        coded_bits.push_back(plan.G());
        code_blocks.push_back(plan.C());
      }
    nb::dict entry;
    entry["payload_bits"] = payload_bits;
    entry["blocks"] = bits.size();
    entry["block_bits"] = bits;
    entry["coded_bits"] = coded_bits;
    entry["code_blocks"] = code_blocks;
    entry["bits_per_element"] = bits_per_element;
    list.append(entry);
  }
  return list;
}

// Sums over all frames that differ.
struct Totals {
  std::size_t blocks = 0, code_blocks = 0;
  std::uint64_t payload_bits = 0;
  std::uint32_t bits_per_symbol = 0;  // the most
  const phy::TransportPlan* first = nullptr;
};

Totals totals(const Frame& frame, Direction direction) {
  Totals sum;
  for (const frame::FrameProgram& program : frame.programs()) {
    const auto blocks = program.transport_blocks(direction);
    sum.blocks += blocks.size();
    sum.code_blocks += program.code_blocks(direction).size();
    sum.payload_bits += program.payload_bits(direction);
    sum.bits_per_symbol = std::max(sum.bits_per_symbol, program.bits_per_symbol(direction));
    if (sum.first == nullptr && !blocks.empty()) sum.first = &program.plan(blocks.front());
  }
  return sum;
}

// The code is that of the direction's first block.
nb::object describe_direction(const Frame& frame, Direction direction) {
  const Totals sum = totals(frame, direction);
  if (sum.first == nullptr) return nb::none();
  const auto kind = direction == Direction::Uplink ? SymbolKind::Uplink : SymbolKind::Downlink;
  const phy::TransportPlan& plan = *sum.first;
  nb::dict side;
  side["data_symbols"] = std::ranges::count_if(frame.symbols_of(kind), [&](std::uint16_t s) {
    return frame::carries_data(frame.symbol(s), direction);
  });
  side["bits_per_symbol"] = sum.bits_per_symbol;
  side["payload_bits"] = sum.payload_bits;
  side["blocks"] = sum.blocks;
  side["code_blocks"] = sum.code_blocks;
  side["ideal_rate_mbps"] =
      static_cast<double>(sum.payload_bits) /
      (milliseconds(frame.duration()) * static_cast<double>(frame.programs().size())) * 1e-3;
  side["base_graph"] = plan.code().base_graph;
  side["lifting"] = plan.code().lifting;
  side["fillers"] = plan.fillers();
  side["bits_per_element"] = plan.Qm();
  side["code_rate"] = static_cast<double>(plan.A()) / plan.G();
  const auto precision = *frame::Pipeline::precision(frame, direction, active_isa());
  side["precision"] = std::string(EnumNames<frame::Precision>::value[std::size_t(precision)]);
  side["users"] = describe_users(frame, direction);
  return side;
}

nb::dict describe(const std::string& text) {
  const auto plan = checked_plan(text);
  const Frame frame(plan.cell);
  const std::uint32_t code_bytes = plan.fronthaul.code_bytes();
  const Traffic up = traffic(frame, Direction::Uplink, code_bytes);
  const Traffic down = traffic(frame, Direction::Downlink, code_bytes);
  nb::dict figures;
  figures["frame_ms"] = milliseconds(frame.duration());
  figures["sample_rate_mhz"] = frame::sample_rate_hz(plan.cell.numerology) * 1e-6;
  figures["samples_per_frame"] = frame.samples();
  figures["tiles"] = frame.tiles();
  figures["memory_bytes"] = frame::Pipeline::footprint(frame);
  figures["uplink_iq_gbps"] = up.gigabits_per_second;
  figures["downlink_iq_gbps"] = down.gigabits_per_second;
  figures["uplink_packets_per_second"] = up.packets_per_second;
  figures["downlink_packets_per_second"] = down.packets_per_second;
  figures["symbols"] = describe_symbols(frame);
  figures["uplink"] = describe_direction(frame, Direction::Uplink);
  figures["downlink"] = describe_direction(frame, Direction::Downlink);
  return figures;
}

}  // namespace

void bind_plan(nb::module_& core) {
  nb::class_<Problem>(core, "Problem", "What is wrong with one key of a plan.")
      .def_ro("key", &Problem::key, "Such as cell.numerology.fft_size.")
      .def_ro("message", &Problem::message,
              "For people, after the key: is 500 but must be 512 or 1024.")
      .def_prop_ro(
          "code",
          [](const Problem& problem) {
            const auto name = EnumNames<ProblemCode>::value[std::size_t(problem.code)];
            return std::string(name);
          },
          "For who says it in other words (engine/base/problem.hpp): other, shares-elements, ….")
      .def_ro("numbers", &Problem::numbers, "Of the code.")
      .def("__repr__", [](const Problem& problem) { return problem.key + " " + problem.message; });
  core.def("validate", &validate, nb::arg("plan_text"),
           "What is wrong with a run plan; empty when it can be run.");
  core.def(
      "validate_together", &validate_together, nb::arg("plan_texts"), nb::arg("names"),
      "What is wrong with plans as cells of one process, though each is right by itself: (which "
      "plan, problem) each. Messages call plans by their names. Raises ValueError on a "
      "plan that cannot be.");
  core.def(
      "key_problem", &key_problem, nb::arg("file"),
      "What is wrong with a file as fronthaul.key_file on this machine; empty when packets can "
      "be authenticated with the key in it.");
  core.def("describe", &describe, nb::arg("plan_text"),
           nb::sig("def describe(plan_text: str) -> dict[str, typing.Any]"),
           "Every figure that follows from a valid plan's cell. IQ rates and packets include the "
           "packets' headers and codes.");
}

}  // namespace carillon::bindings
