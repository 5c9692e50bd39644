// Modulation mapping of TS 38.211 5.1 with scrambling.
#pragma once

#include <cstdint>

#include "base/isa.hpp"
#include "phy/modulation.hpp"
#include "phy/tile.hpp"

namespace carillon::phy {

struct ModulateKernels {
  /// Symbols of unit mean energy in lanes [first, first + count) of one user's tile, for elements
  /// re… of a code block with E coded bits: constellation bit i of element j is bit i * E / Qm + j
  /// of `coded` (LSB first, kCodedPadding bytes readable after), flipped where
  /// signs[i * sign_stride] has the lane's bit set. Other lanes are not written.
  void (*modulate)(Modulation, const std::uint8_t* coded, std::uint32_t E, std::uint32_t re,
                   std::uint32_t first, std::uint32_t count, const std::uint16_t* signs,
                   std::size_t sign_stride, Tile* s) noexcept;
};

const ModulateKernels& modulate_kernels(Isa isa = active_isa());

namespace avx2 {
extern const ModulateKernels modulate_kernels;
}
namespace avx512 {
extern const ModulateKernels modulate_kernels;
}

}  // namespace carillon::phy
