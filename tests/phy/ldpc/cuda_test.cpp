// The decoder against the CPU's, bit by bit; ldpc_test.cpp holds that one against references.
#include "phy/ldpc/cuda.hpp"

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "phy/ldpc/cuda.inl"
#include "phy/modulation.hpp"
#include "support/base_graph_table.hpp"
#include "support/place.hpp"
#include "support/watched.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using test::Place;

using Bytes = std::vector<std::uint8_t>;
using Soft = std::vector<std::int8_t>;

constexpr auto kDecode = [](auto& cta, const DecodeTask& task) { decode_block(cta, task); };

std::vector<LdpcCode> all_codes() {
  std::vector<LdpcCode> codes;
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}})
    for (const std::uint16_t z : kLiftingSizes) codes.push_back({graph, z});
  return codes;
}

// Random information that ends in its CRC, then fillers.
Bytes checked_info(LdpcCode code, std::uint32_t fillers, Crc kind, std::mt19937& random) {
  Bytes info((code.info_bits() + 7) / 8);
  const std::uint32_t bits = crc_bits(kind), first = code.info_bits() - fillers - bits;
  const auto put = [&](std::uint32_t n, std::uint32_t bit) {
    info[n / 8] = static_cast<std::uint8_t>(info[n / 8] | (bit & 1) << (7 - n % 8));
  };
  for (std::uint32_t n = 0; n < first; ++n) put(n, static_cast<std::uint32_t>(random()));
  const std::uint32_t parity = crc(kind, info.data(), first);
  for (std::uint32_t n = 0; n < bits; ++n) put(first + n, parity >> (bits - 1 - n));
  return info;
}

// A code block over white noise; places from `sent` on and fillers are zero.
Soft received(LdpcCode code, const Bytes& info, std::uint32_t fillers, std::uint32_t sent,
              float sigma, std::mt19937& random) {
  LdpcScratch scratch;
  Bytes codeword((code.length() + 7) / 8);
  ldpc_kernels().encode(code, info.data(), codeword.data(), scratch);
  std::normal_distribution<float> noise(0, sigma);
  const std::uint32_t known = code.info_bits() - fillers - 2U * code.lifting;
  Soft soft(code.length());
  for (std::uint32_t n = 0; n < sent; ++n) {
    if (n >= known && n < known + fillers) continue;
    const float y =
        1.0F - 2.0F * static_cast<float>(codeword[n / 8] >> (n % 8) & 1) + noise(random);
    const float llr = std::nearbyint(kLlrScale * 2.0F * y / (sigma * sigma));
    soft[n] = static_cast<std::int8_t>(std::fmax(-127.0F, std::fmin(127.0F, llr)));
  }
  return soft;
}

// What became of blocks: iterations, and of how many which check held.
struct Outcomes {
  std::map<std::uint32_t, std::uint32_t> after;
  std::uint32_t parity = 0, crc = 0, neither = 0;
};

// What decode_blocks() of frame/receive.cpp calls good.
bool believable(const Soft& soft, const Bytes& info, const DecodeResult& result, Crc crc) {
  if (!(crc == Crc::None ? result.parity : result.crc)) return false;
  const auto is_zero = [](auto each) { return each == 0; };
  if (!std::all_of(info.begin(), info.end(), is_zero)) return true;
  return result.parity && !std::all_of(soft.begin(), soft.end(), is_zero);
}

