// Blocks of flowgraphs (engine/dataflow/blocks): what there are, and one alone.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "dataflow/blocks/type.hpp"
#include "dataflow/profile.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using dataflow::Block;
using dataflow::Items;
using Row = nb::typed<nb::dict, nb::str, nb::any>;

const char* name_of(Items items) { return items == Items::Complex ? "complex" : "real"; }

Row row_of(const dataflow::Parameter& parameter) {
  static constexpr const char* kKinds[] = {"flag", "whole", "number", "text", "numbers"};
  Row row;
  row["name"] = parameter.name;
  row["text"] = parameter.text;
  row["kind"] = kKinds[static_cast<std::size_t>(parameter.kind)];
  row["standard"] = parameter.standard;
  row["unit"] = parameter.unit;
  row["least"] = parameter.least;
  row["most"] = parameter.most;
  row["choices"] = parameter.choices;
  row["changes"] = parameter.changes;
  return row;
}

std::vector<Row> types() {
  std::vector<Row> rows;
  for (const dataflow::BlockType& type : dataflow::block_types()) {
    Row row;
    row["name"] = type.name;
    row["group"] = type.group;
    row["text"] = type.text;
    std::vector<Row> parameters;
    for (const auto& parameter : type.parameters) parameters.push_back(row_of(parameter));
    row["parameters"] = parameters;
    rows.push_back(row);
  }
  return rows;
}

// What an input reads: contiguous samples of its kind.
using Samples = nb::ndarray<nb::ro, nb::device::cpu>;

const float* floats_of(const Samples& x, Items items) {
  const bool right = items == Items::Complex ? x.dtype() == nb::dtype<std::complex<float>>()
                                             : x.dtype() == nb::dtype<float>();
  if (!right || x.ndim() != 1 || (x.size() > 1 && x.stride(0) != 1))
    throw nb::type_error(items == Items::Complex
                             ? "an input must be contiguous complex64 of one dimension"
                             : "an input must be contiguous float32 of one dimension");
  return static_cast<const float*>(x.data());
}

nb::object array_of(std::vector<float> out, Items items) {
  auto* const kept = new std::vector<float>(std::move(out));
  const nb::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  if (items == Items::Real)
    return nb::cast(
        nb::ndarray<nb::numpy, float, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
  return nb::cast(nb::ndarray<nb::numpy, std::complex<float>, nb::ndim<1>>(
      reinterpret_cast<std::complex<float>*>(kept->data()), {kept->size() / 2}, owner));
}

// A block with the samples that it will read again: what a ring keeps in a graph.
class Lone {
 public:
  Lone(const std::string& type, const dataflow::Values& values)
      : block_(dataflow::make_block(type, values)) {
    for (const auto& input : block_->ports().inputs)
      kept_.emplace_back(dataflow::floats_of(input.items) * input.history);
  }
  Block& block() const { return *block_; }

  nb::object run(const std::vector<Samples>& given) {
    const auto& inputs = block_->ports().inputs;
    if (given.size() != inputs.size())
      throw nb::value_error(("it has " + std::to_string(inputs.size()) + " inputs").c_str());
    require(!inputs.empty(), "it is a source: make(count)");
    std::size_t count = 1U << 30;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float* const x = floats_of(given[i], inputs[i].items);
      const std::size_t each = dataflow::floats_of(inputs[i].items);
      kept_[i].insert(kept_[i].end(), x, x + each * given[i].size());
      const std::size_t there = kept_[i].size() / each - inputs[i].history;
      count = std::min(count, there < inputs[i].threshold
                                  ? 0
                                  : (there - inputs[i].threshold) / inputs[i].consume + 1);
    }
    nb::object made = executed(count);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t taken = dataflow::floats_of(inputs[i].items) * count * inputs[i].consume;
      kept_[i].erase(kept_[i].begin(), kept_[i].begin() + static_cast<std::ptrdiff_t>(taken));
    }
    return made;
  }

  nb::object make(std::size_t count) {
    require(block_->ports().inputs.empty(), "it has inputs: run(...)");
    require(count <= 1U << 30, "at most 2^30 executions");
    return executed(count);
  }

 private:
  nb::object executed(std::size_t count) {
    std::vector<const float*> in;
    for (const auto& kept : kept_) in.push_back(kept.data());
    std::vector<float> out(block_->writes(count));
    block_->tags_in = {};
    block_->tags_out.clear();
    if (count > 0) {
      const nb::gil_scoped_release released;
      block_->execute(in.data(), out.data(), count);
    }
    const auto& output = block_->ports().output;
    return output ? array_of(std::move(out), output->items) : nb::none();
  }

  std::unique_ptr<Block> block_;
  std::vector<std::vector<float>> kept_;
};

