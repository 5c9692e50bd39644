#include "frame/program.hpp"

#include <algorithm>
#include <set>
#include <tuple>

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
  test::FormatMaker make(seed, 3);
  for (int i = 0; i < 150; ++i) check(Frame(make()));
}

template <typename Check>
void for_random_programs(std::uint64_t seed, Check&& check) {
  for_random_frames(seed, [&](const Frame& frame) {
    for (std::uint32_t n = 0; n < frame.programs().size(); ++n) check(frame, frame.program(n), n);
  });
}

// Symbols that carry data this way: the first D symbol of a precoder carries references.
std::vector<std::uint32_t> data_symbols(const Frame& frame, Direction d) {
  std::vector<std::uint32_t> symbols;
  const std::string& schedule = frame.format().schedule;
  std::set<std::uint16_t> precoders;
  for (std::uint32_t s = 0; s < schedule.size(); ++s) {
    const bool first = schedule[s] == 'D' && precoders.insert(frame.symbol(s).occasion).second;
    if (d == Direction::Uplink ? schedule[s] == 'U' : schedule[s] == 'D' && !first)
      symbols.push_back(s);
  }
  return symbols;
}

std::uint32_t slot_of(const Frame& frame, std::uint32_t symbol) {
  return symbol / frame.format().symbols_per_slot;
}

// The grants that have data in a symbol of the n-th frame, straight from the list.
std::vector<Grant> granted(const Frame& frame, std::uint32_t n, Direction d, std::uint32_t symbol) {
  const std::uint32_t per_slot = frame.format().symbols_per_slot, in_slot = symbol % per_slot;
  std::vector<Grant> found;
  for (const Grant& g : expand_grants(frame.format())) {
    const std::uint32_t end = g.symbols == 0 ? per_slot : g.first_symbol + g.symbols;
    if (g.direction == d && g.slot == n * slots_of(frame.format()) + slot_of(frame, symbol) &&
        g.first_symbol <= in_slot && in_slot < end)
      found.push_back(g);
  }
  std::ranges::stable_sort(found, {}, &Grant::user);
  return found;
}

std::size_t payload_bytes(const FrameProgram& program, const TransportBlock& tb) {
  return (program.plan(tb).A() + 7) / 8;
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
  for_random_programs(2, [](const Frame& frame, const FrameProgram& program, std::uint32_t n) {
    for (const Direction d : kDirections)
      for (const auto s : data_symbols(frame, d)) {
        const auto grants = granted(frame, n, d, s);
        const auto all = program.allocations(s);
        ASSERT_EQ(all.size(), grants.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
          const Grant& g = grants[i];
          EXPECT_EQ(all[i].user, g.user);
          EXPECT_EQ(all[i].first_subcarrier, 12 * g.first_block);
          EXPECT_EQ(
              all[i].first_subcarrier + all[i].count,
              std::min(frame.format().numerology.subcarriers, 12 * (g.first_block + g.blocks)));
          const auto own = program.allocations(s, g.user);
          EXPECT_TRUE(&own.front() <= &all[i] && &all[i] <= &own.back());
        }
        EXPECT_EQ(program.anyone_in(s), !grants.empty());
      }
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      const auto kind = frame.symbol(s).kind;
      const bool reference = frame.symbol(s).references;
      if (kind != SymbolKind::Pilot && kind != SymbolKind::Guard && !reference) continue;
      EXPECT_TRUE(program.allocations(s).empty());
    }
  });
}

