#include "frame/blocks.hpp"

#include <algorithm>
#include <set>

#include "frame/frame.hpp"
#include "frame/random_format.hpp"
#include "frame/receive.hpp"
#include "phy/gold/gold.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;

namespace {

constexpr Direction kDirections[] = {Direction::Uplink, Direction::Downlink};

template <typename Check>
void for_random_frames(std::uint64_t seed, Check&& check) {
  test::FormatMaker make(seed);
  for (int i = 0; i < 150; ++i) check(Frame(make()));
}

// Symbols that carry data this way: the first D symbol carries references.
std::vector<std::uint32_t> data_symbols(const Frame& frame, Direction d) {
  std::vector<std::uint32_t> symbols;
  const std::string& schedule = frame.format().schedule;
  const std::size_t first_d = schedule.find('D');
  for (std::uint32_t s = 0; s < schedule.size(); ++s)
    if (d == Direction::Uplink ? schedule[s] == 'U' : schedule[s] == 'D' && s != first_d)
      symbols.push_back(s);
  return symbols;
}

std::uint32_t slot_of(const Frame& frame, std::uint32_t symbol) {
  return symbol / frame.format().symbols_per_slot;
}

// The grant's subcarriers of a user in a symbol, straight from the list of grants.
std::pair<std::uint32_t, std::uint32_t> granted(const Frame& frame, Direction d,
                                                std::uint32_t symbol, std::uint32_t user) {
  for (const Grant& g : expand_grants(frame.format()))
    if (g.direction == d && g.user == user && g.slot == slot_of(frame, symbol))
      return {12 * g.first_block,
              std::min(frame.format().numerology.subcarriers, 12 * (g.first_block + g.blocks))};
  return {0, 0};
}

std::size_t payload_bytes(const Frame& frame, const TransportBlock& tb) {
  return (frame.plan(tb).A() + 7) / 8;
}

}  // namespace

TEST(Symbols, FollowEachOtherOnAir) {
  for_random_frames(1, [](const Frame& frame) {
    std::uint32_t sample = 0;
    std::array<std::uint16_t, 128> ordinals{};
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      const Symbol& symbol = frame.symbol(s);
      const char kind = frame.format().schedule[s];
      EXPECT_EQ(static_cast<char>(symbol.kind), kind);
      EXPECT_EQ(symbol.ordinal, ordinals[static_cast<std::size_t>(kind)]++);
      EXPECT_EQ(symbol.first_sample, sample);
      EXPECT_EQ(symbol.samples, symbol.prefix + frame.format().numerology.fft_size);
      EXPECT_EQ(symbol.slot, slot_of(frame, s));
      EXPECT_EQ(symbol.start, s == 0 ? 0 : frame.symbol(s - 1).end);
      sample += symbol.samples;
      EXPECT_EQ(symbol.end, frame.air_time(sample));
      const auto same = frame.symbols_of(symbol.kind);
      EXPECT_EQ(same[symbol.ordinal], s);
    }
    EXPECT_EQ(frame.samples(), sample);
    EXPECT_EQ(frame.duration(), frame.air_time(sample));
  });
}

TEST(Blocks, AllocationsAreTheGrantsBands) {
  for_random_frames(2, [](const Frame& frame) {
    for (const Direction d : kDirections)
      for (const auto s : data_symbols(frame, d))
        for (std::uint32_t u = 0; u < frame.format().users; ++u) {
          const auto [first, end] = granted(frame, d, s, u);
          const Allocation& a = frame.allocations(s)[u];
          EXPECT_EQ(a.count, end - first);
          if (a.count > 0) {
            EXPECT_EQ(a.first_subcarrier, first);
          }
        }
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      const auto kind = frame.symbol(s).kind;
      const bool reference = kind == SymbolKind::Downlink && frame.symbol(s).ordinal == 0;
      if (kind != SymbolKind::Pilot && kind != SymbolKind::Guard && !reference) continue;
      for (const Allocation& a : frame.allocations(s)) EXPECT_EQ(a.count, 0U);
    }
  });
}

