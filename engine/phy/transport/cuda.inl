// A thread block encodes one code block, whose information, columns and parity all lie in shared
// memory (12 KB for the longest): payload bytes come in once and coded words go out once. The block
// that holds the transport block's parity computes it, from the whole payload. One thread block
// puts a transport block together again.
#pragma once

#include "phy/crc/cuda.inl"
#include "phy/ldpc/cuda_encode.inl"
#include "phy/transport/cuda.hpp"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kEncodeThreads = 128, kDesegmentThreads = 256;

/// Bits n … n+31 of `bits` packed ones, MSB first, the first highest; zeros past the last byte.
CARILLON_GPU inline std::uint32_t packed_bits(const std::uint8_t* from, std::uint32_t bits,
                                              std::uint32_t n) {
  const std::uint32_t bytes = (bits + 7) / 8;
  std::uint64_t word = 0;
  for (std::uint32_t k = 0; k < 5; ++k)
    word = word << 8 | (n / 8 + k < bytes ? from[n / 8 + k] : 0U);
  return static_cast<std::uint32_t>(word >> (8 - n % 8));
}

/// The same for n a multiple of 8.
CARILLON_GPU inline std::uint32_t packed_bytes(const std::uint8_t* from, std::uint32_t bits,
                                               std::uint32_t n) {
  const std::uint32_t bytes = (bits + 7) / 8;
  std::uint32_t word = 0;
  for (std::uint32_t k = 0; k < 4; ++k)
    word = word << 8 | (n / 8 + k < bytes ? from[n / 8 + k] : 0U);
  return word;
}

/// The first `count` bits of a word, which are its highest.
CARILLON_GPU inline std::uint32_t leading(std::uint32_t word, std::uint32_t count) {
  return count == 0 ? 0 : count >= 32 ? word : word & ~0U << (32 - count);
}

/// Bits n … n+31, the first highest, of `width` parity bits that stand from bit `at` on.
CARILLON_GPU inline std::uint32_t parity_bits(std::uint32_t parity, std::uint32_t width,
                                              std::uint32_t at, std::uint32_t n) {
  if (width == 0 || n + 32 <= at || at + width <= n) return 0;
  const std::uint32_t word = parity << (32 - width);
  return at >= n ? word >> (at - n) : word << (n - at);
}

CARILLON_BOTH constexpr std::uint32_t encode_info_words(const TransportView& plan) {
  return bit_words(plan.K) + 1;
}
CARILLON_BOTH constexpr std::uint32_t encode_shared_bytes(const EncodeTask& task) {
  return (encode_info_words(task.plan) + kEncodeThreads + encode_words(task.table)) * 4;
}

template <typename Cta>
class BlockEncoder {
 public:
  CARILLON_GPU BlockEncoder(Cta& cta, const EncodeTask& task)
      : cta_(cta),
        plan_(task.plan),
        payload_(task.payload + cta.y() * task.payload_stride),
        coded_(task.coded + cta.y() * task.coded_stride + cta.x() * task.coded_block),
        info_(cta.template shared<std::uint32_t>()),
        sums_(info_ + encode_info_words(task.plan)),
        encoder_(cta, task.table, sums_ + kEncodeThreads) {}

  CARILLON_GPU void run() {
    segment();
    encoder_.run(info_);
    select(plan_.select[cta_.x() >= plan_.larger ? 1 : 0]);
  }

 private:
  CARILLON_GPU void segment() {
    const std::uint32_t first = cta_.x() * plan_.block_bits, own = plan_.block_bits;
    const bool last = first + own > plan_.A;  // some of it is the transport block's parity
    if (last && plan_.transport_crc.width != 0)
      crc_registers(
          cta_, plan_.transport_crc, 1, sums_, [](std::uint32_t) { return true; },
          [&](std::uint32_t, std::uint32_t n) { return packed_bytes(payload_, plan_.A, n); });
    cta_.each(encode_info_words(plan_), [&](std::uint32_t i) {
      const std::uint32_t n = i * 32;
      std::uint32_t word = 0;
      if (n < own && first + n < plan_.A)
        word = leading(packed_bits(payload_, plan_.A, first + n), plan_.A - (first + n));
      if (last && plan_.transport_crc.width != 0)
        word |= parity_bits(crc_parity(plan_.transport_crc, sums_[0]), plan_.transport_crc.width,
                            plan_.A, first + n);
      info_[i] = simt::reverse_bits(n < own ? leading(word, own - n) : 0);
    });
    if (plan_.block_crc.width == 0) return;
    crc_registers(
        cta_, plan_.block_crc, 1, sums_, [](std::uint32_t) { return true; },
        [&](std::uint32_t, std::uint32_t n) { return simt::reverse_bits(info_[n / 32]); });
    cta_.each(2, [&](std::uint32_t i) {
      const std::uint32_t word = own / 32 + i;
      if (word < encode_info_words(plan_))
        info_[word] |= simt::reverse_bits(parity_bits(crc_parity(plan_.block_crc, sums_[0]),
                                                      plan_.block_crc.width, own, word * 32));
    });
  }