// Decodes blocks on the device and, one by one, on the CPU.
void compare(Place& place, LdpcCode code, const DecodeOptions& options,
             const std::vector<Soft>& blocks, bool listed, DecodeForm form, Outcomes& outcomes) {
  const auto count = static_cast<std::uint32_t>(blocks.size());
  DecodeTask task = decode_task(code, options, count, form);
  const std::size_t soft_stride = code.length() + 3;  // nothing is aligned
  Soft soft(soft_stride * count);
  for (std::uint32_t b = 0; b < count; ++b)
    std::copy(blocks[b].begin(), blocks[b].end(), &soft[soft_stride * b]);
  const std::int8_t* const at = place.put(soft);
  if (listed) {
    std::vector<const std::int8_t*> list(count);
    for (std::uint32_t b = 0; b < count; ++b) list[b] = at + soft_stride * b;
    task.soft_list = place.put(list);
  } else {
    task.soft = at;
    task.soft_stride = soft_stride;
  }
  const std::size_t bytes = (code.info_bits() + 7) / 8;
  task.info_stride = bytes + 1;
  std::uint8_t* const decided = place.put(Bytes(task.info_stride * count, 0xee));
  if (listed) {
    std::vector<std::uint8_t*> list(count);
    for (std::uint32_t b = 0; b < count; ++b) list[b] = decided + task.info_stride * b;
    task.info_list = place.put(list);
  } else {
    task.info = decided;
  }
  task.results = place.room<DecodeResult>(count);
  const std::uint32_t payload_bits = code.info_bits() - 5;
  std::uint8_t* const payloads = place.put(Bytes(bytes * count, 0xee));
  if (listed) {
    std::vector<std::uint8_t*> list(count);
    for (std::uint32_t b = 0; b < count; ++b) list[b] = payloads + bytes * b;
    task.payload_list = place.put(list);
    task.payload_bits = payload_bits;
  }
  task.judged = place.room<std::uint8_t>(count);
  place.run(task, kDecode, decode);
  const Bytes judged = place.get(task.judged, count), handed = place.get(payloads, bytes * count);
  const Bytes info = place.get(decided, task.info_stride * count);
  const std::vector<DecodeResult> results = place.get(task.results, count);

  LdpcScratch scratch;
  for (std::uint32_t b = 0; b < count; ++b) {
    Bytes expected(bytes);
    DecodeBlock block{blocks[b].data(), expected.data()};
    ldpc_kernels().decode(code, {&block, 1}, options, scratch);
    const Bytes found(&info[task.info_stride * b], &info[task.info_stride * b] + bytes);
    EXPECT_TRUE(found == expected && results[b].iterations == block.result.iterations &&
                results[b].parity == block.result.parity && results[b].crc == block.result.crc)
        << "BG" << int{code.base_graph} << " Z=" << code.lifting << " block " << b << " of "
        << count << ": " << results[b].iterations << results[b].parity << results[b].crc << ", not "
        << block.result.iterations << block.result.parity << block.result.crc;
    EXPECT_EQ(int{info[task.info_stride * b + bytes]}, 0xee);
    EXPECT_EQ(judged[b] != 0, believable(blocks[b], expected, block.result, options.crc));
    if (listed) {
      Bytes payload(expected.begin(), expected.begin() + (payload_bits + 7) / 8);
      if (payload_bits % 8 != 0)
        payload.back() = static_cast<std::uint8_t>(payload.back() & 0xff00 >> payload_bits % 8);
      EXPECT_TRUE(std::equal(payload.begin(), payload.end(), &handed[bytes * b]));
      EXPECT_TRUE(payload.size() == bytes || handed[bytes * b + payload.size()] == 0xee);
    }
    ++outcomes.after[results[b].iterations];
    outcomes.parity += results[b].parity;
    outcomes.crc += results[b].crc;
    outcomes.neither += !results[b].parity && !results[b].crc;
  }
}

// In every form that a launch may choose, and those that it reduces them to.
void compare(Place& place, LdpcCode code, const DecodeOptions& options,
             const std::vector<Soft>& blocks, bool listed, Outcomes& outcomes) {
  for (const DecodeForm& form : kDecodeForms)
    compare(place, code, options, blocks, listed, form, outcomes);
}

// How many blocks make two thread blocks, the second one partly filled; few of the large ones.
std::uint32_t blocks_of(LdpcCode code) {
  return code.lifting >= 208 ? 1 : code.lifting >= 64 ? 2 : code.lifting % 4 != 0 ? 5 : 3;
}

