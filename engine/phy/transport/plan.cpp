// The arithmetic of a transport block: sizes, segmentation, rate matching.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "phy/transport/transport.hpp"

namespace carillon::phy {
namespace {

// Above this share of information bits among the coded bits a receiver need not even try (38.214
// 5.1.3); parity would run out soon after.
constexpr double kMaxEffectiveRate = 0.95;

// 38.212 5.4.2.1 table 5.4.2.1-2, in units of Z of a full buffer.
constexpr std::uint32_t kStart[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};

std::uint32_t info_columns(std::uint8_t base_graph) { return LdpcCode{base_graph}.info_columns(); }

// K_cb of 38.212 5.2.2.
std::uint32_t max_block_bits(std::uint8_t base_graph) {
  return info_columns(base_graph) * kMaxLifting;
}

// K_b of 38.212 5.2.2.
std::uint32_t used_columns(std::uint8_t base_graph, std::uint32_t B) {
  if (base_graph == 1) return 22;
  return B > 640 ? 10 : B > 560 ? 9 : B > 192 ? 8 : 6;
}

Crc transport_crc_for(const Coding& coding, std::uint32_t A) {
  return !coding.crc ? Crc::None : A > 3824 ? Crc::Crc24A : Crc::Crc16;
}

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

std::string text(const char* format, auto... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// [begin, end) without the fillers, as pieces that go on from the last.
void append(SoftMap& map, std::uint32_t begin, std::uint32_t end, std::uint32_t filler_begin,
            std::uint32_t filler_end) {
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    if (from >= to) return;
    if (map.lap < map.E)
      map.pieces[map.piece_count++] = {map.lap, std::min(to - from, map.E - map.lap), from};
    map.lap += to - from;
  };
  add(begin, std::min(end, filler_begin));
  add(std::max(begin, filler_end), end);
}

}  // namespace

struct TransportPlanner {
  const Coding& coding;
  std::uint32_t re_count;
  std::optional<std::uint32_t> tbs;
  TransportPlan plan{};
  std::uint32_t blocks = 0;
  std::optional<CodingError> error{};

  std::uint32_t coded_bits() const { return re_count * bits_per_symbol(coding.modulation); }
  // The tolerance keeps a rate such as 1/3, rounded to a double, from losing a bit.
  std::uint32_t wanted_bits() const {
    return static_cast<std::uint32_t>(coding.rate * coded_bits() + 1e-6);
  }
  void fail(const char* key, std::string message) { error = CodingError{key, std::move(message)}; }

  void check_settings() {
    if (!(coding.rate > 0 && coding.rate <= kMaxEffectiveRate))
      return fail("rate",
                  text("%g is out of range: above 0, at most %g", coding.rate, kMaxEffectiveRate));
    if (coding.base_graph > 2)
      return fail("base_graph", text("%d is not 1, 2 or 0 (automatic)", int{coding.base_graph}));
    if (coding.lifting != 0 && !is_lifting_size(coding.lifting)) {
      const auto above = std::ranges::lower_bound(kLiftingSizes, coding.lifting);
      const int low = above == kLiftingSizes.begin() ? *above : *(above - 1);
      const int high = above == kLiftingSizes.end() ? low : *above;
      return fail("lifting", text("%d is not a lifting size of TS 38.212 (2 to 384); the nearest "
                                  "are %d and %d, 0 means automatic",
                                  int{coding.lifting}, low, high));
    }
    if (coding.redundancy_version > 3)
      return fail("redundancy_version",
                  text("%d is out of range: 0 to 3", int{coding.redundancy_version}));
    if (!(coding.buffer_limit > 0 && coding.buffer_limit <= 1))
      return fail("buffer_limit",
                  text("%g is out of range: above 0, at most 1", coding.buffer_limit));
    if (re_count == 0 || re_count > 4'000'000)
      return fail("resource_elements", text("%u is out of range: 1 to 4000000", re_count));
    if (tbs && *tbs == 0) return fail("tbs", "0 is out of range: at least 1 bit");
  }