  /// 32 coded bits by each thread: runs of the circular buffer's pieces.
  CARILLON_GPU void select(const SelectView& map) {
    cta_.each(bit_words(map.E), [&](std::uint32_t i) {
      const std::uint32_t wanted = map.E - i * 32 < 32 ? map.E - i * 32 : 32;
      std::uint32_t word = 0, e = i * 32 % map.lap, p = 0;
      for (std::uint32_t filled = 0; filled < wanted;) {
        while (p < map.piece_count && e >= map.pieces[p].e + map.pieces[p].count) ++p;
        if (p == map.piece_count) {
          e = p = 0;
          continue;
        }
        const std::uint32_t into = e - map.pieces[p].e;
        std::uint32_t count = wanted - filled;
        if (count > map.pieces[p].count - into) count = map.pieces[p].count - into;
        const std::uint32_t bits = encoder_.coded(map.pieces[p].d + into, count);
        word |= (count == 32 ? bits : bits & ((1U << count) - 1)) << filled;
        filled += count;
        e += count;
      }
      coded_[i] = word;
    });
  }

  Cta& cta_;
  const TransportView& plan_;
  const std::uint8_t* payload_;
  std::uint32_t* coded_;
  std::uint32_t *info_, *sums_;  // the first bit lowest
  Encoder<Cta> encoder_;
};

template <typename Cta>
CARILLON_GPU void encode_block(Cta& cta, const EncodeTask& task) {
  BlockEncoder<Cta>(cta, task).run();
}

/// Eight bits of payload and parity from bit n on, the first highest, from the code blocks that
/// hold them; zeros past the last.
CARILLON_GPU inline std::uint32_t joined_bits(const DesegmentTask& task, const std::uint8_t* info,
                                              std::uint32_t n) {
  const TransportView& plan = task.plan;
  std::uint32_t result = 0;
  for (std::uint32_t filled = 0; filled < 8;) {
    const std::uint32_t r = (n + filled) / plan.block_bits, at = (n + filled) % plan.block_bits;
    if (r >= plan.C) break;
    const std::uint32_t left = plan.block_bits - at;
    const std::uint32_t count = left < 8 - filled ? left : 8 - filled;
    const std::uint32_t word = leading(packed_bits(info + r * task.info_block, plan.K, at), count);
    result |= word >> (24 + filled);
    filled += count;
  }
  return result;
}

template <typename Cta>
CARILLON_GPU void desegment_block(Cta& cta, const DesegmentTask& task) {
  const TransportView& plan = task.plan;
  const std::uint8_t* const info = task.info + cta.x() * task.info_stride;
  std::uint8_t* const payload = task.payload + cta.x() * task.payload_stride;
  std::uint32_t* const sums = cta.template shared<std::uint32_t>();
  cta.each((plan.A + 7) / 8, [&](std::uint32_t i) {
    const std::uint32_t left = plan.A - i * 8, spare = left < 8 ? 8 - left : 0;
    payload[i] = static_cast<std::uint8_t>(joined_bits(task, info, i * 8) >> spare << spare);
  });
  if (plan.transport_crc.width != 0)
    crc_registers(
        cta, plan.transport_crc, 1, sums, [](std::uint32_t) { return true; },
        [&](std::uint32_t, std::uint32_t n) { return packed_bytes(payload, plan.A, n); });
  cta.each(1, [&](std::uint32_t) {
    std::uint32_t received = 0;
    for (std::uint32_t i = 0; i < plan.transport_crc.width; i += 8)
      received = received << 8 | joined_bits(task, info, plan.A + i);
    const bool good =
        plan.transport_crc.width == 0 || received == crc_parity(plan.transport_crc, sums[0]);
    task.good[cta.x() * task.good_stride] = good ? 1 : 0;
  });
}

}  // namespace carillon::phy::cuda
