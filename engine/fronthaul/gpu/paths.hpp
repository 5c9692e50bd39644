// Which ways into a GPU's memory this machine has, and what each lacks.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/pci.hpp"
#include "fronthaul/gpu/measure.hpp"
#include "fronthaul/gpu/verbs.hpp"

namespace carillon::fronthaul::gpu {

struct PathState {
  std::string name;    ///< staged, pinned-copy, pinned-read, card-host, dma-buf, peermem, gpudev
  bool ready = false;  ///< it can be measured
  std::string why;     ///< it cannot: what is missing
  std::string needs;   ///< hardware and drivers that would enable it
};

/// What paths depend on: of this machine, or a test's.
struct Surroundings {
  cuda::Machine cuda;
  std::vector<pci::Device> pci;
  Verbs verbs;
  bool peermem = false;  ///< the module nvidia-peermem is loaded
  bool gpudev = false;   ///< DPDK's driver for CUDA is installed
  /// As try_direct().
  std::function<std::string(Path, const cuda::Device*, const Card&)> try_direct;
};

/// `root` and `library` are others in tests only; CUDA is always this machine's.
Surroundings look_around(const std::filesystem::path& root = "/",
                         const std::string& library = kVerbsLibrary);

/// A ring of small blocks through a card, checked where they end; empty when all arrived whole,
/// else which step failed and why.
std::string try_direct(Path path, const cuda::Device* device, const Card& card);

/// In the order of preference of those that are direct; on the first CUDA device.
std::vector<PathState> paths_of(const Surroundings& around);

/// Hardware and drivers that enable either of the paths by which a card writes into a GPU's memory.
std::string needs_of_direct();
/// Of what a card needs to write into a GPU's memory, the first thing missing here; null: sysfs
/// does not show it.
std::string direct_lacks(const Surroundings& around, const pci::Device* gpu,
                         const pci::Device* card);

/// The PCI device of a CUDA device; null when sysfs does not show it.
const pci::Device* find_gpu(const Surroundings& around);
/// The network device that may best write into it: with verbs, below the same root complex if one
/// is. Null when no device has verbs.
const pci::Device* find_peer(const Surroundings& around, const pci::Device* gpu);
/// The card that direct paths use: the peer, or the first that libibverbs knows.
Card card_of(const Surroundings& around);

}  // namespace carillon::fronthaul::gpu
