#include "fronthaul/gpu/receive.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "fronthaul/gpu/interface.hpp"

namespace carillon::fronthaul::gpu {
namespace {

constexpr std::uint32_t kTagBytes = 4;

// Whatever fits the MTU fits a place: a card may stop at what does not.
std::uint32_t sample_bytes_for(std::uint32_t packet_bytes, std::uint32_t mtu) {
  const std::uint32_t frame =
      std::max(packet_bytes + kNetworkBytes, mtu + kEthernetBytes + kTagBytes) + 1;
  return (frame - std::min(frame, kBeforeSamples) + 63) / 64 * 64;
}

std::string does_not_fit(const Reception& wanted, const Interface& interface) {
  const std::uint32_t needed = wanted.packet_bytes + kIpv4Bytes + kUdpBytes;
  if (needed <= interface.mtu) return {};
  return "datagrams of " + std::to_string(wanted.packet_bytes) + " bytes do not fit the MTU of " +
         interface.name + ", " + std::to_string(interface.mtu) +
         ", and a card puts no fragments together; set it to " + std::to_string(needed) +
         " or more";
}

const pci::Device* pci_of(const Surroundings& around, const std::string& card) {
  for (const pci::Device& device : around.pci)
    if (std::ranges::find(device.rdma, card) != device.rdma.end()) return &device;
  return nullptr;
}

PacketPlan plan_for(const Reception& wanted, const Interface& interface,
                    const std::string& library) {
  PacketPlan plan;
  plan.card = {interface.card, library};
  plan.port = interface.port;
  const auto number_of = [](const std::string& text) {
    in_addr address{};
    (void)inet_pton(AF_INET, text.c_str(), &address);
    return ntohl(address.s_addr);
  };
  for (const std::uint16_t port : wanted.ports)
    plan.destinations.push_back({interface.ethernet, number_of(wanted.address), port,
                                 number_of(wanted.peer_address), wanted.peer_port});
  plan.places = wanted.places;
  plan.sample_bytes = sample_bytes_for(wanted.packet_bytes, interface.mtu);
  return plan;
}

std::string try_way(Path path, std::unique_ptr<Transport>& link, const PacketPlan& plan,
                    const Means& means) {
  const cuda::Device& device = means.around.cuda.devices.front();
  if (path == Path::Peermem && !means.around.peermem)
    return "the module nvidia-peermem is not loaded";
  std::string why = means.around.try_direct(path, &device, plan.card);
  if (!why.empty()) return why;
  const Export by = path == Path::DmaBuf ? Export::DmaBuf : Export::Peermem;
  SampleRoom room = means.room(device, std::size_t{plan.places} * plan.sample_bytes, by, why);
  if (!why.empty()) return why;
  if (auto receiver = CardTransport::open(link, plan, std::move(room), why))
    link = std::move(receiver);
  return why;
}

}  // namespace

SampleRoom make_device_room(const cuda::Device& device, std::size_t bytes, Export by,
                            std::string& why) {
  SampleRoom room;
  const auto fails = [&](const Status& status) {
    if (!status.ok()) why = "GPU memory for samples: " + status.text();
    return !status.ok();
  };
  if (fails(cuda::use(device))) return room;
  room.bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  const auto memory = std::make_shared<cuda::Memory>(room.bytes);
  if (fails(memory->status())) return room;
  room.memory = static_cast<std::byte*>(memory->data());
  room.owner = memory;
  why = prepare_for_card(room.memory);
  if (why.empty() && by == Export::DmaBuf)
    why = export_as_dma_buf(device, room.memory, room.bytes, room.dma_buf);
  return room;
}

Means this_machines_means() { return {look_around(), "/", make_device_room}; }

std::string receive_into_gpu(std::unique_ptr<Transport>& link, const Reception& wanted,
                             const Means& means) {
  const Surroundings& around = means.around;
  const auto needs = [](const std::string& why) {
    return why + ". It needs " + needs_of_direct() + "; and CAP_NET_RAW";
  };
  if (around.cuda.devices.empty()) return needs(around.cuda.why);
  if (std::min<std::size_t>(wanted.gpus, around.cuda.devices.size()) > 1)
    return "samples lie in one GPU's memory, and others are to read them too; choose "
           "runtime.gpus 1";
  const Interface interface = find_interface(wanted.address, means.root);
  if (!interface.why.empty()) return needs(interface.why);
  if (std::string why = does_not_fit(wanted, interface); !why.empty()) return why;
  const pci::Device* const gpu = find_gpu(around);
  if (std::string why = direct_lacks(around, gpu, pci_of(around, interface.card)); !why.empty())
    return needs(why);
  const PacketPlan plan = plan_for(wanted, interface, around.verbs.library);
  const std::string by_file = try_way(Path::DmaBuf, link, plan, means);
  if (by_file.empty()) return {};
  const std::string by_address = try_way(Path::Peermem, link, plan, means);
  if (by_address.empty()) return {};
  return needs("by dma-buf: " + by_file + "; by peermem: " + by_address);
}

}  // namespace carillon::fronthaul::gpu