TEST(Blocks, EveryGrantedElementBelongsToExactlyOneCodeBlock) {
  for_random_frames(3, [](const Frame& frame) {
    for (const Direction d : kDirections) {
      const auto blocks = frame.transport_blocks(d);
      std::vector<std::uint32_t> elements(blocks.size());
      for (const auto s : data_symbols(frame, d))
        for (std::uint32_t u = 0; u < frame.format().users; ++u) {
          const Allocation& a = frame.allocations(s)[u];
          if (a.count == 0) continue;
          ASSERT_LT(a.transport_block, blocks.size());
          const TransportBlock& tb = blocks[a.transport_block];
          EXPECT_EQ(tb.user, u);
          EXPECT_TRUE(tb.direction == d);
          // Symbol after symbol, frequency first, without a gap.
          EXPECT_EQ(a.first_re, elements[a.transport_block]);
          elements[a.transport_block] += a.count;
          const auto& plan = frame.plan(tb);
          for (std::uint32_t re = a.first_re; re < a.first_re + a.count; ++re) {
            std::uint32_t owners = 0;
            for (std::uint32_t r = 0; r < plan.C(); ++r) {
              const auto& cb = plan.blocks()[r];
              if (re < cb.first_re || re >= cb.first_re + cb.re_count) continue;
              ++owners;
              EXPECT_EQ(code_block_of(plan, re), r);
              const auto& place = frame.code_blocks(d)[tb.first_code_block + r];
              EXPECT_LE(place.first_symbol, s);
              EXPECT_GE(place.last_symbol, s);
              if (re == cb.first_re) {
                EXPECT_EQ(place.first_symbol, s);
              }
              if (re == cb.first_re + cb.re_count - 1) {
                EXPECT_EQ(place.last_symbol, s);
              }
            }
            ASSERT_EQ(owners, 1U);
          }
        }
      for (std::size_t b = 0; b < blocks.size(); ++b)
        EXPECT_EQ(elements[b], frame.plan(blocks[b]).re_count());
    }
  });
}

TEST(Blocks, SpanWhatIsAskedFor) {
  for_random_frames(4, [](const Frame& frame) {
    for (const Direction d : kDirections) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> runs;  // (user, span)
      for (const auto s : data_symbols(frame, d))
        for (std::uint32_t u = 0; u < frame.format().users; ++u) {
          const Allocation& a = frame.allocations(s)[u];
          if (a.count == 0) continue;
          std::uint32_t span = 0;
          if (frame.coding(d).block == BlockSpan::Slot) span = slot_of(frame, s);
          if (frame.coding(d).block == BlockSpan::Symbol) span = s;
          const bool first = runs.insert({u, span}).second;
          const TransportBlock& tb = frame.transport_blocks(d)[a.transport_block];
          EXPECT_EQ(first, tb.first_symbol == s);
          EXPECT_GE(tb.last_symbol, s);
        }
      EXPECT_EQ(runs.size(), frame.transport_blocks(d).size());
    }
  });
}

TEST(Blocks, TakeRedundancyVersionAndProcessFromTheirGrant) {
  for_random_frames(5, [](const Frame& frame) {
    for (const Direction d : kDirections)
      for (const TransportBlock& tb : frame.transport_blocks(d))
        for (const Grant& g : expand_grants(frame.format()))
          if (g.direction == d && g.user == tb.user && g.slot == slot_of(frame, tb.first_symbol)) {
            EXPECT_EQ(tb.redundancy_version, g.redundancy_version);
            EXPECT_EQ(tb.harq_process, g.harq_process);
          }
  });
}

// TS 38.211 6.3.1.1, 7.3.1.1: c_init = n_RNTI·2^15 + n_ID (codeword 0), anew for each block.
TEST(Blocks, SignsAreTheGoldSequenceInOrder) {
  for_random_frames(6, [](const Frame& frame) {
    for (const Direction d : kDirections)
      for (const auto s : data_symbols(frame, d))
        for (std::uint32_t u = 0; u < frame.format().users; ++u) {
          const Allocation& a = frame.allocations(s)[u];
          if (a.count == 0) continue;
          const auto& plan = frame.plan(frame.transport_blocks(d)[a.transport_block]);
          const std::uint32_t bits = plan.Qm();
          std::vector<std::uint8_t> c((plan.G() + 7) / 8);
          phy::gold(((u + 1) << 15) + frame.format().cell_id, 0, plan.G(), c.data());
          std::size_t wrong = 0;
          for (std::uint32_t j = 0; j < a.count; ++j)
            for (std::uint32_t i = 0; i < bits; ++i) {
              const std::size_t n = std::size_t{a.first_re + j} * bits + i;
              const std::uint32_t k = a.first_subcarrier + j;
              const std::uint32_t tile = k / 16 - a.first_subcarrier / 16;
              const unsigned sign = frame.signs()[a.signs + i * tiles_of(a) + tile] >> k % 16 & 1U;
              wrong += sign != (c[n / 8] >> n % 8 & 1U);
            }
          EXPECT_EQ(wrong, 0U);
        }
  });
}

TEST(Blocks, PlacesInMemoryDoNotOverlap) {
  for_random_frames(7, [](const Frame& frame) {
    for (const Direction d : kDirections) {
      std::size_t payload = 0, info = 0, coded = 0;
      std::uint64_t bits = 0;
      for (const TransportBlock& tb : frame.transport_blocks(d)) {
        EXPECT_GE(tb.payload_offset, payload);
        EXPECT_EQ(tb.payload_offset % kCacheLine, 0U);
        payload = tb.payload_offset + payload_bytes(frame, tb);
        bits += frame.plan(tb).A();
      }
      for (const CodeBlockPlace& place : frame.code_blocks(d)) {
        const auto& plan = frame.plan(frame.transport_blocks(d)[place.transport_block]);
        EXPECT_GE(place.info_offset, info);
        EXPECT_GE(place.coded_offset, coded);
        EXPECT_EQ(place.info_offset % kCacheLine, 0U);
        EXPECT_EQ(place.coded_offset % kCacheLine, 0U);
        info = place.info_offset + (plan.K() + 7) / 8;
        coded =
            place.coded_offset +
            (d == Direction::Uplink ? plan.soft_bytes()
                                    : (frame.code_block(d, place).E + 7) / 8 + phy::kCodedPadding);
      }
      EXPECT_LE(payload, frame.payload_bytes(d));
      EXPECT_LE(info, frame.info_bytes(d));
      EXPECT_LE(coded, frame.coded_bytes(d));
      EXPECT_EQ(bits, frame.payload_bits(d));
    }
  });
}