  // Sets A and its CRC, the code and the number of blocks, but not K'.
  void size_standard() {
    std::uint32_t A = tbs          ? *tbs
                      : coding.crc ? transport_block_bits(re_count, coding.modulation, coding.rate)
                                   : wanted_bits();
    plan.code_.base_graph =
        coding.base_graph != 0 ? coding.base_graph : choose_base_graph(A, coding.rate);
    const std::uint32_t limit = max_block_bits(plan.code_.base_graph);
    // Without a CRC no rule makes the size divisible by the number of blocks.
    if (!coding.crc && !tbs)
      while (A % (8 * std::max(1U, divide_up(A, limit))) != 0) --A;
    set_payload(A, limit);
    if (error) return;
    const std::uint32_t columns = used_columns(plan.code_.base_graph, plan.B());
    plan.code_.lifting = *std::ranges::lower_bound(kLiftingSizes, divide_up(plan.Kprime_, columns));
  }

  // Full code blocks of the given lifting size, as many as the rate allows.
  void size_forced() {
    plan.code_.base_graph = coding.base_graph != 0
                                ? coding.base_graph
                                : choose_base_graph(tbs.value_or(wanted_bits()), coding.rate);
    plan.code_.lifting = coding.lifting;
    const std::uint32_t K = plan.K();
    if (tbs) return set_payload(*tbs, K);
    const std::uint32_t count = wanted_bits() / K;
    if (count == 0)
      return fail("lifting",
                  text("%d makes code blocks of %u bits, but %u coded bits at rate %g carry %u; at "
                       "most %d for base graph %d",
                       int{coding.lifting}, K, coded_bits(), coding.rate, wanted_bits(),
                       int{largest_lifting(plan.code_.base_graph, wanted_bits())},
                       int{plan.code_.base_graph}));
    const std::uint32_t block_overhead = coding.crc && count > 1 ? 24 : 0;
    if (K <= block_overhead) return fail("lifting", too_small_for_crc());
    const std::uint32_t B = count * (K - block_overhead);
    std::uint32_t parity = 0;
    if (coding.crc) parity = B > 3824 + 24 ? 24 : 16;
    if (B <= parity) return fail("lifting", too_small_for_crc());
    std::uint32_t A = B - parity;
    // 38.212 has no CRC for B = 3841…3848: the nearest size below.
    if (parity == 16 && A > 3824) A = (3824 + 16) / count * count - 16;
    set_payload(A, K);
  }

  std::string too_small_for_crc() const {
    return text("%d makes code blocks of %u bits, too few for their CRC; choose a larger one",
                int{plan.code_.lifting}, plan.K());
  }

  // 38.212 5.2.2 with code blocks of at most `limit` bits.
  void set_payload(std::uint32_t A, std::uint32_t limit) {
    plan.A_ = A;
    if (A == 0)
      return fail("rate", text("%u coded bits at rate %g carry no payload; take a higher rate or "
                               "allot more resource elements",
                               coded_bits(), coding.rate));
    plan.transport_crc_ = transport_crc_for(coding, A);
    const std::uint32_t B = plan.B();
    blocks = 1;
    std::uint32_t block_parity = 0;
    if (B > limit) {
      plan.block_crc_ = coding.crc ? Crc::Crc24B : Crc::None;
      block_parity = crc_bits(plan.block_crc_);
      if (limit <= block_parity) return fail("lifting", too_small_for_crc());
      blocks = divide_up(B, limit - block_parity);
    }
    if (B % blocks != 0)
      return fail("tbs", text("%u bits do not divide into %u code blocks; the next that do are %u "
                              "and %u",
                              A, blocks, A - B % blocks, A + blocks - B % blocks));
    plan.Kprime_ = B / blocks + block_parity;
  }

