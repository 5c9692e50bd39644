// The instructions a frame is made of: MegaStation's opcodes (§4.1).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/enum_names.hpp"

namespace carillon::frame {

enum class Op : std::uint16_t {
  Load,                // samples or payload into device memory (executors without shared memory)
  Store,               // checks and hands out transport blocks of several code blocks
  PilotFft,            // chunk: antenna; FFT, least squares, interpolation
  UplinkFft,           // chunk: antenna
  Ifft,                // chunk: antenna
  ZeroForce,           // chunk: tile of CSI
  EqualizeDemodulate,  // chunk: tile
  Modulate,            // chunk: user
  Precode,             // chunk: tile
  Decode,              // chunk: pack of code blocks
  Encode,              // chunk: code block
};

inline constexpr std::size_t kOps = 11;
inline constexpr std::array<std::string_view, kOps> kOpNames{
    "Load",     "Store",   "PilotFft", "UplinkFft", "Ifft", "ZeroForce", "EqualizeDemodulate",
    "Modulate", "Precode", "Decode",   "Encode"};

/// What D_UL waits for, once the pilots are known.
constexpr bool is_uplink(Op op) {
  return op == Op::UplinkFft || op == Op::EqualizeDemodulate || op == Op::Decode || op == Op::Store;
}

}  // namespace carillon::frame

template <>
struct carillon::EnumNames<carillon::frame::Op> {
  static constexpr auto value = frame::kOpNames;
};
