// Ways into a GPU's memory (engine/fronthaul/gpu/), and the PCI Express links that bound them
// (engine/base/pci.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <system_error>

#include "base/pci.hpp"
#include "bindings.hpp"
#include "fronthaul/gpu/measure.hpp"
#include "fronthaul/gpu/paths.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using namespace fronthaul::gpu;

nb::dict link_of(pci::Link link) {
  nb::dict told;
  told["generation"] = link.generation;
  told["lanes"] = link.lanes;
  told["limit_mb_per_s"] = pci::limit_mb_per_s(link);
  return told;
}

nb::dict device_of(const pci::Device& device) {
  nb::dict told;
  told["address"] = device.address;
  told["root"] = device.root;
  nb::list path;
  for (const pci::Node& node : device.path) path.append(node.address);
  told["path"] = path;
  told["link"] = link_of(device.path.back().now);
  told["most"] = link_of(device.path.back().most);
  told["narrowest"] = link_of(pci::narrowest(device));
  told["driver"] = device.driver;
  told["rdma"] = device.rdma;
  told["gpu"] = pci::is_gpu(device);
  told["network"] = pci::is_network(device);
  return told;
}

nb::dict around(const std::string& root) {
  const Surroundings found = look_around(root);
  nb::list paths, devices;
  for (const PathState& each : paths_of(found)) {
    nb::dict path;
    path["name"] = each.name;
    path["ready"] = each.ready;
    path["why"] = each.ready ? "" : each.why;
    path["needs"] = each.needs;
    paths.append(path);
  }
  for (const pci::Device& device : found.pci)
    if (pci::is_gpu(device) || pci::is_network(device)) devices.append(device_of(device));
  nb::dict told;
  told["paths"] = paths;
  told["devices"] = devices;
  const pci::Device* const gpu = find_gpu(found);
  const pci::Device* const peer = find_peer(found, gpu);
  told["gpu"] = gpu == nullptr ? nb::none() : nb::object(nb::str(gpu->address.c_str()));
  told["peer"] = peer == nullptr ? nb::none() : nb::object(nb::str(peer->address.c_str()));
  told["share_root"] = gpu != nullptr && peer != nullptr && pci::share_root(*gpu, *peer);
  return told;
}

Path path_named(const std::string& name) {
  if (name == "staged-host") return Path::StagedHost;
  if (name == "pinned-host") return Path::PinnedHost;
  if (name == "staged") return Path::Staged;
  if (name == "pinned-copy") return Path::PinnedCopy;
  if (name == "pinned-read") return Path::PinnedRead;
  if (name == "card-host") return Path::CardHost;
  if (name == "dma-buf") return Path::DmaBuf;
  if (name == "peermem") return Path::Peermem;
  throw nb::value_error(("there is no path " + name).c_str());
}

nb::dict run(const std::string& path, std::uint32_t channels, std::uint32_t block_bytes,
             double seconds, double msps) {
  IngestPlan plan{path_named(path), channels, block_bytes, seconds, msps, {}};
  if (plan.path == Path::CardHost || plan.path == Path::DmaBuf || plan.path == Path::Peermem)
    plan.card = card_of(look_around());
  IngestResult result;
  {
    nb::gil_scoped_release released;
    const cuda::Machine machine = cuda::look();
    try {
      result = measure(plan, machine.devices.empty() ? nullptr : &machine.devices[0]);
    } catch (const std::system_error& error) {
      result.error = error.what();
    }
  }
  nb::dict told;
  told["error"] = result.error;
  told["seconds"] = result.seconds;
  told["blocks"] = result.blocks;
  told["bytes"] = result.bytes;
  told["cpu_seconds"] = result.cpu_seconds;
  told["source_cpu_seconds"] = result.source_cpu_seconds;
  told["slots"] = result.slots;
  told["checked"] = result.checked;
  told["wrong"] = result.wrong;
  told["lost_samples"] = result.lost_samples;
  told["out_of_order"] = result.out_of_order;
  told["dropped"] = result.dropped;
  return told;
}

}  // namespace

void bind_ingest(nb::module_& core) {
  core.def(
      "link_limit",
      [](std::uint32_t generation, std::uint32_t lanes) {
        return pci::limit_mb_per_s({generation, lanes});
      },
      nb::arg("generation"), nb::arg("lanes"),
      "MB/s of payload that a PCI Express link carries in a direction: its rate less its coding, "
      "of "
      "that 85 %. 0: there is no such link.");
  core.def("ingest_surroundings", &around, nb::arg("root") = "/",
           nb::sig("def ingest_surroundings(root: str = '/') -> dict[str, typing.Any]"),
           "paths: name, ready, why not, what it needs; devices: GPUs and network cards with their "
           "links; gpu and peer: addresses of the first CUDA device and of the card nearest to it; "
           "share_root: whether both are below one root complex. sysfs is read below root.");
  core.def(
      "ingest_measure", &run, nb::arg("path"), nb::kw_only(), nb::arg("channels"),
      nb::arg("block_bytes"), nb::arg("seconds"), nb::arg("msps") = 0.0,
      nb::sig("def ingest_measure(path: str, *, channels: int, block_bytes: int, seconds: "
              "float, msps: float = 0.0) -> dict[str, typing.Any]"),
      "Moves known blocks along a path and checks them: staged-host, pinned-host and card-host "
      "end in this machine's memory; staged, pinned-copy, pinned-read, dma-buf and peermem in the "
      "first CUDA device. Raises "
      "ValueError on what cannot be. Does not hold the GIL.");
  core.def("ingest_descriptor_ns", &descriptor_ns, nb::call_guard<nb::gil_scoped_release>(),
           "ns of a core that a block's descriptor takes, whatever its size.");
}

}  // namespace carillon::bindings