  void check_parity() {
    const std::uint64_t info = std::uint64_t{blocks} * plan.Kprime_;
    const double most = kMaxEffectiveRate * coded_bits();
    if (static_cast<double>(info) > most)
      return fail(tbs ? "tbs" : "rate",
                  text("%u payload bits make %llu information bits with their CRCs, but %u coded "
                       "bits leave parity for at most %u (rate %g); take %s or allot more "
                       "resource elements",
                       plan.A_, static_cast<unsigned long long>(info), coded_bits(),
                       static_cast<unsigned>(most), kMaxEffectiveRate,
                       tbs ? "fewer bits" : "a lower rate"));
    // 5.4.2.1: what is not in the limited buffer is never sent.
    plan.Ncb_ = static_cast<std::uint32_t>(coding.buffer_limit * plan.N() + 1e-6);
    const double least = plan.Kprime_ / kMaxEffectiveRate + plan.fillers();
    if (plan.Ncb_ < least)
      return fail("buffer_limit", text("%g keeps %u of %u coded bits, too few for %u information "
                                       "bits; at least %.3f",
                                       coding.buffer_limit, plan.Ncb_, plan.N(), plan.Kprime_,
                                       least / plan.N() + 5e-4));
  }

  void make_blocks() {
    const std::uint32_t larger = re_count % blocks;
    std::uint32_t first_re = 0;
    plan.soft_bytes_ = plan.N();
    for (std::uint32_t r = 0; r < blocks; ++r) {
      CodeBlock block;
      block.first_re = first_re;
      block.re_count = re_count / blocks + (r >= blocks - larger ? 1 : 0);
      block.E = block.re_count * plan.Qm();
      block.map = match_rate(plan.code_, plan.fillers(), plan.Ncb_, coding.redundancy_version,
                             plan.Qm(), block.E);
      block.last_position = 0;
      for (std::uint32_t p = 0; p < block.map.piece_count; ++p) {
        const SoftPiece& piece = block.map.pieces[p];
        block.last_position = std::max(block.last_position, piece.d + piece.count);
      }
      first_re += block.re_count;
      if (!block.map.direct) plan.soft_bytes_ = std::max(plan.soft_bytes_, block.E);
      plan.blocks_.push_back(block);
    }
  }

  std::variant<TransportPlan, CodingError> make() {
    check_settings();
    plan.modulation_ = coding.modulation;
    plan.re_count_ = re_count;
    if (!error) coding.lifting != 0 ? size_forced() : size_standard();
    if (!error) check_parity();
    if (error) return *error;
    make_blocks();
    return std::move(plan);
  }
};

std::variant<TransportPlan, CodingError> TransportPlan::make(const Coding& coding,
                                                             std::uint32_t re_count,
                                                             std::optional<std::uint32_t> tbs) {
  return TransportPlanner{coding, re_count, tbs}.make();
}

SoftMap match_rate(LdpcCode code, std::uint32_t fillers, std::uint32_t Ncb,
                   std::uint32_t redundancy_version, std::uint32_t Qm, std::uint32_t E) noexcept {
  SoftMap map;
  map.E = E;
  map.N = code.length();
  map.Ncb = Ncb;
  map.bits = static_cast<std::uint8_t>(Qm);
  map.plane_stride = E / Qm;
  const std::uint32_t Z = code.lifting;
  const std::uint32_t start =
      kStart[code.base_graph - 1][redundancy_version] * Ncb / code.length() * Z;
  const std::uint32_t filler_end = code.info_bits() - 2 * Z;
  const std::uint32_t filler_begin = filler_end - std::min(fillers, filler_end);
  append(map, start, Ncb, filler_begin, filler_end);
  append(map, 0, start, filler_begin, filler_end);
  map.direct = E <= map.lap;
  return map;
}

std::uint8_t choose_base_graph(std::uint32_t A, double rate) noexcept {
  return A <= 292 || (A <= 3824 && rate <= 0.67) || rate <= 0.25 ? 2 : 1;
}

std::uint16_t largest_lifting(std::uint8_t base_graph, std::uint32_t info_bits) noexcept {
  std::uint16_t largest = 0;
  for (const std::uint16_t size : kLiftingSizes)
    if (info_columns(base_graph) * size <= info_bits) largest = size;
  return largest;
}

}  // namespace carillon::phy
