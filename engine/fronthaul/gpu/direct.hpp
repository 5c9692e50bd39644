// What lets a network card write into a GPU's memory: RDMA verbs, loaded when they are asked for,
// so that nothing links to them; and a GPU's memory given to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"

namespace carillon::fronthaul::gpu {

struct Verbs {
  std::vector<std::string> devices;  ///< mlx5_0, …
  std::string why;                   ///< there are none: in words, and what to do
};

/// Loads libibverbs.so.1 if there is one.
Verbs look_for_verbs();

/// Lets a verbs device write to memory, and takes it back; empty when both went well, else which
/// step did not. `dma_buf` is the memory's file descriptor, -1: by its address, which for a GPU's
/// memory needs the module nvidia-peermem.
std::string register_for_writes(const std::string& verbs_device, void* memory, std::size_t bytes,
                                int dma_buf);

/// How a GPU's memory is told to a network card.
enum class Export : std::uint8_t { DmaBuf, Peermem };

/// Allocates on the device and registers it with a verbs device; empty when that went well, else
/// which step did not and why.
std::string try_direct(const cuda::Device& device, Export by, const std::string& verbs_device);

}  // namespace carillon::fronthaul::gpu