TEST(Blocks, EveryCodeBlockIsHandledInOneSymbol) {
  for_random_frames(8, [](const Frame& frame) {
    std::vector<std::uint32_t> seen[2];
    std::vector<std::uint32_t> assembled(frame.transport_blocks(Direction::Uplink).size());
    for (const Direction d : kDirections)
      seen[static_cast<std::size_t>(d)].resize(frame.code_blocks(d).size());
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      const bool up = frame.symbol(s).kind == SymbolKind::Uplink;
      for (const auto b : frame.code_blocks_at(s)) {
        const Direction d = up ? Direction::Uplink : Direction::Downlink;
        const auto& place = frame.code_blocks(d)[b];
        EXPECT_EQ(up ? place.last_symbol : place.first_symbol, s);
        ++seen[static_cast<std::size_t>(d)][b];
      }
      for (const auto b : frame.assemblies_at(s)) {
        EXPECT_EQ(frame.transport_blocks(Direction::Uplink)[b].last_symbol, s);
        ++assembled[b];
      }
    }
    for (const auto& counts : seen)
      EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 1; }));
    for (std::size_t b = 0; b < assembled.size(); ++b) {
      const auto& tb = frame.transport_blocks(Direction::Uplink)[b];
      EXPECT_EQ(assembled[b], frame.plan(tb).C() > 1 ? 1U : 0U);
    }
  });
}

TEST(Blocks, CountTheBitsOfASymbol) {
  for_random_frames(9, [](const Frame& frame) {
    for (const Direction d : kDirections) {
      std::uint32_t most = 0;
      for (const auto s : data_symbols(frame, d))
        for (const Allocation& a : frame.allocations(s))
          if (a.count > 0)
            most = std::max(
                most, a.count * frame.plan(frame.transport_blocks(d)[a.transport_block]).Qm());
      EXPECT_EQ(frame.bits_per_symbol(d), most);
    }
  });
}

TEST(Pilots, OfUsersInASymbolDoNotMeet) {
  for_random_frames(10, [](const Frame& frame) {
    const std::uint32_t subcarriers = frame.format().numerology.subcarriers;
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;  // (pilot symbol, subcarrier)
    for (std::uint32_t u = 0; u < frame.format().users; ++u) {
      const auto tiles = frame.pilot_tiles(u);
      ASSERT_LT(frame.pilot_symbol_of(u), frame.symbols_of(SymbolKind::Pilot).size());
      std::uint32_t sent = 0;
      for (std::uint32_t k = 0; k < 16 * frame.tiles(); ++k) {
        const float re = tiles[k / 16].re[k % 16], im = tiles[k / 16].im[k % 16];
        if (re == 0 && im == 0) continue;
        ++sent;
        EXPECT_LT(k, subcarriers);
        EXPECT_EQ(k % frame.comb(), u % frame.comb());
        EXPECT_NEAR(re * re + im * im, 1.0F, 1e-5F);
        EXPECT_TRUE(taken.insert({frame.pilot_symbol_of(u), k}).second);
        // Dividing undoes it: the product with the conjugate is 1.
        const auto& division = frame.pilot_division()[k / 16];
        EXPECT_NEAR(re * division.re[k % 16] - im * division.im[k % 16], 1.0F, 1e-5F);
      }
      EXPECT_EQ(sent, (subcarriers - u % frame.comb() + frame.comb() - 1) / frame.comb());
    }
  });
}

TEST(DownlinkReference, GivesEachSubcarrierToOneUser) {
  for_random_frames(11, [](const Frame& frame) {
    const auto reference = frame.downlink_reference();
    const std::uint32_t users = frame.format().users;
    EXPECT_EQ(reference.empty(), frame.symbols_of(SymbolKind::Downlink).empty());
    if (reference.empty()) return;
    for (std::uint32_t k = 0; k < frame.format().numerology.subcarriers; ++k)
      for (std::uint32_t u = 0; u < users; ++u) {
        const auto& tile = reference[k / 16 * users + u];
        const float power = tile.re[k % 16] * tile.re[k % 16] + tile.im[k % 16] * tile.im[k % 16];
        EXPECT_NEAR(power, k % users == u ? 1.0F : 0.0F, 1e-5F);
      }
  });
}