GPU_TEST(CudaLdpc, DecodesEverySizeAsTheCpuDoes) {
  std::mt19937 random(1);
  Outcomes outcomes;
  unsigned place_of_code = 0;
  for (const LdpcCode code : all_codes()) {
    if (test::left_out(place_of_code++)) continue;
    for (std::uint32_t which = 0; which < 4; ++which) {
      const std::uint32_t fillers = which == 2 ? 0 : code.lifting + code.lifting / 3;
      const std::uint32_t sent = which == 0   ? code.length()
                                 : which == 1 ? code.length() - 13U * code.lifting / 2
                                              : code.length() / 2 + 1;
      std::vector<Soft> blocks;
      for (std::uint32_t b = 0; b < blocks_of(code); ++b)
        blocks.push_back(received(code, checked_info(code, fillers, Crc::Crc16, random), fillers,
                                  sent, 0.3F + 0.2F * static_cast<float>((which + b) % 4), random));
      DecodeOptions options = {.fillers = fillers, .sent = sent, .max_iterations = 4};
      options.crc = which % 2 == 0 ? Crc::None : Crc::Crc16;
      options.crc_span = code.info_bits() - fillers;
      options.early_stop = which != 1;
      compare(place, code, options, blocks, which == 3, outcomes);
    }
  }
  // Otherwise it says nothing of blocks that stop and of those that fail.
  for (std::uint32_t i = 1; i <= 4; ++i) EXPECT_GT(outcomes.after[i], 5U) << i;
  EXPECT_GT(outcomes.parity, 50U);
  EXPECT_GT(outcomes.crc, 50U);
  EXPECT_GT(outcomes.neither, 50U);
}

// So many that thread blocks have several groups and the last is partly filled.
GPU_TEST(CudaLdpc, BlocksThatShareThreadsAreDecodedAsIfEachWereAlone) {
  std::mt19937 random(2);
  Outcomes outcomes;
  for (const LdpcCode code : {LdpcCode{1, 2}, LdpcCode{2, 3}, LdpcCode{2, 4}, LdpcCode{1, 8},
                              LdpcCode{2, 30}, LdpcCode{2, 52}}) {
    const std::uint32_t fillers = code.lifting / 2, sent = code.length() - code.lifting / 2;
    const std::uint32_t count = code.lifting < 30 ? 150 : 22;
    std::vector<Soft> blocks;
    for (std::uint32_t b = 0; b < count; ++b) {
      blocks.push_back(received(code, checked_info(code, fillers, Crc::Crc16, random), fillers,
                                sent, 0.4F + 0.2F * static_cast<float>(b % 5), random));
      if (b == 3)
        for (std::uint32_t n = 30U * code.lifting; n < sent; ++n) blocks[b][n] = 0;
      if (b == 4) blocks[b].assign(code.length(), 0);
    }
    DecodeOptions options = {.fillers = fillers, .sent = sent, .max_iterations = 6};
    options.crc = Crc::Crc16;
    options.crc_span = code.info_bits() - fillers;
    compare(place, code, options, blocks, false, outcomes);
  }
  for (std::uint32_t i = 1; i <= 6; ++i) EXPECT_GT(outcomes.after[i], 3U) << i;
}

// Any bytes at all, -128 too, and none but the largest.
GPU_TEST(CudaLdpc, SaturatesAsTheCpuDoes) {
  std::mt19937 random(3);
  Outcomes outcomes;
  for (const LdpcCode code : {LdpcCode{1, 7}, LdpcCode{1, 36}, LdpcCode{2, 15}, LdpcCode{2, 80}}) {
    std::vector<Soft> blocks(8, Soft(code.length()));  // the last: nothing was received
    for (auto& value : blocks[0]) value = static_cast<std::int8_t>(random());
    for (auto& value : blocks[1]) value = random() % 2 == 0 ? -128 : 127;
    for (auto& value : blocks[2]) value = random() % 64 == 0 ? 100 : -128;
    for (auto& value : blocks[3]) value = -128;
    for (auto& value : blocks[4]) value = static_cast<std::int8_t>(random() % 5 * 31);
    for (auto& value : blocks[5]) value = static_cast<std::int8_t>(random() % 7) - 3;
    for (auto& value : blocks[6]) value = 90;  // zeros were sent
    for (const bool early_stop : {false, true})
      for (const Crc crc : {Crc::None, Crc::Crc16}) {
        DecodeOptions options = {.max_iterations = 7, .early_stop = early_stop};
        options.crc = crc;
        options.crc_span = code.info_bits();
        compare(place, code, options, blocks, false, outcomes);
      }
  }
}

