// Code blocks decoded in batches from one per SM up; and the whole way from payloads to coded bits.
#include <cmath>
#include <random>
#include <span>
#include <variant>

#include "cuda/bench.hpp"
#include "phy/ldpc/cuda.hpp"
#include "phy/modulation.hpp"
#include "phy/transport/cuda.hpp"

namespace carillon::bench {
namespace {

using phy::DecodeOptions;
using phy::LdpcCode;

// The decoder's bound is that of integer arithmetic: 34 of the instructions for an edge of four
// checks (ldpc/cuda.inl) go to the integer unit, which takes 64 a cycle and SM. GpuWork knows
// flops: in the time of one such instruction there are four of them, or two on sm_80, whose SMs
// have half as many fp32 lanes.
constexpr double kInstructionsPerEdge = 34.0 / 4;

double flops_per_instruction() {
  const cuda::Device device = cuda::look().devices.at(0);
  return device.major == 8 && device.minor == 0 ? 2 : 4;
}

// Checks times edges, of which an extension row's own is none.
double edges(const phy::cuda::DecodeTask& task) {
  double sum = 0;
  for (std::uint32_t r = 0; r < task.row_end; ++r) sum += task.rows[r].degree;
  return sum * task.lifting;
}

// All blocks are the same one, BPSK over noise.
std::vector<std::int8_t> received(LdpcCode code, std::uint32_t sent, float sigma) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> info((code.info_bits() + 7) / 8), codeword((code.length() + 7) / 8);
  for (auto& each : info) each = static_cast<std::uint8_t>(random());
  if (code.info_bits() % 8 != 0) info.back() = 0;
  phy::LdpcScratch scratch;
  phy::ldpc_kernels().encode(code, info.data(), codeword.data(), scratch);
  std::normal_distribution<float> noise(0, sigma);
  std::vector<std::int8_t> soft(code.length());
  for (std::uint32_t n = 0; n < sent; ++n) {
    const float y =
        1.0F - 2.0F * static_cast<float>(codeword[n / 8] >> (n % 8) & 1) + noise(random);
    const float llr = std::nearbyint(phy::kLlrScale * 2.0F * y / (sigma * sigma));
    soft[n] = static_cast<std::int8_t>(std::fmax(-127.0F, std::fmin(127.0F, llr)));
  }
  return soft;
}

// With this noise on all bits of base graph 1 a decoder that may stop does so after so many
// iterations.
constexpr float kSigma = 0.95F;
constexpr std::uint32_t kStopsAfter = 6;

void measure_decoder(GpuBench& bench, const std::string& name, LdpcCode code, std::uint32_t sent,
                     std::span<const std::uint32_t> counts, std::uint32_t iterations,
                     bool early_stop) {
  const float sigma = sent * 2 > code.length() ? kSigma : 0.4F;
  const std::vector<std::int8_t> one = received(code, sent, sigma);
  for (const std::uint32_t count : counts) {
    const DecodeOptions options = {
        .sent = sent, .max_iterations = iterations, .early_stop = early_stop};
    phy::cuda::DecodeTask task = phy::cuda::decode_task(code, options, count);
    std::vector<std::int8_t> all;
    for (std::uint32_t b = 0; b < count; ++b) all.insert(all.end(), one.begin(), one.end());
    const OnDevice<std::int8_t> soft(all);
    const OnDevice<std::uint8_t> info(std::size_t{count} * task.info_stride);
    const OnDevice<phy::DecodeResult> results(count);
    task.soft = soft.data();
    task.info = info.data();
    task.results = results.data();
    const double done = early_stop ? kStopsAfter : iterations;
    const double instructions = kInstructionsPerEdge * edges(task) * done * count;
    bench.time(name, "Z" + std::to_string(code.lifting) + " x" + std::to_string(count),
               {.bytes = double(count) * double(sent + task.info_stride),
                .flops = instructions * flops_per_instruction(),
                .bits = double(count) * code.info_bits()},
               [&](cuda::Stream stream) { return phy::cuda::decode(task, stream); });
  }
}

// Transport blocks of `blocks` code blocks. Bound: its bytes.
void measure_encoder(GpuBench& bench, std::uint16_t lifting, std::uint32_t blocks,
                     std::uint32_t count) {
  phy::Coding coding;
  coding.modulation = phy::Modulation::Qam64;
  coding.base_graph = 1;
  coding.lifting = lifting;
  const std::uint32_t re_count = 11 * lifting * blocks + 1;
  const auto made = phy::TransportPlan::make(coding, re_count);
  const auto* const plan = std::get_if<phy::TransportPlan>(&made);
  if (plan == nullptr) return;
  const std::string shape = "Z" + std::to_string(lifting) + " x" + std::to_string(count * blocks);

  phy::cuda::EncodeTask out = phy::cuda::encode_task(*plan);
  out.count = count;
  const OnDevice<std::uint8_t> payload(count * out.payload_stride);
  const OnDevice<std::uint32_t> coded(count * out.coded_stride);
  out.payload = payload.data();
  out.coded = coded.data();
  bench.time("encode", shape,
             {.bytes = count * (double(out.payload_stride) + 4.0 * double(out.coded_stride)),
              .bits = double(count) * plan->A()},
             [&](cuda::Stream stream) { return phy::cuda::encode(out, stream); });

  phy::cuda::DesegmentTask in{};
  in.plan = out.plan;
  in.count = count;
  in.info_block = (plan->K() + 7) / 8;
  in.info_stride = in.info_block * plan->C();
  const OnDevice<std::uint8_t> infos(count * in.info_stride), good(count);
  in.info = infos.data();
  in.payload = payload.data();
  in.payload_stride = out.payload_stride;
  in.good = good.data();
  in.good_stride = 1;
  bench.time("desegment", shape,
             {.bytes = count * double(in.info_stride + in.payload_stride),
              .bits = double(count) * plan->A()},
             [&](cuda::Stream stream) { return phy::cuda::desegment(in, stream); });
}

}  // namespace

double decode_bound(const GpuBench& bench, LdpcCode code) {
  const auto task = phy::cuda::decode_task(code, {.sent = code.length()}, 1);
  return bench.bound({.flops = kInstructionsPerEdge * edges(task) * 5 * flops_per_instruction()});
}

void measure_ldpc(GpuBench& bench) {
  constexpr std::uint32_t kBatches[] = {64, 512, 4096}, kLarge[] = {4096}, kSmall[] = {1024, 65536};
  constexpr std::uint32_t kFrames[] = {16 * 13, 32 * 12, 64 * 10, 128 * 13};  // users × symbols
  const LdpcCode longest{1, 384}, frame{1, 104};
  measure_decoder(bench, "decode R=1/3", longest, longest.length(), kBatches, 5, false);
  measure_decoder(bench, "decode R=8/9", longest, 99 * 384 / 4, kLarge, 5, false);
  measure_decoder(bench, "decode R=1/3", frame, frame.length(), kFrames, 5, false);
  measure_decoder(bench, "decode R=1/3, may stop", frame, frame.length(), kFrames, 8, true);
  measure_decoder(bench, "decode R=1/5", {2, 16}, 50 * 16, kSmall, 5, false);
  measure_decoder(bench, "decode R=1/5", {2, 7}, 50 * 7, kSmall, 5, false);
  measure_encoder(bench, 104, 1, 16 * 13);
  measure_encoder(bench, 104, 1, 128 * 13);
  measure_encoder(bench, 384, 16, 64);
}

}  // namespace carillon::bench
