// Each path that a machine lacks, with the first thing that is missing.
#include "fronthaul/gpu/paths.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul::gpu;

pci::Device device(const std::string& address, const std::string& root, std::uint32_t kind,
                   std::vector<std::string> rdma = {}) {
  pci::Device made;
  made.address = address;
  made.root = root;
  made.kind = kind;
  made.rdma = std::move(rdma);
  made.path = {{address, {4, 16}, {4, 16}}};
  return made;
}

// A server with all that direct paths need, of which tests take one thing away.
Surroundings complete() {
  Surroundings around;
  cuda::Device gpu;
  gpu.name = "GPU";
  gpu.address = "0000:3b:00.0";
  around.cuda.devices = {gpu};
  around.pci = {device("0000:01:00.0", "pci0000:00", 0x020000, {"mlx5_9"}),
                device("0000:3b:00.0", "pci0000:3a", 0x030200),
                device("0000:3c:00.0", "pci0000:3a", 0x020000, {"mlx5_0"})};
  around.verbs.devices = {"mlx5_0", "mlx5_9"};
  around.peermem = true;
  around.try_direct = [](Path, const cuda::Device*, const Card& card) {
    return card.name == "mlx5_0" ? std::string() : "wrong card " + card.name;
  };
  return around;
}

PathState path(const Surroundings& around, const std::string& name) {
  for (const PathState& each : paths_of(around))
    if (each.name == name) return each;
  return {};
}

bool says(const PathState& state, const std::string& part) {
  return !state.ready && state.why.find(part) != std::string::npos;
}

TEST(IngestPaths, WithoutAGpuEveryPathSaysSoAndWhatItNeeds) {
  Surroundings around = complete();
  around.cuda.devices.clear();
  around.cuda.why = "no NVIDIA driver";
  const auto all = paths_of(around);
  EXPECT_EQ(all.size(), 7U);
  for (const PathState& each : all) {
    EXPECT_FALSE(each.needs.empty()) << each.name;
    if (each.name == "card-host" || each.name == "gpudev") continue;  // no GPU would help
    EXPECT_TRUE(says(each, "no NVIDIA driver")) << each.name << ": " << each.why;
    EXPECT_FALSE(each.needs.empty()) << each.name;
  }
}

TEST(IngestPaths, AGpuIsEnoughForThoseOverRegisteredMemory) {
  Surroundings around = complete();
  around.verbs.devices.clear();
  around.verbs.why = "no libibverbs.so.1";
  for (const char* const name : {"staged", "pinned-copy", "pinned-read"})
    EXPECT_TRUE(path(around, name).ready) << name;
  for (const char* const name : {"card-host", "dma-buf", "peermem"})
    EXPECT_TRUE(says(path(around, name), "no libibverbs")) << name;
}

TEST(IngestPaths, ThePeerIsTheCardBelowTheGpusRootComplex) {
  const Surroundings around = complete();
  const pci::Device* const gpu = find_gpu(around);
  ASSERT_TRUE(gpu != nullptr);
  EXPECT_EQ(gpu->address, "0000:3b:00.0");
  EXPECT_EQ(find_peer(around, gpu)->address, "0000:3c:00.0");
  EXPECT_EQ(card_of(around).name, "mlx5_0");
  for (const char* const name : {"card-host", "dma-buf", "peermem"})
    EXPECT_TRUE(path(around, name).ready) << path(around, name).why;
}

TEST(IngestPaths, ACardBelowAnotherRootComplexIsNoPeer) {
  Surroundings around = complete();
  around.pci.pop_back();
  const PathState state = path(around, "dma-buf");
  EXPECT_TRUE(says(state, "do not share a root complex")) << state.why;
  EXPECT_TRUE(says(state, "pci0000:00")) << state.why;
  EXPECT_TRUE(says(state, "pci0000:3a")) << state.why;
}

TEST(IngestPaths, TheFirstThingMissingIsNamed) {
  Surroundings around = complete();
  around.peermem = false;
  EXPECT_TRUE(says(path(around, "peermem"), "nvidia-peermem is not loaded"));
  around.try_direct = [](Path, const cuda::Device*, const Card&) {
    return "registering GPU memory: Operation not supported";
  };
  EXPECT_TRUE(says(path(around, "dma-buf"), "Operation not supported"));
  around.pci.erase(around.pci.begin() + 1);
  EXPECT_TRUE(says(path(around, "dma-buf"), "where the GPU is"));
  around.pci.clear();
  around.pci = {device("0000:3b:00.0", "pci0000:3a", 0x030200)};
  EXPECT_TRUE(says(path(around, "dma-buf"), "no network device"));
}

TEST(IngestPaths, WhatNothingInstalledWouldEnableSaysSo) {
  Surroundings around = complete();
  EXPECT_TRUE(says(path(around, "gpudev"), "no receiver through DPDK"));
  EXPECT_NE(path(around, "gpudev").needs.find("nothing that can be installed"), std::string::npos);
  around.gpudev = true;
  EXPECT_TRUE(says(path(around, "gpudev"), "installed here and not used"));
}

TEST(IngestPaths, AModuleAndDpdksDriverAreFoundByTheirFiles) {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "carillon-paths-XXXXXX").string();
  const fs::path root = ::mkdtemp(name.data());
  const fs::path drivers = root / "usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0";
  fs::create_directories(root / "sys/module/nvidia_peermem");
  fs::create_directories(drivers);
  std::ofstream(drivers / "librte_net_mlx5.so.23");
  Surroundings around = look_around(root);
  EXPECT_TRUE(around.peermem);
  EXPECT_FALSE(around.gpudev);
  std::ofstream(drivers / "librte_gpu_cuda.so.23");
  around = look_around(root);
  EXPECT_TRUE(around.gpudev);
  fs::remove_all(root);
}

TEST(IngestPaths, ThisMachineIsLookedAtWithoutHarm) {
  const Surroundings around = look_around("/nowhere/at/all");
  EXPECT_TRUE(around.pci.empty());
  EXPECT_FALSE(around.peermem);
  EXPECT_FALSE(around.gpudev);
  for (const PathState& each : paths_of(around)) EXPECT_TRUE(each.ready != !each.why.empty());
  EXPECT_TRUE(around.verbs.devices.empty() != around.verbs.why.empty());
  EXPECT_FALSE(try_direct(Path::CardHost, nullptr, {"no_such_card"}).empty());
}

}  // namespace
