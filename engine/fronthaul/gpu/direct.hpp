// Blocks that a network card writes where they go, a GPU's memory included: no copy by the CPU, and
// none by a copy engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/cuda/device.hpp"
#include "base/descriptor.hpp"
#include "fronthaul/gpu/target.hpp"
#include "fronthaul/gpu/verbs.hpp"

namespace carillon::fronthaul::gpu {

/// A GPU's pages, of which a dma-buf has whole ones.
inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// How a GPU's memory is told to a network card.
enum class Export : std::uint8_t { DmaBuf, Peermem };

/// Memory with a place for the block of each of a ring's slots, and who checks them there.
struct Landing {
  std::unique_ptr<Target> checks;  ///< its take(): checks a block that has arrived
  std::byte* memory = nullptr;
  std::size_t bytes = 0, slot_bytes = 0;
  Descriptor dma_buf;  ///< of the memory; none: the card finds it by its address
};

/// The ring's own memory. `sums` as of make_host_target().
Landing make_host_landing(BlockRing& ring, bool sums);

/// Memory of a device, told to a card in one way. `why`: empty when that went well, else which step
/// did not. The ring, of metadata alone, outlives it.
Landing make_device_landing(const cuda::Device& device, BlockRing& ring, std::size_t block_bytes,
                            Export by, std::string& why);

/// What has to be done with a device's memory first, and for Export::DmaBuf. Empty when it went
/// well.
std::string prepare_for_card(std::byte* memory);
std::string export_as_dma_buf(const cuda::Device& device, std::byte* memory, std::size_t bytes,
                              Descriptor& file);

/// A card writes blocks from the source's memory where they land, and says when they have arrived;
/// then they are checked. Null, and `why` says why, when card or memory cannot.
std::unique_ptr<Target> make_direct_target(const Card& card, BlockRing& ring, Landing landing,
                                           std::string& why);

}  // namespace carillon::fronthaul::gpu