GPU_TEST(CudaLdpc, HighRatesAndEveryChoiceOfOptions) {
  std::mt19937 random(4);
  Outcomes outcomes;
  for (const LdpcCode code : {LdpcCode{1, 104}, LdpcCode{2, 22}, LdpcCode{1, 384}}) {
    const std::uint32_t z = code.lifting, k = code.info_bits();
    for (const std::uint32_t sent : {k + z, k + 3 * z + 1, 0U})
      for (const std::uint32_t fillers : {0U, k - 2 * z, k - z / 2}) {
        if (z == 384 && (sent == 0 || fillers != 0)) continue;
        const std::uint32_t kept = std::min(fillers, k - 3 * z);
        const Bytes info = checked_info(code, kept, Crc::Crc24A, random);
        const std::vector<Soft> blocks(
            2, received(code, info, kept, std::min(sent, code.length()), 0.45F, random));
        DecodeOptions options = {.fillers = fillers, .sent = sent, .max_iterations = 4};
        options.crc = Crc::Crc24A;
        for (const std::uint32_t span : {k - kept, 24U, 0U}) {
          options.crc_span = span;
          compare(place, code, options, blocks, true, outcomes);
        }
      }
  }
}

// Some bits of each block are right, the others were not received: those of too few iterations,
// those that no check gives, those that a wrong bit contradicts, or many, and those with about as
// many weak bits as are peeled at most. A block's gaps are its own.
GPU_TEST(CudaLdpc, FindsOutWhatWasNotReceivedAsTheCpuDoes) {
  std::mt19937 random(6);
  Outcomes outcomes;
  for (const LdpcCode code : {LdpcCode{1, 2}, LdpcCode{2, 7}, LdpcCode{2, 24}, LdpcCode{1, 52},
                              LdpcCode{2, 104}, LdpcCode{1, 208}}) {
    const std::uint32_t fillers = code.lifting / 2, count = code.lifting < 30 ? 70 : 9;
    std::vector<Soft> blocks;
    for (std::uint32_t b = 0; b < count; ++b) {
      const Bytes info = checked_info(code, fillers, Crc::Crc16, random);
      Soft soft = received(code, info, fillers, code.length(), 0.01F, random);
      for (auto& value : soft)
        if (random() % 100 < 20 + 8 * (b % 10)) value = 0;
      if (b % 7 == 3) soft[random() % soft.size()] = 99;
      if (b % 7 == 5)
        for (auto& value : soft)
          if (random() % 2 != 0) value = static_cast<std::int8_t>(-value);
      std::uint32_t weak = b % 7 == 6 ? kMostWeak - 2 + b % 5 : 0;
      for (auto& value : soft)
        if (value != 0 && weak != 0) {
          value = static_cast<std::int8_t>(value < 0 ? -1 : kWeak);
          --weak;
        }
      blocks.push_back(std::move(soft));
    }
    for (const Crc crc : {Crc::None, Crc::Crc16}) {
      DecodeOptions options = {.fillers = fillers, .max_iterations = crc == Crc::None ? 1U : 3U};
      options.crc = crc;
      options.crc_span = code.info_bits() - fillers;
      compare(place, code, options, blocks, code.lifting % 4 == 0, outcomes);
    }
  }
  EXPECT_GT(outcomes.parity, 100U);
  EXPECT_GT(outcomes.neither, 100U);
}

