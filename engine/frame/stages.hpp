// The stages of the pipeline as people set them: one number for each, for the cores of a stage
// (policy core-groups) and for the chunks of a claim.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fields.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::frame {

/// A number for each stage, in the order that a frame goes through them.
struct PerStage {
  std::uint32_t fft = 0;         // PilotFft, UplinkFft
  std::uint32_t zero_force = 0;  // ZeroForce
  std::uint32_t demodulate = 0;  // EqualizeDemodulate
  std::uint32_t decode = 0;      // Decode, Store
  std::uint32_t encode = 0;      // Encode, Modulate
  std::uint32_t precode = 0;     // Precode
  std::uint32_t ifft = 0;        // Ifft

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("fft", self.fft);
    visit("zero_force", self.zero_force);
    visit("demodulate", self.demodulate);
    visit("decode", self.decode);
    visit("encode", self.encode);
    visit("precode", self.precode);
    visit("ifft", self.ifft);
  }
};

/// The number of each opcode's stage.
std::vector<std::uint32_t> by_opcode(const PerStage& numbers);

/// Cores of each stage; 0: it shares those of the stage before. All of them together.
std::uint32_t cores(const PerStage& groups);

/// What keeps groups from being cores of one machine: the bounds of devices_of_opcodes().
std::vector<Problem> check_group_sizes(const PerStage& groups);

/// What keeps `workers` cores (0: any number) from working in these groups; empty when nothing
/// does.
std::vector<Problem> check_groups(const PerStage& groups, std::uint32_t workers);

/// The cores of each opcode: the first stage has the first ones. check_group_sizes() found nothing.
std::vector<runtime::DeviceMask> devices_of_opcodes(const PerStage& groups);

}  // namespace carillon::frame