TEST(Blocks, EveryGrantedElementBelongsToExactlyOneCodeBlock) {
  for_random_programs(3, [](const Frame& frame, const FrameProgram& program, std::uint32_t) {
    for (const Direction d : kDirections) {
      const auto blocks = program.transport_blocks(d);
      std::vector<std::uint32_t> elements(blocks.size());
      for (const auto s : data_symbols(frame, d))
        for (const Allocation& a : program.allocations(s)) {
          ASSERT_LT(a.transport_block, blocks.size());
          const TransportBlock& tb = blocks[a.transport_block];
          EXPECT_EQ(tb.user, a.user);
          EXPECT_TRUE(tb.direction == d);
          // Symbol after symbol, frequency first, without a gap.
          EXPECT_EQ(a.first_re, elements[a.transport_block]);
          elements[a.transport_block] += a.count;
          const auto& plan = program.plan(tb);
          for (std::uint32_t re = a.first_re; re < a.first_re + a.count; ++re) {
            std::uint32_t owners = 0;
            for (std::uint32_t r = 0; r < plan.C(); ++r) {
              const auto& cb = plan.blocks()[r];
              if (re < cb.first_re || re >= cb.first_re + cb.re_count) continue;
              ++owners;
              EXPECT_EQ(code_block_of(plan, re), r);
              const auto& place = program.code_blocks(d)[tb.first_code_block + r];
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
        EXPECT_EQ(elements[b], program.plan(blocks[b]).re_count());
    }
  });
}

TEST(Blocks, SpanWhatIsAskedFor) {
  for_random_programs(4, [](const Frame& frame, const FrameProgram& program, std::uint32_t n) {
    for (const Direction d : kDirections) {
      std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> runs;  // user, grant, span
      for (const auto s : data_symbols(frame, d)) {
        const auto grants = granted(frame, n, d, s);
        for (std::size_t i = 0; i < grants.size(); ++i) {
          const Allocation& a = program.allocations(s)[i];
          const BlockSpan span = frame.coding(d).block;
          const std::uint32_t within = span == BlockSpan::Frame  ? 0
                                       : span == BlockSpan::Slot ? slot_of(frame, s)
                                                                 : s;
          const bool first =
              runs.insert({a.user, span == BlockSpan::Frame ? 0 : grants[i].harq_process, within})
                  .second;
          const TransportBlock& tb = program.transport_blocks(d)[a.transport_block];
          EXPECT_EQ(first, tb.first_symbol == s);
          EXPECT_GE(tb.last_symbol, s);
        }
      }
      EXPECT_EQ(runs.size(), program.transport_blocks(d).size());
    }
  });
}

TEST(Blocks, TakeVersionProcessAndCodingFromTheirGrant) {
  for_random_programs(5, [](const Frame& frame, const FrameProgram& program, std::uint32_t n) {
    for (const Direction d : kDirections)
      for (const auto s : data_symbols(frame, d)) {
        const auto grants = granted(frame, n, d, s);
        for (std::size_t i = 0; i < grants.size(); ++i) {
          const Grant& g = grants[i];
          const Coding& c = frame.coding(d);
          const TransportBlock& tb =
              program.transport_blocks(d)[program.allocations(s)[i].transport_block];
          if (c.block == BlockSpan::Frame && tb.first_symbol != s) continue;
          EXPECT_EQ(tb.redundancy_version, g.redundancy_version);
          EXPECT_EQ(tb.harq_process, g.harq_process);
          const phy::TransportPlan& plan = program.plan(tb);
          if (c.mcs_table == McsTable::None) {
            const auto choice = static_cast<std::uint32_t>(g.modulation.value_or(c.modulation));
            EXPECT_EQ(plan.Qm(), 2 * (choice + 1));
            continue;
          }
          const auto row =
              phy::mcs(static_cast<phy::McsTable>(c.mcs_table), g.mcs.value_or(c.mcs_of(g.user)));
          ASSERT_TRUE(row.has_value());
          EXPECT_TRUE(plan.modulation() == row->modulation);
        }
      }
  });
}

// TS 38.211 6.3.1.1, 7.3.1.1: c_init = n_RNTI·2^15 + n_ID (codeword 0), anew for each block.
TEST(Blocks, SignsAreTheGoldSequenceInOrder) {
  for_random_programs(6, [](const Frame& frame, const FrameProgram& program, std::uint32_t) {
    for (const Direction d : kDirections)
      for (const auto s : data_symbols(frame, d))
        for (const Allocation& a : program.allocations(s)) {
          const auto& plan = program.plan(program.transport_blocks(d)[a.transport_block]);
          const std::uint32_t bits = plan.Qm();
          std::vector<std::uint8_t> c((plan.G() + 7) / 8);
          phy::gold(((a.user + 1) << 15) + frame.format().cell_id, 0, plan.G(), c.data());
          std::size_t wrong = 0;
          for (std::uint32_t j = 0; j < a.count; ++j)
            for (std::uint32_t i = 0; i < bits; ++i) {
              const std::size_t n = std::size_t{a.first_re + j} * bits + i;
              const std::uint32_t k = a.first_subcarrier + j;
              const std::uint32_t tile = k / 16 - a.first_subcarrier / 16;
              const unsigned sign =
                  program.signs()[a.signs + i * tiles_of(a) + tile] >> k % 16 & 1U;
              wrong += sign != (c[n / 8] >> n % 8 & 1U);
            }
          EXPECT_EQ(wrong, 0U);
        }
  });
}

TEST(Blocks, PlacesInMemoryDoNotOverlap) {
  for_random_programs(7, [](const Frame& frame, const FrameProgram& program, std::uint32_t) {
    for (const Direction d : kDirections) {
      std::size_t payload = 0, info = 0, coded = 0;
      std::uint64_t bits = 0;
      for (const TransportBlock& tb : program.transport_blocks(d)) {
        EXPECT_GE(tb.payload_offset, payload);
        EXPECT_EQ(tb.payload_offset % kCacheLine, 0U);
        payload = tb.payload_offset + payload_bytes(program, tb);
        bits += program.plan(tb).A();
      }
      for (const CodeBlockPlace& place : program.code_blocks(d)) {
        const auto& plan = program.plan(program.transport_blocks(d)[place.transport_block]);
        EXPECT_GE(place.info_offset, info);
        EXPECT_GE(place.coded_offset, coded);
        EXPECT_EQ(place.info_offset % kCacheLine, 0U);
        EXPECT_EQ(place.coded_offset % kCacheLine, 0U);
        info = place.info_offset + (plan.K() + 7) / 8;
        coded = place.coded_offset +
                (d == Direction::Uplink
                     ? plan.soft_bytes()
                     : (program.code_block(d, place).E + 7) / 8 + phy::kCodedPadding);
      }
      EXPECT_LE(payload, frame.room(d).payload_bytes);
      EXPECT_LE(info, frame.room(d).info_bytes);
      EXPECT_LE(coded, frame.room(d).coded_bytes);
      EXPECT_EQ(bits, program.payload_bits(d));
    }
  });
}

TEST(Blocks, EveryCodeBlockIsHandledInOneSymbol) {
  for_random_programs(8, [](const Frame& frame, const FrameProgram& program, std::uint32_t) {
    std::vector<std::uint32_t> seen[2];
    std::vector<std::uint32_t> assembled(program.transport_blocks(Direction::Uplink).size());
    for (const Direction d : kDirections)
      seen[static_cast<std::size_t>(d)].resize(program.code_blocks(d).size());
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      const bool up = frame.symbol(s).kind == SymbolKind::Uplink;
      for (const auto b : program.code_blocks_at(s)) {
        const Direction d = up ? Direction::Uplink : Direction::Downlink;
        const auto& place = program.code_blocks(d)[b];
        EXPECT_EQ(up ? place.last_symbol : place.first_symbol, s);
        ++seen[static_cast<std::size_t>(d)][b];
      }
      for (const auto b : program.assemblies_at(s)) {
        EXPECT_EQ(program.transport_blocks(Direction::Uplink)[b].last_symbol, s);
        ++assembled[b];
      }
    }
    for (const auto& counts : seen)
      EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 1; }));
    for (std::size_t b = 0; b < assembled.size(); ++b) {
      const auto& tb = program.transport_blocks(Direction::Uplink)[b];
      EXPECT_EQ(assembled[b], program.plan(tb).C() > 1 ? 1U : 0U);
    }
  });
}

