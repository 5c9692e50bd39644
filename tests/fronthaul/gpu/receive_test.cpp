// Whether samples can be received in a GPU's memory: every step that can be missing is told, and
// when none is, a card that stands for one receives.
#include "fronthaul/gpu/receive.hpp"

#include <cstdlib>
#include <fstream>

#include "fronthaul/gpu/interface.hpp"
#include "support/card_link.hpp"
#include "support/test.hpp"

namespace carillon::fronthaul::gpu {
namespace {

namespace fs = std::filesystem;

const Layout kLayout = test::small_layout();

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A sysfs in which the loopback interface is a card's.
class Sysfs {
 public:
  Sysfs() {
    std::string name = (fs::temp_directory_path() / "carillon-receive-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directories(folder() / "device/infiniband/fake_0");
    write("address", "02:00:00:00:00:07");
    write("mtu", "9000");
    write("dev_port", "1");
  }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;
  ~Sysfs() { fs::remove_all(root_); }

  void write(const char* file, const char* text) const {
    std::ofstream(folder() / file) << text << "\n";
  }
  fs::path folder() const { return root_ / "sys/class/net/lo"; }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

// All that is needed, of which tests take one thing away.
struct Bench {
  Bench() : link(test::udp_link(kLayout)) {
    test::fake_verbs().fresh();
    wanted = {"127.0.0.1",
              dynamic_cast<UdpTransport&>(*link.baseband).ports(),
              "127.0.0.2",
              9000,
              kLayout.most_packet_bytes(),
              400,
              1};
    cuda::Device gpu;
    gpu.address = "0000:3b:00.0";
    means.around.cuda.devices = {gpu};
    means.around.verbs.devices = {"fake_0"};
    means.around.verbs.library = CARILLON_FAKE_VERBS;
    pci::Device device, card;
    device.address = gpu.address;
    card.address = "0000:3c:00.0";
    device.root = card.root = "pci0000:3a";
    card.rdma = {"fake_0"};
    means.around.pci = {device, card};
    means.around.peermem = true;
    means.around.try_direct = [this](Path path, const cuda::Device*, const Card& card_tried) {
      tried.push_back(path);
      return card_tried.name == "fake_0" ? "" : "a wrong card";
    };
    means.root = sysfs.root();
    means.room = [](const cuda::Device&, std::size_t bytes, Export, std::string&) {
      return test::sample_room(bytes);
    };
  }
  std::string receive() { return receive_into_gpu(link.baseband, wanted, means); }

  Sysfs sysfs;
  Link link;
  Reception wanted;
  Means means;
  std::vector<Path> tried;
};

TEST(ReceiveIntoGpu, ItIsDoneWhereNothingIsMissing) {
  Bench bench;
  ASSERT_EQ(bench.receive(), "");
  EXPECT_TRUE(bench.tried == std::vector<Path>{Path::DmaBuf});
  ASSERT_FALSE(bench.link.baseband->received_memory().device.empty());
  auto to = test::kHere;
  to.port = bench.wanted.ports[0];
  const test::Bytes longest(9000 - kIpv4Bytes - kUdpBytes);
  EXPECT_TRUE(test::fake_verbs().come(test::frame_of(longest, to)));
  std::array<Received, 4> batch;
  std::size_t count = 0;
  for (int i = 0; i < 5 && count == 0; ++i) count = bench.link.baseband->receive(0, batch);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(batch[0].bytes, longest.size()) << "whatever fits the MTU has room";
}

TEST(ReceiveIntoGpu, TheModuleIsTheSecondWay) {
  Bench bench;
  bench.means.around.try_direct = [](Path path, const cuda::Device*, const Card&) {
    return path == Path::DmaBuf ? "registering: Operation not supported" : "";
  };
  EXPECT_EQ(bench.receive(), "");
  Bench without;
  without.means.around.try_direct = bench.means.around.try_direct;
  without.means.around.peermem = false;
  const std::string why = without.receive();
  EXPECT_TRUE(says(why,
                   "by dma-buf: registering: Operation not supported; by peermem: the module "
                   "nvidia-peermem is not loaded. It needs"))
      << why;
}

TEST(ReceiveIntoGpu, EachThingThatIsMissingIsTold) {
  struct {
    const char* part;
    void (*change)(Bench&);
    bool needs;
  } const cases[] = {
      {"no NVIDIA driver. It needs an NVIDIA GPU",
       [](Bench& b) {
         b.means.around.cuda = {};
         b.means.around.cuda.why = "no NVIDIA driver";
       },
       true},
      {"choose runtime.gpus 1",
       [](Bench& b) {
         b.wanted.gpus = 2;
         b.means.around.cuda.devices.push_back({});
       },
       false},
      {"no interface of this machine has the address 192.0.2.1",
       [](Bench& b) { b.wanted.address = "192.0.2.1"; }, true},
      {"the interface lo, which has the address 127.0.0.1, is not an RDMA card's own",
       [](Bench& b) { fs::remove_all(b.sysfs.folder() / "device"); }, true},
      {"does not tell the Ethernet address", [](Bench& b) { b.sysfs.write("mtu", ""); }, true},
      {"the MTU of lo, 600, and a card puts no fragments together; set it to 692",
       [](Bench& b) { b.sysfs.write("mtu", "600"); }, false},
      {"where the GPU is", [](Bench& b) { b.means.around.pci.erase(b.means.around.pci.begin()); },
       true},
      {"do not share a root complex", [](Bench& b) { b.means.around.pci[1].root = "pci0000:00"; },
       true},
      {"port 2 of fake_0 is not active", [](Bench&) { test::fake_verbs().card().active_ports = 0; },
       true},
      {"GPU memory for samples: out of it",
       [](Bench& b) {
         b.means.room = [](const cuda::Device&, std::size_t, Export, std::string& why) {
           why = "GPU memory for samples: out of it";
           return SampleRoom{};
         };
       },
       true},
      {"a rule of fake_0 for UDP port",
       [](Bench&) { test::fake_verbs().card().refuse_rule = true; }, true},
  };
  for (const auto& [part, change, needs] : cases) {
    Bench bench;
    change(bench);
    const std::string why = bench.receive();
    EXPECT_TRUE(says(why, part)) << "'" << why << "' is not: " << part;
    EXPECT_EQ(says(why, "CAP_NET_RAW"), needs) << why;
    ASSERT_NE(bench.link.baseband, nullptr);
    EXPECT_TRUE(bench.link.baseband->received_memory().device.empty()) << part;
    EXPECT_EQ(test::fake_verbs().card().alive, 0) << part;
  }
}

TEST(ReceiveIntoGpu, WithoutADeviceThereIsNoRoomOnIt) {
  if (!cuda::look().devices.empty()) GTEST_SKIP() << "there is one";
  std::string why;
  const SampleRoom room = make_device_room({}, 1000, Export::DmaBuf, why);
  EXPECT_TRUE(says(why, "GPU memory for samples: ")) << why;
  EXPECT_EQ(room.memory, nullptr);
}

TEST(ReceiveIntoGpu, AnInterfaceIsFoundByItsAddress) {
  const Sysfs sysfs;
  const Interface found = find_interface("127.0.0.1", sysfs.root());
  EXPECT_EQ(found.why, "");
  EXPECT_EQ(found.name, "lo");
  EXPECT_EQ(found.card, "fake_0");
  EXPECT_EQ(found.port, 2U) << "sysfs counts from 0";
  EXPECT_EQ(found.mtu, 9000U);
  EXPECT_TRUE(found.ethernet == test::kHere.ethernet);
  EXPECT_TRUE(says(find_interface("nowhere").why, "the address nowhere"));
}

}  // namespace
}  // namespace carillon::fronthaul::gpu
