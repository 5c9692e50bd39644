// What a block is called, what its parameters are, and how it is made: declared once, read by the
// command line, by Python and by the pages.
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

/// All there are, by groups.
const std::vector<BlockType>& block_types();
/// Nothing if there is none of that name.
const BlockType* block_type(std::string_view name);

/// Checks values against what is declared and fills in the rest. Throws std::invalid_argument that
/// names the parameter.
std::unique_ptr<Block> make_block(std::string_view type, const Values& values);

/// Of values that have been checked.
bool flag(const Values& values, std::string_view name);
std::int64_t whole(const Values& values, std::string_view name);
double number(const Values& values, std::string_view name);
const std::string& text(const Values& values, std::string_view name);
const std::vector<double>& numbers(const Values& values, std::string_view name);

/// `samples`: real or complex, of blocks that do either.
Parameter samples_parameter(std::string text = "What it reads.", std::string standard = "complex");
Items items(const Values& values);
/// `rate_hz`: samples a second of its first input, or that a source makes. A graph knows it: from
/// there it comes where a file does not say it.
Parameter rate_parameter();

}  // namespace carillon::dataflow
