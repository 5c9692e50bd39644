// Links and their limits, over trees of files that look like sysfs.
#include "base/pci.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/test.hpp"

namespace {

using namespace carillon;
namespace fs = std::filesystem;

// A machine below a folder, gone with it.
class Tree {
 public:
  Tree() {
    std::string name = (fs::temp_directory_path() / "carillon-pci-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "sys/bus/pci/devices");
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { fs::remove_all(root_); }

  const fs::path& root() const { return root_; }
  /// A device or port at pci0000:00/…, with its link.
  fs::path add(const std::string& place, const std::string& speed, const std::string& width,
               const std::string& kind = "0x060400", const std::string& vendor = "0x8086") {
    const fs::path folder = root_ / "sys/devices" / place;
    fs::create_directories(folder);
    write(folder / "current_link_speed", speed);
    write(folder / "current_link_width", width);
    write(folder / "max_link_speed", "32.0 GT/s PCIe");
    write(folder / "max_link_width", "16");
    write(folder / "class", kind);
    write(folder / "vendor", vendor);
    write(folder / "device", "0x2330");
    fs::create_symlink(fs::path("../../../devices") / place,
                       root_ / "sys/bus/pci/devices" / folder.filename());
    return folder;
  }

 private:
  static void write(const fs::path& file, const std::string& text) {
    std::ofstream(file) << text << "\n";
  }
  fs::path root_;
};

constexpr char kGpu[] = "0x030200", kNic[] = "0x020000";

const pci::Device& at(const std::vector<pci::Device>& all, const std::string& address) {
  for (const pci::Device& device : all)
    if (device.address == address) return device;
  throw std::runtime_error("no " + address);
}

TEST(Pci, TheSlidesLinkCarries1700MegabytesPerSecond) {
  EXPECT_NEAR(pci::limit_mb_per_s({2, 4}), 1700, 1e-9);
}

TEST(Pci, EveryGenerationDoublesTheOneBeforeButForItsCoding) {
  EXPECT_NEAR(pci::limit_mb_per_s({1, 1}), 212.5, 1e-9);
  EXPECT_NEAR(pci::limit_mb_per_s({3, 8}), 64e3 * 128 / 130 * 0.85 / 8, 1e-9);  // 6695
  EXPECT_NEAR(pci::limit_mb_per_s({4, 16}), 2 * pci::limit_mb_per_s({3, 16}), 1e-9);
  EXPECT_NEAR(pci::limit_mb_per_s({5, 16}), 53563, 1);
  EXPECT_NEAR(pci::limit_mb_per_s({6, 1}), 64e3 * 236 / 256 * 0.85 / 8, 1e-9);
}

TEST(Pci, OfALinkThatIsNotToldNothingIsForetold) {
  EXPECT_EQ(pci::limit_mb_per_s({0, 4}), 0);
  EXPECT_EQ(pci::limit_mb_per_s({3, 0}), 0);
  EXPECT_EQ(pci::limit_mb_per_s({7, 4}), 0);
}

TEST(Pci, SpeedsAreReadAsLinuxWritesThem) {
  const char* const speeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s",       "8.0 GT/s PCIe",
                                "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(pci::generation_of(speeds[i]), i + 1);
  for (const char* const none : {"", "Unknown", "Unknown speed", "2.55 GT/s", "5"})
    EXPECT_EQ(pci::generation_of(none), 0U) << none;
}

TEST(Pci, AMachineWithoutSysfsHasNoDevices) {
  EXPECT_TRUE(pci::devices("/nowhere/at/all").empty());
}

TEST(Pci, ADevicesPathLeadsFromItsRootComplexOverEveryPort) {
  Tree tree;
  tree.add("pci0000:3a/0000:3a:00.0", "16.0 GT/s PCIe", "16");
  const fs::path gpu =
      tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "8.0 GT/s PCIe", "8", kGpu, "0x10de");
  fs::create_directories(gpu / "infiniband/mlx5_0");
  fs::create_directories(tree.root() / "sys/bus/pci/drivers/nvidia");
  fs::create_symlink("../../../../bus/pci/drivers/nvidia", gpu / "driver");
  const auto all = pci::devices(tree.root());
  EXPECT_EQ(all.size(), 2U);
  const pci::Device& device = at(all, "0000:3b:00.0");
  EXPECT_EQ(device.root, "pci0000:3a");
  ASSERT_EQ(device.path.size(), 2U);
  EXPECT_EQ(device.path[0].address, "0000:3a:00.0");
  EXPECT_TRUE((device.path[1].now == pci::Link{3, 8}));
  EXPECT_TRUE((device.path[1].most == pci::Link{5, 16}));
  EXPECT_EQ(device.driver, "nvidia");
  EXPECT_EQ(device.rdma.size(), 1U);
  EXPECT_TRUE(pci::is_gpu(device));
  EXPECT_FALSE(pci::is_network(device));
  EXPECT_TRUE(at(all, "0000:3a:00.0").driver.empty());
}

TEST(Pci, AWideDeviceBehindANarrowPortHasThePortsLimit) {
  Tree tree;
  tree.add("pci0000:00/0000:00:01.0", "5.0 GT/s PCIe", "4");
  tree.add("pci0000:00/0000:00:01.0/0000:01:00.0", "16.0 GT/s PCIe", "16", kGpu, "0x10de");
  const auto all = pci::devices(tree.root());
  EXPECT_NEAR(pci::limit_mb_per_s(pci::narrowest(at(all, "0000:01:00.0"))), 1700, 1e-9);
}

TEST(Pci, WhatTellsNoLinkDoesNotNarrowOne) {
  Tree tree;
  tree.add("pci0000:00/0000:00:01.0", "Unknown", "255");
  tree.add("pci0000:00/0000:00:01.0/0000:01:00.0", "8.0 GT/s PCIe", "8", kGpu, "0x10de");
  tree.add("pci0000:00/0000:00:02.0", "Unknown", "0");
  const auto all = pci::devices(tree.root());
  EXPECT_TRUE((pci::narrowest(at(all, "0000:01:00.0")) == pci::Link{3, 8}));
  EXPECT_FALSE(pci::narrowest(at(all, "0000:00:02.0")).known());
}

TEST(Pci, BelowASwitchPeersDoNotUseTheLinkAboveIt) {
  Tree tree;
  const std::string port = "pci0000:10/0000:10:01.0", up = port + "/0000:11:00.0";
  tree.add(port, "8.0 GT/s PCIe", "4");
  tree.add(up, "8.0 GT/s PCIe", "4");
  tree.add(up + "/0000:12:00.0", "16.0 GT/s PCIe", "16");
  tree.add(up + "/0000:12:00.0/0000:13:00.0", "16.0 GT/s PCIe", "16", kGpu, "0x10de");
  tree.add(up + "/0000:12:01.0", "16.0 GT/s PCIe", "8");
  tree.add(up + "/0000:12:01.0/0000:14:00.0", "16.0 GT/s PCIe", "8", kNic, "0x15b3");
  const auto all = pci::devices(tree.root());
  const pci::Device &gpu = at(all, "0000:13:00.0"), &nic = at(all, "0000:14:00.0");
  EXPECT_TRUE(pci::share_root(gpu, nic));
  EXPECT_TRUE(pci::is_network(nic));
  EXPECT_TRUE((pci::narrowest(nic, gpu) == pci::Link{4, 8}));
  EXPECT_TRUE((pci::narrowest(gpu) == pci::Link{3, 4}));
}

TEST(Pci, PeersOfTwoRootComplexesAreToldApart) {
  Tree tree;
  tree.add("pci0000:10/0000:10:01.0", "16.0 GT/s PCIe", "16", kGpu, "0x10de");
  tree.add("pci0000:20/0000:20:01.0", "8.0 GT/s PCIe", "8", kNic, "0x15b3");
  const auto all = pci::devices(tree.root());
  const pci::Device &gpu = at(all, "0000:10:01.0"), &nic = at(all, "0000:20:01.0");
  EXPECT_FALSE(pci::share_root(gpu, nic));
  EXPECT_TRUE((pci::narrowest(nic, gpu) == pci::Link{3, 8}));
  EXPECT_FALSE(pci::share_root(pci::Device{}, pci::Device{}));
}

}  // namespace
