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
#include "dataflow/blocks/load.hpp"
#include "dataflow/profile.hpp"
#include "lone.hpp"

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

// For Python's collector: a function often refers to what holds its block.
int visit_lone(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(function_of(nb::inst_ptr<Lone>(self)->block()));
  return 0;
}

int clear_lone(PyObject* self) {
  forget_function(nb::inst_ptr<Lone>(self)->block());
  return 0;
}

PyType_Slot kLoneSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_lone)},
                            {Py_tp_clear, reinterpret_cast<void*>(clear_lone)},
                            {0, nullptr}};

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

nb::object rows_of(const Block& block) {
  std::optional<dataflow::Rows> rows = block.rows();
  if (!rows) return nb::none();
  const std::size_t count = rows->values.size() / rows->width;
  return nb::make_tuple(array(std::move(rows->values), {count, rows->width}), rows->first_hz,
                        rows->step_hz, rows->came, rows->merged);
}

}  // namespace

void bind_blocks(nb::module_& core) {
  using namespace nb::literals;
  core.def("block_types", &types,
           "All blocks, with their parameters (engine/dataflow/blocks/type.hpp).");
  core.def(
      "load_blocks", &dataflow::load_blocks, "path"_a,
      "Adds the blocks of a shared library (engine/dataflow/blocks/load.hpp) and returns their\n"
      "names; none of one that is loaded already. RuntimeError names the file.");
  nb::class_<Lone>(core, "Block", "A block of a flowgraph, alone (engine/dataflow/blocks).",
                   nb::type_slots(kLoneSlots))
      .def(nb::init<const std::string&, const dataflow::Values&>(), "type"_a,
           "values"_a = dataflow::Values{},
           "ValueError names the parameter that is wrong, RuntimeError the file.")
      .def_static(
          "of_function",
          [](nb::object function, const std::vector<InputRow>& inputs,
             const std::optional<OutputRow>& output) {
            return Lone(python_block(std::move(function), inputs, output));
          },
          "function"_a, "inputs"_a, "output"_a.none(),
          "A block whose executions are calls of a function: of an array for each input (its\n"
          "history, then what is new), returning an array of what they make, or None of a sink.\n"
          "inputs, output: as the properties of these names. ValueError of what they cannot be.")
      .def_prop_ro(
          "inputs", [](const Lone& lone) { return inputs_of(lone.block()); },
          "Of each: real or complex, and the samples that an execution waits for, that it takes\n"
          "away, and that it reads before them.")
      .def_prop_ro(
          "output", [](const Lone& lone) { return output_of(lone.block()); },
          "real or complex, and the samples that an execution makes; None: it is a sink.")
      .def_prop_ro("has_device", [](const Lone& lone) { return lone.block().has_device(); })
      .def(
          "run", &Lone::run, "inputs"_a, "tags"_a = "",
          "Executes as often as the inputs allow, and returns what it makes. Samples that are too\n"
          "few for an execution are kept for the next call. `tags`: of the first input, one a\n"
          "line (engine/dataflow/io/tag_lines.hpp). TypeError of other dtypes than float32 and\n"
          "complex64.",
          nb::sig("def run(self, inputs: collections.abc.Sequence[numpy.typing.NDArray[typing.Any]"
                  "], tags: str = '') -> typing.Any"))
      .def_prop_ro("tags", &Lone::tags, "Lines of those that it put out by the last call.")
      .def("make", &Lone::make, "count"_a, "What so many executions of a source make.",
           nb::sig("def make(self, count: int) -> typing.Any"))
      .def(
          "start", [](const Lone& lone) { lone.block().start(); }, "Opens its file or device.",
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "finish", [](const Lone& lone) { lone.block().finish(); },
          "Writes what is left and closes it. RuntimeError of what was not written.",
          nb::call_guard<nb::gil_scoped_release>())
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
          "rows", [](const Lone& lone) { return rows_of(lone.block()); },
          "What it keeps for a picture, after finish(): rows of powers, float32; their first\n"
          "frequency and the step to the next, in Hz; how many rows came, and of how many of them\n"
          "each is the mean. None of most blocks.",
          nb::sig("def rows(self) -> tuple[numpy.typing.NDArray[numpy.float32], float, float, int, "
                  "int] | None"))
      .def(
          "profile", &profile, "batch"_a, "setting"_a, "seconds"_a, "period_us"_a = 200.0,
          "ns of each batch on this machine (engine/dataflow/profile.hpp); setting: warm, cold or\n"
          "in-place.");
}

}  // namespace carillon::bindings
