// Hybrid ARQ without real time: each uplink block is sent four times, in redundancy versions 0, 2,
// 3 and 1 (38.321 5.4.2.2), each time over a channel of its own, and the soft bits of what has come
// so far are added up. What it would have taken is counted, whatever it did take.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/receive.hpp"

namespace carillon::emulator {

inline constexpr std::array<std::uint32_t, 4> kVersions{0, 2, 3, 1};

struct HarqResult {
  std::uint64_t blocks = 0;
  /// Blocks not received, or received wrong, after one transmission, two, …
  std::array<std::uint64_t, kVersions.size()> errors{};
};

class HarqLink {
 public:
  /// `format` with whatever redundancy versions. Throws std::invalid_argument with the first
  /// problem of a version that cannot be sent so.
  HarqLink(const frame::FrameFormat& format, const RadioPlan& plan);
  ~HarqLink();

  /// What follows has other radio conditions.
  void set_radio(const RadioPlan& plan);
  /// Blocks of frames first … first + frames - 1: what they bring depends on the plan and their
  /// numbers alone.
  HarqResult run(std::uint64_t first, std::uint64_t frames);

 private:
  struct Attempt;

  void transmit(std::size_t attempt, std::uint64_t number);
  void add(std::size_t attempt, std::uint64_t number);
  void decode();
  std::uint64_t wrong(std::span<const std::uint8_t> good, const std::uint8_t* payload) const;

  std::vector<std::unique_ptr<Attempt>> attempts_;
  RadioPlan plan_;
  AlignedArray<std::int16_t> samples_;  // [antenna][sample]
  AlignedArray<std::uint8_t> sent_;     // payload memory
  std::vector<const std::uint8_t*> bits_;
  AlignedArray<std::int8_t> soft_;       // of all code blocks, N each at soft_at_
  std::vector<std::size_t> soft_at_;     // [code block]
  std::vector<std::uint32_t> received_;  // [code block] one more than the last place of any version
  AlignedArray<std::int8_t> recovered_;
  AlignedArray<std::uint8_t> info_, payload_;
  std::vector<std::uint8_t> good_;
  phy::LdpcScratch ldpc_;
};

}  // namespace carillon::emulator