TEST(CudaLdpc, FlagsOfARowHavePlacesOfTheirOwnAboveItsMagnitudes) {
  for (std::uint32_t degree = 2; degree <= kMaxDegree; ++degree) {
    std::vector<std::uint32_t> words(record_words(degree));
    words[0] = words[1] = 0x1f;
    for (std::uint32_t flag = 0; flag < 2 * degree; ++flag) {
      EXPECT_LT(flag_word(flag), words.size());
      EXPECT_LT(flag_bit(flag), 8U);
      EXPECT_EQ(words.at(flag_word(flag)) >> flag_bit(flag) & 1, 0U);
      words.at(flag_word(flag)) |= 1U << flag_bit(flag);
    }
    EXPECT_NE(words.back(), 0U);
  }
}

TEST(CudaLdpc, EveryBatchOfEveryCodeFitsADevice) {
  for (const LdpcCode code : all_codes())
    for (const std::uint32_t count : {1U, 5U, 30U, 208U, 700U, 3000U, 100000U})
      for (const DecodeForm form : {DecodeForm{}, {1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 1}, {4, 2}}) {
        const DecodeTask task = decode_task(code, {}, count, form);
        const simt::Launch launch = launch_of(task);
        const DecodeShape& shape = task.shape;
        const std::uint32_t each = shape.groups * shape.blocks;
        EXPECT_LE(launch.shared_bytes, simt::kMostSharedBytes);
        EXPECT_LE(launch.threads, kDecodeThreads);
        EXPECT_EQ(launch.threads, shape.squads * shape.squad_threads);
        EXPECT_EQ(shape.squad_threads % simt::kWarp, 0U);  // a warp's teams do the same row
        EXPECT_LE(shape.groups * shape.words * shape.team, shape.squad_threads);
        EXPECT_GE(launch.x * each, count);
        EXPECT_LT((launch.x - 1) * each, count);
        // Large batches leave few lanes idle.
        if (count == 100000) {
          EXPECT_GE(shape.groups * shape.words * shape.team * 4, shape.squad_threads * 3);
        }
      }
}

// Threads of a code block's word.
std::uint32_t width(const DecodeTask& task) { return task.shape.team * task.shape.squads; }

TEST(CudaLdpc, FewerCodeBlocksGetMoreThreadsEach) {
  const LdpcCode frame{1, 104};
  EXPECT_EQ(width(decode_task(frame, {}, 64)), 4U);    // a symbol of 64 users
  EXPECT_EQ(width(decode_task(frame, {}, 384)), 4U);   // six symbols of them
  EXPECT_EQ(width(decode_task(frame, {}, 640)), 2U);   // ten symbols of 64
  EXPECT_EQ(width(decode_task(frame, {}, 1664)), 1U);  // thirteen of 128
  for (const LdpcCode code : all_codes()) {
    std::uint32_t last = 4;
    for (std::uint32_t count = 1; count < 200000; count *= 3) {
      const DecodeTask task = decode_task(code, {}, count);
      EXPECT_LE(width(task), last) << int{code.base_graph} << ' ' << code.lifting << ' ' << count;
      last = width(task);
    }
    EXPECT_EQ(last, 1U);
  }
}

// Whether two rows have a column in common, other than those that one row alone has.
bool meet(const std::vector<std::uint32_t>& row, const std::vector<std::uint32_t>& other) {
  return std::any_of(row.begin(), row.end(), [&](std::uint32_t column) {
    return std::find(other.begin(), other.end(), column) != other.end();
  });
}

// Rows of a step run side by side. As none reads what another writes, and the rest are in the
// table's order, they decide what they would one after the other.
TEST(CudaLdpc, RowsOfAStepHaveNoColumnInCommon) {
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto table = test::base_graph_table(graph);
    ASSERT_EQ(table.size(), graph == 1 ? 46U : 42U);
    const LdpcCode code{graph, 8};
    for (std::uint32_t sent = code.info_bits(); sent <= code.length(); sent += code.lifting) {
      const DecodeTask task = decode_task(code, {.sent = sent}, 1);
      for (std::uint32_t r = 1; r < task.row_end; ++r) {
        EXPECT_TRUE(task.rows[r].step == task.rows[r - 1].step ||
                    task.rows[r].step == task.rows[r - 1].step + 1);
        for (std::uint32_t q = 0; q < r; ++q) {
          EXPECT_FALSE(task.rows[q].step == task.rows[r].step && meet(table[q], table[r]));
        }
      }
    }
  }
}

