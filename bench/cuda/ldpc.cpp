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

struct DecoderCase {
  std::string name;
  LdpcCode code;
  std::uint32_t sent, iterations;
  bool early_stop;
};

// Nothing where the launch chooses.
std::string name_of(const phy::cuda::DecodeForm& form) {
  return form.team == 0 ? ""
                        : ", teams of " + std::to_string(form.team) + ", squads " +
                              std::to_string(form.squads);
}

void measure_decoder(GpuBench& bench, const DecoderCase& c, std::uint32_t count,
                     const phy::cuda::DecodeForm& form) {
  const std::vector<std::int8_t> one =
      received(c.code, c.sent, c.sent * 2 > c.code.length() ? kSigma : 0.4F);
  const DecodeOptions options = {
      .sent = c.sent, .max_iterations = c.iterations, .early_stop = c.early_stop};
  phy::cuda::DecodeTask task = phy::cuda::decode_task(c.code, options, count, form);
  std::vector<std::int8_t> all;
  for (std::uint32_t b = 0; b < count; ++b) all.insert(all.end(), one.begin(), one.end());
  const OnDevice<std::int8_t> soft(all);
  const OnDevice<std::uint8_t> info(std::size_t{count} * task.info_stride);
  const OnDevice<phy::DecodeResult> results(count);
  task.soft = soft.data();
  task.info = info.data();
  task.results = results.data();
  bench.time("decode " + c.name + name_of(form),
             "Z" + std::to_string(c.code.lifting) + " x" + std::to_string(count),
             decode_work(c.code, c.sent, c.early_stop ? kStopsAfter : c.iterations, count),
             [&](cuda::Stream stream) { return phy::cuda::decode(task, stream); });
}

// As a launch chooses, then in each form: what decode_task() should choose is to be read off.
void measure_decoder(GpuBench& bench, const DecoderCase& c, std::span<const std::uint32_t> counts) {
  for (const std::uint32_t count : counts) {
    measure_decoder(bench, c, count, {});
    for (const phy::cuda::DecodeForm& form : phy::cuda::kDecodeForms)
      measure_decoder(bench, c, count, form);
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

void measure_ldpc(GpuBench& bench) {
  constexpr std::uint32_t kBatches[] = {64, 512, 4096}, kLarge[] = {4096}, kSmall[] = {1024, 65536};
  // Users of a symbol; users × symbols.
  constexpr std::uint32_t kFrames[] = {16, 64, 128, 16 * 13, 32 * 12, 64 * 10, 128 * 13};
  const LdpcCode longest{1, 384}, frame{1, 104};
  measure_decoder(bench, {"R=1/3", longest, longest.length(), 5, false}, kBatches);
  measure_decoder(bench, {"R=8/9", longest, 99 * 384 / 4, 5, false}, kLarge);
  measure_decoder(bench, {"R=1/3", frame, frame.length(), 5, false}, kFrames);
  for (const std::uint32_t count : kFrames)
    measure_decoder(bench, {"R=1/3, may stop", frame, frame.length(), 8, true}, count, {});
  measure_decoder(bench, {"R=1/5", {2, 16}, 50 * 16, 5, false}, kSmall);
  measure_decoder(bench, {"R=1/5", {2, 7}, 50 * 7, 5, false}, kSmall);
  measure_encoder(bench, 104, 1, 16 * 13);
  measure_encoder(bench, 104, 1, 128 * 13);
  measure_encoder(bench, 384, 16, 64);
}

}  // namespace carillon::bench
