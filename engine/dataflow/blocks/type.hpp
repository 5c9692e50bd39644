// What a block is called, what its parameters are, and how it is made: declared once, read by the
// command line, by Python and by the pages. All that blocks need of it is in this header, so that
// libraries of blocks bring nothing of the engine with them.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dataflow/blocks/block.hpp"

namespace carillon::dataflow {

/// A whole number is an int64, a list of numbers a vector.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;
using Values = std::map<std::string, Value, std::less<>>;

enum class ParameterKind : std::uint8_t { Flag, Whole, Number, Text, Numbers };

struct Parameter {
  std::string name;
  std::string text;  ///< what it is, in a sentence
  ParameterKind kind = ParameterKind::Number;
  std::optional<Value> standard = {};  ///< where it is not given; none: it must be
  std::string unit = {};
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  std::vector<std::string> choices = {};  ///< of a text; none: any
  bool changes = false;                   ///< may change while it runs: Block::set()
};

struct BlockType {
  std::string name;   ///< as in a graph's file: "fir"
  std::string group;  ///< sources, sinks, filters, arithmetic, measurement or flow
  std::string text;   ///< what it does, in a sentence
  std::vector<Parameter> parameters;
  /// Of values that hold what `parameters` declare, all of them. Throws std::invalid_argument
  /// where they do not fit each other, std::runtime_error where a file that it reads is wrong.
  std::function<std::unique_ptr<Block>(const Values&)> make;
};

/// All there are, by groups, and then those of libraries.
const std::vector<BlockType>& block_types();
/// None where one has no name, no make() or a name that there is: throws std::invalid_argument.
/// Not while others look at block_types().
void add_block_types(const std::vector<BlockType>& types);
/// Nothing if there is none of that name.
const BlockType* block_type(std::string_view name);

/// Checks values against what is declared and fills in the rest. Throws std::invalid_argument that
/// names the parameter.
std::unique_ptr<Block> make_block(std::string_view type, const Values& values);

/// Of values that have been checked.
template <typename T>
const T& value_of(const Values& values, std::string_view name) {
  return std::get<T>(values.find(name)->second);
}
inline bool flag(const Values& values, std::string_view name) {
  return value_of<bool>(values, name);
}
inline std::int64_t whole(const Values& values, std::string_view name) {
  return value_of<std::int64_t>(values, name);
}
inline double number(const Values& values, std::string_view name) {
  return value_of<double>(values, name);
}
inline const std::string& text(const Values& values, std::string_view name) {
  return value_of<std::string>(values, name);
}
inline const std::vector<double>& numbers(const Values& values, std::string_view name) {
  return value_of<std::vector<double>>(values, name);
}

/// `samples`: real or complex, of blocks that do either.
inline Parameter samples_parameter(std::string text = "What it reads.",
                                   std::string standard = "complex") {
  return {.name = "samples",
          .text = std::move(text),
          .kind = ParameterKind::Text,
          .standard = std::move(standard),
          .choices = {"complex", "real"}};
}
inline Items items(const Values& values) {
  return text(values, "samples") == "complex" ? Items::Complex : Items::Real;
}
/// `rate_hz`: samples a second of its first input, or that a source makes. A graph knows it: from
/// there it comes where a file does not say it.
inline Parameter rate_parameter() {
  return {.name = "rate_hz",
          .text = "Samples a second; the graph's if not given.",
          .unit = "Hz",
          .least = 1e-9,
          .most = 1e18};
}

}  // namespace carillon::dataflow