// A row has to wait for all before it that have a column of its own: the longest such chain.
TEST(CudaLdpc, NoOrderThatDecidesTheSameNeedsFewerSteps) {
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto table = test::base_graph_table(graph);
    std::vector<std::uint32_t> chain(table.size());
    for (std::uint32_t r = 0; r < table.size(); ++r)
      for (std::uint32_t q = 0; q < r; ++q)
        if (meet(table[q], table[r])) chain[r] = std::max(chain[r], chain[q] + 1);
    const std::uint32_t longest = *std::max_element(chain.begin(), chain.end()) + 1;
    EXPECT_EQ(longest, graph == 1 ? 32U : 28U);
    const DecodeTask task = decode_task({graph, 384}, {}, 1);
    EXPECT_EQ(task.rows[task.row_end - 1].step + 1U, longest);
  }
}

#ifndef __SANITIZE_THREAD__  // which would tell of the race
// Else the tests above say little: rows with a column in common, put into one step, are to show.
TEST(CudaLdpc, ThreadsInAnotherOrderShowRowsThatMayNotShareAStep) {
  std::mt19937 random(5);
  const LdpcCode code{1, 32};
  const Soft soft =
      received(code, checked_info(code, 0, Crc::None, random), 0, code.length(), 0.9F, random);
  for (const DecodeForm& form : kDecodeForms)
    for (const bool wrong : {false, true}) {
      DecodeTask task = decode_task(code, {.max_iterations = 2, .early_stop = false}, 1, form);
      if (wrong)
        for (std::uint32_t r = kCoreRows; r < task.row_end; ++r) task.rows[r].step = kCoreRows;
      Bytes decided[2];
      for (const test::Where where : {test::Where::Rising, test::Where::Falling}) {
        Place place(where);
        const std::size_t bytes = (code.info_bits() + 7) / 8;
        task.soft = place.put(soft);
        task.info = place.room<std::uint8_t>(bytes);
        task.results = place.room<DecodeResult>(1);
        place.run(task, kDecode, decode);
        decided[where == test::Where::Rising] = place.get(task.info, bytes);
      }
      EXPECT_EQ(decided[0] != decided[1], wrong) << form.team << ' ' << form.squads;
    }
}
#endif

TEST(CudaLdpc, EveryEdgeOfEveryCodeLeadsToItsBit) {
  for (const LdpcCode code : all_codes()) {
    const BaseGraph graph = base_graph(code);
    const DecodeTask task = decode_task(code, {}, 100000);
    const DecodeShape& shape = task.shape;
    for (std::uint32_t e = 0; e < graph.row_begin[graph.rows]; ++e) {
      if (graph.column[e] >= task.info_columns + kCoreRows) continue;  // extension columns
      const std::uint32_t start = task.edges[e].start / 4 - graph.column[e] * column_words(shape);
      for (std::uint32_t i = 0; i < code.lifting; ++i) {
        const std::uint32_t place = i % shape.words, lane = i / shape.words;
        const bool back = place >= task.edges[e].limit_and_turn >> 16;
        const std::uint32_t word = place + start - (back ? shape.words : 0);
        const std::uint32_t turned = (task.edges[e].limit_and_turn & 0xffff) / 8 + (back ? 1U : 0U);
        const std::uint32_t found =
            shape.blocks == 4 ? word : word + (lane + turned) % 4 * shape.words;
        EXPECT_EQ(found, (i + graph.shift[e]) % code.lifting);
      }
    }
  }
}

}  // namespace
