// Whole frames, kernels back to back: in as few launches as the stages allow, and symbol by symbol
// as they come from the air.
#include <cmath>
#include <random>
#include <utility>

#include "cuda/frames.hpp"

namespace carillon::bench {
namespace {

using frame::GpuTask;
using frame::Op;
using frame::SymbolKind;

constexpr FrameShape kShapes[] = {{64, 16}, {128, 32}, {128, 64}, {256, 128}};

frame::FrameFormat format_of(const FrameShape& shape, char kind) {
  frame::FrameFormat f;
  f.antennas = shape.antennas;
  f.users = shape.users;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1200;
  f.pilots = {.kind = frame::PilotKind::Comb, .comb = 16};
  const std::uint32_t pilots = (shape.users + 15) / 16;
  f.schedule = std::string(pilots, 'P') + std::string(14 - pilots, kind);
  f.deadlines.precoder_age = 1;
  for (frame::Coding* coding : {&f.uplink, &f.downlink}) {
    coding->block = frame::BlockSpan::Symbol;
    coding->modulation = frame::ModulationChoice::Qam64;
    coding->base_graph = 1;
    coding->lifting = 104;
    coding->iterations = 5;
    coding->early_stop = false;
  }
  return f;
}

std::uint32_t count_of(const frame::Frame& frame, SymbolKind kind) {
  return static_cast<std::uint32_t>(frame.symbols_of(kind).size());
}

void add(std::vector<GpuTask>& all, const std::vector<GpuTask>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Symbols of a kind, one by one or all at once.
void add(std::vector<std::vector<GpuTask>>& parts, const frame::Frame& frame,
         const frame::GpuFrame& gpu, SymbolKind kind, std::initializer_list<Op> ops,
         bool by_symbol) {
  const std::uint32_t count = count_of(frame, kind), step = by_symbol ? 1 : count;
  for (std::uint32_t first = 0; first < count; first += step) {
    std::vector<GpuTask>& part = parts.emplace_back();
    for (const Op op : ops) add(part, gpu.tasks(op, first, step));
  }
}

// What every stage at its own bound comes to: the transforms and their samples, the combiners, the
// products, and for uplinks the decoder's arithmetic as in cuda/ldpc.cpp.
double bound_of(const GpuBench& bench, const frame::Frame& frame) {
  const auto& f = frame.format();
  const double m = f.antennas, k = f.users, subcarriers = f.numerology.subcarriers;
  const double pilots = count_of(frame, SymbolKind::Pilot);
  const double up = count_of(frame, SymbolKind::Uplink), down = 14 - pilots - up;
  const double size = f.numerology.fft_size, groups = std::ceil(subcarriers / 16);
  const auto transforms = [&](double symbols, double bytes) {
    return bench.bound({.bytes = symbols * m * (4 * size + bytes * subcarriers),
                        .flops = symbols * m * 5 * size * std::log2(size)});
  };
  const auto products = [&](double symbols, double bytes) {
    return bench.bound(
        {.bytes = symbols * subcarriers * bytes, .half_flops = symbols * subcarriers * 8 * m * k});
  };
  const double csi = groups * m * k * 8;
  double sum =
      transforms(pilots, 8) + bench.bound({.bytes = pilots * m * subcarriers * 8 + csi}) +
      bench.bound({.bytes = 2 * csi,
                   .flops = groups * 8 * (m * k * (k + 1) / 2 + k * k * k / 2 + m * k * k)});
  const phy::LdpcCode code{1, 104};
  sum += transforms(up, 4) + products(up, 4 * m + 6 * k) +
         bench.bound(decode_work(code, code.length(), 5, up * k));
  sum += transforms(down, 8) + products(down, 8 * m + 0.75 * k);
  return sum;
}

void measure(GpuBench& bench, const FrameShape& shape, char kind) {
  const DeviceFrame frame(shape, kind);
  for (const bool by_symbol : {false, true}) {
    std::vector<GpuTask> tasks = frame.tasks(by_symbol);
    const std::string launches = ", " + std::to_string(tasks.size()) + " launches";
    bench.time_chain(name_of(kind, by_symbol), name_of(shape) + launches, frame.bound(bench),
                     enqueue(std::move(tasks)));
  }
}

}  // namespace

DeviceFrame::DeviceFrame(const FrameShape& shape, char kind)
    : frame_(format_of(shape, kind)), gpu_(frame_, memory_) {
  std::mt19937 random(1);
  std::vector<std::int16_t> noise(std::size_t{2} * frame_.most_samples());
  for (auto& each : noise) each = static_cast<std::int16_t>(random() % 8192);
  for (std::uint32_t s = 0; s < frame_.symbols().size(); ++s)
    for (std::uint32_t a = 0; a < shape.antennas; ++a)
      memory_.write(gpu_.samples(s, a), noise.data(), std::size_t{frame_.symbol(s).samples} * 4);
}

std::vector<GpuTask> DeviceFrame::tasks(bool by_symbol) const {
  std::vector<GpuTask> all;
  for (const std::vector<GpuTask>& part : parts(by_symbol)) add(all, part);
  return all;
}

std::vector<std::vector<GpuTask>> DeviceFrame::parts(bool by_symbol) const {
  std::vector<std::vector<GpuTask>> all;
  add(all, frame_, gpu_, SymbolKind::Pilot, {Op::PilotFft}, by_symbol);
  add(all.back(), gpu_.tasks(Op::ZeroForce, 0, 1));
  add(all, frame_, gpu_, SymbolKind::Uplink,
      {Op::UplinkFft, Op::EqualizeDemodulate, Op::Decode, Op::Store}, by_symbol);
  add(all, frame_, gpu_, SymbolKind::Downlink, {Op::Encode, Op::Precode, Op::Ifft}, by_symbol);
  return all;
}

double DeviceFrame::bound(const GpuBench& bench) const { return bound_of(bench, frame_); }

std::string name_of(char kind, bool by_symbol) {
  return std::string(kind == 'U' ? "uplink" : "downlink") + " frame" +
         (by_symbol ? " by symbol" : "");
}

std::string name_of(const FrameShape& shape) {
  return std::to_string(shape.antennas) + "x" + std::to_string(shape.users);
}

Enqueue enqueue(std::vector<GpuTask> tasks) {
  return [tasks = std::move(tasks)](cuda::Stream stream) {
    for (const GpuTask& task : tasks)
      if (const cuda::Status status = frame::launch(task, stream); !status.ok()) return status;
    return cuda::Status();
  };
}

void measure_frame(GpuBench& bench) {
  for (const char kind : {'U', 'D'})
    for (const FrameShape& shape : kShapes) measure(bench, shape, kind);
}

}  // namespace carillon::bench
