// Which ways into a GPU's memory this machine has, and what each lacks.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/pci.hpp"
#include "fronthaul/gpu/direct.hpp"

namespace carillon::fronthaul::gpu {

struct PathState {
  std::string name;    ///< staged, pinned-copy, pinned-read, dma-buf, peermem, gpudev
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
  std::function<std::string(const cuda::Device&, Export, const std::string&)> try_direct;
};

/// `root` is / but for tests; verbs and CUDA are always this machine's.
Surroundings look_around(const std::filesystem::path& root = "/");

/// In the order of preference of those that are direct; on the first CUDA device.
std::vector<PathState> paths_of(const Surroundings& around);

/// The PCI device of a CUDA device; null when sysfs does not show it.
const pci::Device* find_gpu(const Surroundings& around);
/// The network device that may best write into it: with verbs, below the same root complex if one
/// is. Null when no device has verbs.
const pci::Device* find_peer(const Surroundings& around, const pci::Device* gpu);

}  // namespace carillon::fronthaul::gpu