TEST(Blocks, CountTheBitsOfASymbol) {
  for_random_programs(9, [](const Frame& frame, const FrameProgram& program, std::uint32_t) {
    for (const Direction d : kDirections) {
      std::uint32_t most = 0;
      for (const auto s : data_symbols(frame, d))
        for (const Allocation& a : program.allocations(s))
          most = std::max(
              most, a.count * program.plan(program.transport_blocks(d)[a.transport_block]).Qm());
      EXPECT_EQ(program.bits_per_symbol(d), most);
    }
  });
}

TEST(Pilots, OfUsersInASymbolDoNotMeet) {
  for_random_frames(10, [](const Frame& frame) {
    const std::uint32_t subcarriers = frame.format().numerology.subcarriers;
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;  // (pilot symbol, subcarrier)
    for (std::uint32_t u = 0; u < frame.format().users; ++u) {
      const auto tiles = frame.pilot_tiles(u);
      ASSERT_LT(frame.pilot_symbol_of(u), frame.pilots_of_occasion());
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

TEST(DownlinkReference, GivesEachSubcarrierToOneOfTheUsersToldApartThere) {
  for_random_programs(11, [](const Frame& frame, const FrameProgram& program, std::uint32_t n) {
    const std::uint32_t users = frame.format().users, group = frame.format().combiner.group;
    std::vector<phy::Tile> reference(users);
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
      if (!frame.symbol(s).references) continue;
      const auto known = frame.downlink_reference(frame.symbol(s).occasion);
      const Pairing& pairing = program.pairing(s);
      for (std::uint32_t k = 0; k < frame.format().numerology.subcarriers; ++k) {
        std::vector<std::uint32_t> present;
        for (std::uint32_t u = 0; u < users; ++u)
          if (pairing.lanes_of(k / group / 16, u) >> k / group % 16 & 1) present.push_back(u);
        frame.downlink_reference(pairing, k / 16, reference.data());
        for (std::uint32_t u = 0; u < users; ++u) {
          const auto& tile = reference[u];
          const float power = tile.re[k % 16] * tile.re[k % 16] + tile.im[k % 16] * tile.im[k % 16];
          const bool own = !present.empty() && present[k % present.size()] == u;
          EXPECT_NEAR(power, own ? 1.0F : 0.0F, 1e-5F);
          if (n == 0) {
            EXPECT_EQ(tile.re[k % 16], known[k / 16 * users + u].re[k % 16]);
          }
        }
      }
    }
  });
}
