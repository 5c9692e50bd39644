// Fronthaul over shared memory, within one process or between two: descriptors travel, samples lie
// still, as a NIC's DMA would leave them. The sender owns its direction's buffers; the receiver
// gives each back when it is done with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

enum class Side : std::uint8_t { Baseband, Radio };

struct ShmWay {
  std::uint32_t buffers = 0;
  std::uint32_t receivers = 1;
  std::uint32_t descriptors = 1024;  // that may wait for one receiver

  bool operator==(const ShmWay&) const = default;
};

struct ShmOptions {
  std::uint32_t buffer_bytes = 0;
  ShmWay uplink, downlink;

  bool operator==(const ShmOptions&) const = default;
};

struct ShmPair {
  std::unique_ptr<Transport> baseband, radio;
};

/// Both ends in this process. Throws std::runtime_error when memory is short.
ShmPair make_shm_pair(const ShmOptions& options);

/// One end of a named segment (/dev/shm/<name>); whoever comes first makes it, whoever leaves last
/// removes it. The place of a side that is gone may be taken while the other goes on. Throws
/// std::runtime_error when the name is taken by another pair or was made for other sizes.
std::unique_ptr<Transport> open_shm(const std::string& name, Side side, const ShmOptions& options);

}  // namespace carillon::fronthaul
