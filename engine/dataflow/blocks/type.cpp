#include "dataflow/blocks/type.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

[[noreturn]] void refuse(const Parameter& parameter, const std::string& why) {
  throw std::invalid_argument(parameter.name + ": " + why);
}

void check_number(const Parameter& parameter, double value) {
  if (!std::isfinite(value)) refuse(parameter, "must be a finite number");
  if (value < parameter.least) refuse(parameter, "must be at least " + shown(parameter.least));
  if (value > parameter.most) refuse(parameter, "must be at most " + shown(parameter.most));
}

Value checked_text(const Parameter& parameter, const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) refuse(parameter, "must be a text");
  if (text->find('\0') != std::string::npos) refuse(parameter, "must have no NUL in it");
  if (parameter.choices.empty() || std::ranges::count(parameter.choices, *text) > 0) return *text;
  std::string all;
  for (const std::string& choice : parameter.choices) all += (all.empty() ? "" : ", ") + choice;
  refuse(parameter, "must be one of " + all);
}

double number_of(const Parameter& parameter, const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  refuse(parameter, "must be a number");
}

Value checked(const Parameter& parameter, const Value& value) {
  switch (parameter.kind) {
    case ParameterKind::Flag:
      if (!std::holds_alternative<bool>(value)) refuse(parameter, "must be true or false");
      return value;
    case ParameterKind::Whole: {
      const auto* found = std::get_if<std::int64_t>(&value);
      if (found == nullptr) refuse(parameter, "must be a whole number");
      check_number(parameter, static_cast<double>(*found));
      return value;
    }
    case ParameterKind::Number: {
      const double found = number_of(parameter, value);
      check_number(parameter, found);
      return found;
    }
    case ParameterKind::Text: return checked_text(parameter, value);
    case ParameterKind::Numbers: break;
  }
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (list == nullptr || list->empty()) refuse(parameter, "must be a list of numbers");
  for (const double each : *list) check_number(parameter, each);
  return value;
}

std::vector<BlockType>& all_types() {
  // clang-format off
  static std::vector<BlockType> all{
      null_source_type(),
      signal_source_type(),
      noise_source_type(),
      fm_test_signal_type(),
      raw_source_type(),
      wav_source_type(),
      udp_source_type(),
      zmq_source_type(),
      soapy_source_type(),
      null_sink_type(),
      raw_sink_type(),
      wav_sink_type(),
      udp_sink_type(),
      zmq_sink_type(),
      fir_type(),
      translating_fir_type(),
      resampler_type(),
      channelizer_type(),
      deemphasis_type(),
      dc_blocker_type(),
      squelch_type(),
      agc_type(),
      rotator_type(),
      add_type(),
      multiply_type(),
      add_two_type(),
      multiply_two_type(),
      convert_type(),
      demodulator_type(),
      fm_modulator_type(),
      probe_type(),
      correlator_type(),
      fft_power_type(),
      waterfall_sink_type(),
      head_type(),
      skip_type(),
      pick_type(),
  };
  // clang-format on
  return all;
}

}  // namespace

const std::vector<BlockType>& block_types() { return all_types(); }

void add_block_types(const std::vector<BlockType>& types) {
  std::vector<BlockType> all = all_types();
  for (const BlockType& type : types) {
    if (type.name.empty() || !type.make)
      throw std::invalid_argument("a block has no name, or cannot be made");
    if (std::ranges::find(all, type.name, &BlockType::name) != all.end())
      throw std::invalid_argument("there is a block " + type.name + " already");
    all.push_back(type);
  }
  all_types() = std::move(all);
}

const BlockType* block_type(std::string_view name) {
  const auto& all = block_types();
  const auto found = std::ranges::find(all, name, &BlockType::name);
  return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<Block> make_block(std::string_view type, const Values& values) {
  const BlockType* const found = block_type(type);
  if (found == nullptr) throw std::invalid_argument("there is no block " + std::string(type));
  for (const auto& [name, value] : values)
    if (std::ranges::find(found->parameters, name, &Parameter::name) == found->parameters.end())
      throw std::invalid_argument(name + ": " + found->name + " has no such parameter");
  Values all;
  for (const Parameter& parameter : found->parameters) {
    const auto given = values.find(parameter.name);
    if (given != values.end())
      all[parameter.name] = checked(parameter, given->second);
    else if (parameter.standard)
      all[parameter.name] = checked(parameter, *parameter.standard);
    else
      refuse(parameter, "must be given");
  }
  std::unique_ptr<Block> made = found->make(all);
  if (made == nullptr) throw std::invalid_argument(found->name + " makes no block");
  return made;
}

}  // namespace carillon::dataflow