std::vector<double> profile(const Lone& lone, std::size_t batch, const std::string& setting,
                            double seconds, double period_us) {
  require(batch >= 1 && batch <= 1U << 22, "batch must be between 1 and 4194304");
  require(seconds > 0 && seconds <= 600, "seconds must be above 0 and at most 600");
  require(period_us >= 10 && period_us <= 1e6, "period_us must be between 10 and 1e6");
  Block& block = lone.block();
  require(!block.has_device(), "a block with a device is not measured alone");
  dataflow::ProfileOptions options{batch, dataflow::Setting::Warm, seconds, period_us};
  if (setting == "cold")
    options.setting = dataflow::Setting::Cold;
  else if (setting == "in-place")
    options.setting = dataflow::Setting::InPlace;
  else
    require(setting == "warm", "setting must be warm, cold or in-place");
  const nb::gil_scoped_release released;
  return dataflow::profile(block, options);
}

using InputRow = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>;
using OutputRow = std::tuple<std::string, std::uint64_t>;
using FigureRow = std::tuple<std::string, double, std::string>;

std::vector<InputRow> inputs_of(const Block& block) {
  std::vector<InputRow> rows;
  for (const auto& input : block.ports().inputs)
    rows.emplace_back(name_of(input.items), input.threshold, input.consume, input.history);
  return rows;
}

std::optional<OutputRow> output_of(const Block& block) {
  const auto& output = block.ports().output;
  if (!output) return std::nullopt;
  return OutputRow{name_of(output->items), output->produce};
}

std::vector<FigureRow> figures_of(const Block& block) {
  std::vector<FigureRow> rows;
  for (const auto& each : block.figures()) rows.emplace_back(each.name, each.value, each.unit);
  return rows;
}

}  // namespace

void bind_blocks(nb::module_& core) {
  using namespace nb::literals;
  core.def("block_types", &types,
           "All blocks, with their parameters (engine/dataflow/blocks/type.hpp).");
  nb::class_<Lone>(core, "Block", "A block of a flowgraph, alone (engine/dataflow/blocks).")
      .def(nb::init<const std::string&, const dataflow::Values&>(), "type"_a,
           "values"_a = dataflow::Values{},
           "ValueError names the parameter that is wrong, RuntimeError the file.")
      .def_prop_ro(
          "inputs", [](const Lone& lone) { return inputs_of(lone.block()); },
          "Of each: real or complex, and the samples that an execution waits for, that it takes\n"
          "away, and that it reads before them.")
      .def_prop_ro(
          "output", [](const Lone& lone) { return output_of(lone.block()); },
          "real or complex, and the samples that an execution makes; None: it is a sink.")
      .def_prop_ro("has_device", [](const Lone& lone) { return lone.block().has_device(); })
      .def(
          "run", &Lone::run, "inputs"_a,
          "Executes as often as the inputs allow, and returns what it makes. Samples that are too\n"
          "few for an execution are kept for the next call. TypeError of other dtypes than\n"
          "float32 and complex64.",
          nb::sig("def run(self, inputs: collections.abc.Sequence[numpy.typing.NDArray[typing.Any]"
                  "]) -> typing.Any"))
      .def("make", &Lone::make, "count"_a, "What so many executions of a source make.")
      .def(
          "start", [](const Lone& lone) { lone.block().start(); }, "Opens its file or device.")
      .def(
          "finish", [](const Lone& lone) { lone.block().finish(); }, "Closes it.")
      .def(
          "ready", [](const Lone& lone) { return lone.block().ready(); },
          "Executions for which its device has samples, or room.")
      .def("over", [](const Lone& lone) { return lone.block().over(); })
      .def("failure", [](const Lone& lone) { return lone.block().failure(); })
      .def(
          "set",
          [](const Lone& lone, const std::string& name, double value) {
            lone.block().set(name, value);
          },
          "parameter"_a, "value"_a)
      .def(
          "figures", [](const Lone& lone) { return figures_of(lone.block()); },
          "What it counted or found: name, value, unit.")
      .def(
          "profile", &profile, "batch"_a, "setting"_a, "seconds"_a, "period_us"_a = 200.0,
          "ns of each batch on this machine (engine/dataflow/profile.hpp); setting: warm, cold or\n"
          "in-place.");
}

}  // namespace carillon::bindings
