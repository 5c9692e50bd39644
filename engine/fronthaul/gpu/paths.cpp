#include "fronthaul/gpu/paths.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

namespace carillon::fronthaul::gpu {

namespace fs = std::filesystem;

namespace {

constexpr char kNeedsGpu[] =
    "an NVIDIA GPU of compute capability 8.0 (A100) or newer with driver 580 or newer";
constexpr char kNeedsDmaBuf[] =
    "that GPU with the open kernel modules (nvidia-open), Linux 5.12 or newer, a ConnectX-5 or "
    "newer "
    "NIC below the same root complex, and rdma-core 34 or newer";
constexpr char kNeedsPeermem[] =
    "that GPU and NIC with the module nvidia-peermem loaded (modprobe nvidia-peermem)";
constexpr char kNeedsCard[] =
    "a network card with RDMA verbs (RoCE or InfiniBand) whose port is up, and rdma-core "
    "(apt install libibverbs1 ibverbs-providers)";
constexpr char kNeedsGpudev[] =
    "a receiver through DPDK's gpudev, which Carillon does not have: nothing that can be installed "
    "enables this path; dma-buf is the same way into the same memory. A receiver would need that "
    "GPU and NIC with DPDK 21.11 or newer built where CUDA's headers are, for its driver "
    "librte_gpu_cuda";

// DPDK's drivers lie in LIB/dpdk/pmds-VERSION or LIB/ARCHITECTURE/dpdk/pmds-VERSION.
bool has_gpudev(const fs::path& root) {
  const auto drivers_in = [](const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder / "dpdk", error), end; !error && at != end;
         at.increment(error)) {
      std::error_code inner;
      for (fs::directory_iterator file(at->path(), inner); !inner && file != end;
           file.increment(inner))
        if (file->path().filename().string().starts_with("librte_gpu_cuda.so")) return true;
    }
    return false;
  };
  return std::ranges::any_of(
      std::initializer_list<const char*>{"usr/lib", "usr/lib64", "usr/local/lib", "usr/local/lib64",
                                         "usr/lib/x86_64-linux-gnu",
                                         "usr/local/lib/x86_64-linux-gnu"},
      [&](const char* folder) { return drivers_in(root / folder); });
}

// Whether anything of it is there, so that nobody looks for why what is installed is not used.
std::string dpdk_of(const Surroundings& around) {
  return around.gpudev ? "; its driver for CUDA is installed here and not used" : "";
}

}  // namespace

std::string needs_of_direct() {
  return std::string(kNeedsGpu) + ": " + kNeedsDmaBuf + "; or " + kNeedsPeermem;
}

std::string direct_lacks(const Surroundings& around, const pci::Device* gpu,
                         const pci::Device* card) {
  if (around.cuda.devices.empty()) return around.cuda.why;
  if (around.verbs.devices.empty()) return around.verbs.why;
  if (gpu == nullptr) return "sysfs does not show where the GPU is";
  if (card == nullptr) return "sysfs shows no network device that has RDMA verbs";
  if (!pci::share_root(*gpu, *card))
    return card->rdma[0] + " (" + card->address + ", " + card->root + ") and the GPU (" +
           gpu->address + ", " + gpu->root + ") do not share a root complex";
  return "";
}

Surroundings look_around(const fs::path& root, const std::string& library) {
  Surroundings around;
  around.cuda = cuda::look();
  around.pci = pci::devices(root);
  around.verbs = look_for_verbs(library);
  std::error_code error;
  around.peermem = fs::exists(root / "sys/module/nvidia_peermem", error);
  around.gpudev = has_gpudev(root);
  around.try_direct = try_direct;
  return around;
}

std::string try_direct(Path path, const cuda::Device* device, const Card& card) {
  IngestPlan plan;
  plan.path = path;
  plan.block_bytes = 4096;
  plan.seconds = 0;
  plan.card = card;
  try {
    const IngestResult result = measure(plan, device);
    if (!result.error.empty()) return result.error;
    if (result.wrong == 0) return {};
    return std::to_string(result.wrong) + " of " + std::to_string(result.checked) +
           " blocks through " + card.name + " arrived damaged";
  } catch (const std::exception& error) {
    return error.what();
  }
}

const pci::Device* find_gpu(const Surroundings& around) {
  if (around.cuda.devices.empty()) return nullptr;
  const std::string& address = around.cuda.devices[0].address;
  const auto found = std::ranges::find(around.pci, address, &pci::Device::address);
  return found == around.pci.end() ? nullptr : &*found;
}

const pci::Device* find_peer(const Surroundings& around, const pci::Device* gpu) {
  const pci::Device* best = nullptr;
  for (const pci::Device& device : around.pci) {
    if (device.rdma.empty()) continue;
    const bool near = gpu != nullptr && pci::share_root(device, *gpu);
    if (best == nullptr || (near && !pci::share_root(*best, *gpu))) best = &device;
  }
  return best;
}

Card card_of(const Surroundings& around) {
  Card card;
  card.library = around.verbs.library;
  const pci::Device* const peer = find_peer(around, find_gpu(around));
  if (peer != nullptr)
    card.name = peer->rdma[0];
  else if (!around.verbs.devices.empty())
    card.name = around.verbs.devices[0];
  return card;
}

std::vector<PathState> paths_of(const Surroundings& around) {
  std::vector<PathState> paths;
  const bool device = !around.cuda.devices.empty();
  for (const char* const name : {"staged", "pinned-copy", "pinned-read"})
    paths.push_back({name, device, around.cuda.why, kNeedsGpu});

  const pci::Device* const gpu = find_gpu(around);
  const pci::Device* const peer = find_peer(around, gpu);
  const std::string lacks = direct_lacks(around, gpu, peer);
  const Card card = card_of(around);
  const auto add = [&](const char* name, Path path, const std::string& missing, const char* needs) {
    const cuda::Device* const to = path == Path::CardHost ? nullptr : around.cuda.devices.data();
    const std::string why = missing.empty() ? around.try_direct(path, to, card) : missing;
    paths.push_back({name, why.empty(), why, needs});
  };
  add("card-host", Path::CardHost, around.verbs.why, kNeedsCard);
  add("dma-buf", Path::DmaBuf, lacks, kNeedsDmaBuf);
  add("peermem", Path::Peermem,
      lacks.empty() && !around.peermem ? "the module nvidia-peermem is not loaded" : lacks,
      kNeedsPeermem);
  paths.push_back(
      {"gpudev", false, "Carillon has no receiver through DPDK" + dpdk_of(around), kNeedsGpudev});
  return paths;
}

}  // namespace carillon::fronthaul::gpu
