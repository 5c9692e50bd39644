// What the host's thread does for an instruction on real GPUs, but for the driver's own calls:
// scheduler, policy and CudaExecutor over a driver that takes nothing and is done at once. Goal: 90
// % of the issues within 2 µs, of which `carillon-cuda-bench` measures the driver's part.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "frame/gpu/server.hpp"
#include "frame/large_cell.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;

class NoDriver final : public cuda::Driver {
 public:
  NoDriver(std::uint16_t devices, const cuda::DriverOptions& options)
      : words_(devices, std::vector<std::uint32_t>(options.words)) {}
  std::uint16_t devices() const override { return static_cast<std::uint16_t>(words_.size()); }
  cuda::Stream stream(std::uint16_t, std::uint32_t) const noexcept override { return nullptr; }
  cuda::Status use(std::uint16_t) noexcept override { return {}; }
  cuda::Status mark(std::uint16_t, std::uint32_t, std::uint32_t) noexcept override { return {}; }
  cuda::Status wait(std::uint16_t, std::uint32_t, std::uint32_t) noexcept override { return {}; }
  cuda::Status tell(std::uint16_t device, std::uint32_t, std::uint32_t word,
                    std::uint32_t value) noexcept override {
    words_[device][word] = value;
    return {};
  }
  cuda::Status await(std::uint16_t, std::uint32_t, std::uint16_t, std::uint32_t,
                     std::uint32_t) noexcept override {
    return {};
  }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    return words_[device][word];
  }
  void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept override {
    words_[device][word] = value;
  }
  cuda::Status answers(std::uint16_t) noexcept override { return {}; }
  cuda::Status revive(std::uint16_t) noexcept override { return {}; }

 private:
  std::vector<std::vector<std::uint32_t>> words_;  // [device]
};

// Addresses that nobody reads.
class NoPlace final : public GpuPlace, GpuMemory {
 public:
  GpuMemory& memory(std::uint16_t) override { return *this; }
  std::byte* host_room(std::size_t bytes) override { return static_cast<std::byte*>(room(bytes)); }
  void reach(std::span<std::byte>) override {}
  cuda::Status launch(const GpuTask&, cuda::Stream) noexcept override { return {}; }
  cuda::Status copy(const GpuPiece&, const GpuPiece&, std::uint16_t,
                    cuda::Stream) noexcept override {
    return {};
  }
  GpuOrders as_one(std::uint16_t, const GpuOrders&) override {
    return [](cuda::Stream) { return cuda::Status(); };
  }

 private:
  void* room(std::size_t bytes) override {
    next_ += (bytes + 255) / 256 * 256;
    return reinterpret_cast<void*>(next_ - (bytes + 255) / 256 * 256);
  }
  void write(void*, const void*, std::size_t) override {}
  std::uintptr_t next_ = 1 << 20;
};

GpuPool pool(std::uint16_t devices) {
  GpuPool pool;
  pool.devices = devices;
  pool.sms = 132;
  pool.driver = [devices](const cuda::DriverOptions& options) {
    return std::make_unique<NoDriver>(devices, options);
  };
  pool.place = [](cuda::Driver&) { return std::make_unique<NoPlace>(); };
  return pool;
}

// ns for an instruction: of the rounds in which symbols of all cells come, each its share, and of
// those after them.
void serve(GpuServer& server, std::uint16_t cells, std::uint64_t number, std::vector<double>& ns) {
  const Tick begun = now() - server.graph(0).graph[server.received(0).back()].release;
  for (std::uint16_t c = 0; c < cells; ++c) server.admit({number, c}, begun, now());
  const std::size_t symbols = server.received(0).size();
  const std::size_t instructions = server.graph(0).graph.size();
  std::uint32_t over = 0;
  const auto per_symbol = static_cast<double>(instructions * cells) / static_cast<double>(symbols);
  Tick start = now();
  for (std::size_t s = 0; over < cells; ++s) {
    for (std::uint16_t c = 0; c < cells && s < symbols; ++c)
      server.feed({c, server.board(c).slot(number)}, server.received(c)[s], now());
    server.step(now());
    std::array<runtime::FrameEvent, 64> events;
    for (std::uint16_t c = 0; c < cells; ++c)
      for (std::size_t e = server.poll(c, events); e-- > 0;) {
        if (events[e].kind != runtime::FrameEvent::Kind::Done) continue;
        server.release({c, events[e].slot});
        ++over;
      }
    if (s + 1 >= symbols && over < cells) continue;
    ns.push_back(static_cast<double>(now() - start) / per_symbol);
    start = now();
  }
}

void run(bench::Bench& bench) {
  constexpr std::uint64_t kFrames = 400;
  const Frame frame(bench::large_cell());
  for (const std::uint16_t cells : {std::uint16_t{1}, std::uint16_t{8}})
    for (const std::string_view policy : runtime::pool_policy_names()) {
      bench::Case mean{.kernel = "gpu issue, no driver",
                       .shape = "128x64, " + std::to_string(cells) +
                                (cells > 1 ? " cells" : " cell") + ", 1 GPU, " +
                                std::string(policy),
                       .per = "instruction"};
      bench::Case most = mean;
      most.kernel = "gpu issue, no driver, p90";
      if (!(bench.begin(mean) | bench.begin(most))) continue;
      std::vector<double> means, percentiles;
      for (int round = 0; round < 5; ++round) {
        GpuServer server(pool(1), {cells, {frame, kSecond}}, policy);
        std::vector<double> ns;
        for (std::uint64_t f = 0; f < kFrames / cells; ++f) serve(server, cells, f, ns);
        const auto [mean_ns, p90_ns] = bench::mean_and_p90(ns);
        means.push_back(mean_ns);
        percentiles.push_back(p90_ns);
      }
      if (bench.wants(mean.kernel, mean.shape)) bench.report(mean, bench::summary(means));
      if (bench.wants(most.kernel, most.shape)) bench.report(most, bench::summary(percentiles));
    }
}

const bench::Group group("frame/gpu", run);

}  // namespace
