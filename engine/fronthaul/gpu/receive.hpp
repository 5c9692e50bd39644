// Whether, and how, this machine can receive a link's samples straight into a GPU's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fronthaul/gpu/packets.hpp"
#include "fronthaul/gpu/paths.hpp"

namespace carillon::fronthaul::gpu {

/// What a run asks for.
struct Reception {
  std::string address;               ///< ours
  std::vector<std::uint16_t> ports;  ///< of the link's receivers
  std::string peer_address;          ///< whose datagrams are heard
  std::uint16_t peer_port = 0;
  std::uint32_t packet_bytes = 0;  ///< of the longest datagram
  std::uint32_t places = 0;        ///< datagrams that can be held
  std::uint32_t gpus = 1;          ///< at most, that read samples
};

/// Of this machine, or a test's.
struct Means {
  Surroundings around;
  std::filesystem::path root = "/";
  std::function<SampleRoom(const cuda::Device&, std::size_t bytes, Export, std::string& why)> room;
};
Means this_machines_means();

/// Memory of a device that was told to a card in one way. `why`: empty when that went well.
SampleRoom make_device_room(const cuda::Device& device, std::size_t bytes, Export by,
                            std::string& why);

/// Empty: `link`, of UDP, receives into the first GPU's memory from now on. Before that, known
/// blocks have gone into it through the card and arrived whole. Else `link` is as it was, and this
/// is what is missing or which step failed, and what hardware and drivers would do.
std::string receive_into_gpu(std::unique_ptr<Transport>& link, const Reception& wanted,
                             const Means& means);

}  // namespace carillon::fronthaul::gpu
