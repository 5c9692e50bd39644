#include "frame/cpu/pipeline.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "frame/cell.hpp"
#include "frame/grants.hpp"
#include "frame/random_format.hpp"
#include "frame/transmit.hpp"
#include "phy/half.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using phy::testing::from_half;
using test::Cell;
using test::changed;
using test::clear_air;
using test::small_format;

namespace {

// Every block of three frames arrives, on every instruction set.
void expect_decoded(const FrameFormat& format, const std::string& what,
                    const emulator::RadioPlan& plan = clear_air()) {
  for (const Isa isa : test::tested_isas()) {
    Cell cell(format, plan, isa);
    ASSERT_GT(cell.frame.program().transport_blocks(Direction::Uplink).size(), 0U) << what;
    for (std::uint64_t i = 0; i < 3; ++i) {
      cell.run(i);
      EXPECT_EQ(cell.wrong_blocks(i), 0U) << what << ", " << to_string(isa) << ", frame " << i;
    }
  }
}

std::size_t decode_chunks(const Cell& cell) {
  std::size_t chunks = 0;
  for (const auto& packs : cell.pipeline.graph().work[0].packs) chunks += packs.size();
  return chunks;
}

// With many workers each code block is decoded alone. In air so noisy that some fail, too.
void expect_packed_as_alone(const FrameFormat& format, const std::string& what) {
  std::size_t good = 0, blocks = 0;
  for (const double snr_db : {-12.0, -6.0, 0.0, 20.0}) {
    Cell packed(format, clear_air(snr_db)), alone(format, clear_air(snr_db), active_isa(), 100);
    EXPECT_LE(2 * decode_chunks(packed), decode_chunks(alone)) << what;
    EXPECT_EQ(decode_chunks(alone), alone.frame.program().code_blocks(Direction::Uplink).size())
        << what;
    for (std::uint64_t i = 0; i < 2; ++i) {
      packed.run(i);
      alone.run(i);
      const auto &a = packed.pipeline.slot(i), &b = alone.pipeline.slot(i);
      EXPECT_TRUE(std::equal(a.info.begin(), a.info.end(), b.info.begin())) << what;
      EXPECT_TRUE(std::equal(a.payload.begin(), a.payload.end(), b.payload.begin())) << what;
      for (std::size_t n = 0; n < a.results.size(); ++n) {
        EXPECT_EQ(a.results[n].decode.iterations, b.results[n].decode.iterations) << what;
        EXPECT_EQ(a.results[n].decode.parity, b.results[n].decode.parity) << what;
        EXPECT_EQ(a.results[n].good, b.results[n].good) << what;
        good += a.results[n].good;
        ++blocks;
      }
    }
  }
  EXPECT_GT(good, blocks / 8) << what;
  EXPECT_LT(good, blocks) << what;
}

}  // namespace

TEST(Uplink, IsDecodedWithEveryGroupOfSubcarriers) {
  for (std::uint32_t group = 1; group <= 16; ++group)
    expect_decoded(changed([&](FrameFormat& f) { f.combiner.group = group; }),
                   "group " + std::to_string(group));
}

TEST(Uplink, IsDecodedByEveryDetector) {
  for (const auto kind : {phy::Detector::ZeroForcing, phy::Detector::Mmse})
    for (const std::uint32_t group : {1U, 12U, 16U})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.combiner = {kind, group};
                     }),
                     "linear detector");
  // A matched filter leaves the users' interference: it serves one well, and several at low rates.
  expect_decoded(changed([](FrameFormat& f) {
                   f.users = 1;
                   f.combiner.kind = phy::Detector::Conjugate;
                 }),
                 "matched filter, one user");
  expect_decoded(changed([](FrameFormat& f) {
                   f.antennas = 32;
                   f.combiner.kind = phy::Detector::Conjugate;
                   f.uplink.modulation = ModulationChoice::Qpsk;
                   f.uplink.rate = 0.2;
                 }),
                 "matched filter, two users");
}

TEST(Uplink, IsDecodedWithEveryModulation) {
  for (std::uint32_t m = 0; m < 4; ++m)
    for (const double rate : {0.2, 0.5, 0.8})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.uplink.modulation = static_cast<ModulationChoice>(m);
                       f.uplink.rate = rate;
                     }),
                     "modulation " + std::to_string(m) + " rate " + std::to_string(rate),
                     clear_air(38));
}

TEST(Uplink, IsDecodedWithMcsTables) {
  for (const auto table : {McsTable::Qam64, McsTable::Qam256, McsTable::LowSe})
    for (const std::uint32_t index : {0U, 9U, 17U, 25U})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.uplink.mcs_table = table;
                       f.uplink.mcs_index = {index};
                     }),
                     "MCS " + std::to_string(index), clear_air(38));
}

// Others carry what they did when one user is told to send less.
TEST(Uplink, IsDecodedWithRowsOfEachUsersOwn) {
  const auto with = [](std::vector<std::uint32_t> rows) {
    return changed([&](FrameFormat& f) {
      f.uplink.mcs_table = McsTable::Qam256;
      f.uplink.mcs_index = std::move(rows);
    });
  };
  for (const auto& rows : {std::vector<std::uint32_t>{20, 3}, {2, 27}, {0, 11}})
    expect_decoded(with(rows), "MCS " + std::to_string(rows[0]), clear_air(38));
  const Frame both(with({20})), one(with({20, 3})), other(with({3}));
  const auto bits = [](const Frame& frame, std::size_t user) {
    std::uint64_t sum = 0;
    for (const auto& block : frame.program().transport_blocks(Direction::Uplink))
      if (block.user == user) sum += frame.program().plan(block).A();
    return sum;
  };
  EXPECT_EQ(bits(one, 0), bits(both, 0));
  EXPECT_EQ(bits(one, 1), bits(other, 1));
  EXPECT_LT(bits(other, 1), bits(both, 1));
}

TEST(Uplink, IsDecodedInEveryPrecision) {
  for (const auto precision : {Precision::Fp32, Precision::Fp16, Precision::Int16})
    for (const std::uint32_t group : {1U, 5U, 16U})
      for (const char* schedule : {"PPUUUU", "PPGDDDDGUUUU"})
        expect_decoded(changed([&](FrameFormat& f) {
                         f.antennas = 20;
                         f.numerology.dc_hole = group == 5;
                         f.schedule = schedule;
                         f.deadlines.downlink_lead_ms = 0.01;
                         f.combiner.group = group;
                         f.combiner.precision = precision;
                         f.uplink.modulation = ModulationChoice::Qam256;
                         f.uplink.rate = 0.8;
                       }),
                       "group " + std::to_string(group), clear_air(38));
}

// So that no tile's combiner, nor its scale, is another's: a band ten times as wide as the channel
// is coherent.
TEST(Uplink, IsDecodedInEveryPrecisionOverAFadingBand) {
  emulator::RadioPlan fading = clear_air(38);
  fading.taps = 6;
  fading.delay_spread_ns = 300;
  for (const auto precision : {Precision::Fp32, Precision::Fp16, Precision::Int16})
    for (const std::uint32_t group : {1U, 4U, 16U})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.numerology.fft_size = 512;
                       f.numerology.subcarriers = 300;
                       f.antennas = 20;
                       f.combiner.group = group;
                       f.combiner.precision = precision;
                       f.uplink.modulation =
                           group == 16 ? ModulationChoice::Qpsk : ModulationChoice::Qam64;
                       f.uplink.rate = 0.5;
                     }),
                     "group " + std::to_string(group), fading);
}

TEST(Uplink, IsDecodedOverCombsAndFadingBands) {
  emulator::RadioPlan fading = clear_air(35);
  fading.taps = 4;
  fading.delay_spread_ns = 100;
  for (std::uint32_t comb = 1; comb <= 6; ++comb)
    for (const std::uint32_t group : {1U, 4U})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.antennas = 8;
                       f.users = 3;
                       f.pilots = {PilotKind::Comb, comb, 7};
                       f.schedule = std::string((2 + comb) / comb, 'P') + "UUU";
                       f.combiner.group = group;
                       f.uplink.modulation = ModulationChoice::Qpsk;
                     }),
                     "comb " + std::to_string(comb), fading);
}

TEST(Uplink, IsDecodedOverEverySpan) {
  for (const auto span : {BlockSpan::Frame, BlockSpan::Slot, BlockSpan::Symbol})
    for (const auto grants : {GrantKind::Full, GrantKind::RoundRobin})
      for (const bool crc : {true, false})
        expect_decoded(changed([&](FrameFormat& f) {
                         f.schedule = "PPUUUUUUU";
                         f.symbols_per_slot = 4;
                         f.uplink.block = span;
                         f.uplink.crc = crc;
                         f.grants.kind = grants;
                       }),
                       "span");
}

TEST(Uplink, IsDecodedInManyCodeBlocks) {
  for (const bool crc : {true, false})
    for (const std::uint32_t lifting : {8U, 13U, 20U}) {
      const FrameFormat format = changed([&](FrameFormat& f) {
        f.uplink.crc = crc;
        f.uplink.lifting = lifting;
        f.uplink.base_graph = 2;
        f.uplink.rate = 0.5;
      });
      const Frame frame(format);
      EXPECT_GT(frame.program().plan(frame.program().transport_blocks(Direction::Uplink)[0]).C(),
                1U);
      expect_decoded(format, "lifting " + std::to_string(lifting));
    }
  // Large enough for segmentation by 38.212's own rule, over several symbols each.
  expect_decoded(changed([](FrameFormat& f) {
                   f.numerology.fft_size = 512;
                   f.numerology.subcarriers = 400;
                   f.uplink.rate = 0.8;
                   f.uplink.modulation = ModulationChoice::Qam64;
                   f.schedule = "PPUUUUUU";
                 }),
                 "segmented", clear_air(35));
}

TEST(Uplink, IsDecodedFromEveryRedundancyVersion) {
  for (std::uint32_t rv = 0; rv < 4; ++rv)
    for (const double limit : {1.0, 0.7})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.uplink.redundancy_version = rv;
                       f.uplink.buffer_limit = limit;
                       // Versions 1 and 2 lack systematic bits unless the whole buffer is sent.
                       f.uplink.rate = rv == 0 || rv == 3 ? 0.3 : 0.2;
                       f.uplink.base_graph = 2;
                     }),
                     "redundancy version " + std::to_string(rv));
}

TEST(Uplink, IsDecodedWhenBitsRepeat) {
  const FrameFormat format = changed([](FrameFormat& f) {
    f.uplink.rate = 0.1;
    f.uplink.base_graph = 2;
    f.uplink.buffer_limit = 0.5;
  });
  const Frame frame(format);
  const auto& plan = frame.program().plan(frame.program().transport_blocks(Direction::Uplink)[0]);
  EXPECT_FALSE(plan.blocks()[0].map.direct);
  EXPECT_GT(plan.blocks()[0].E, plan.Ncb());
  expect_decoded(format, "repetition");
}

TEST(Uplink, IsDecodedInPacksAsAlone) {
  const auto small_blocks = [](FrameFormat& f) {
    f.uplink.lifting = 4;
    f.uplink.base_graph = 2;
    f.uplink.rate = 0.6;
  };
  expect_packed_as_alone(changed(small_blocks), "CRC");
  expect_packed_as_alone(changed([&](FrameFormat& f) {
                           small_blocks(f);
                           f.uplink.crc = false;
                         }),
                         "no CRC");
  expect_packed_as_alone(changed([&](FrameFormat& f) {
                           small_blocks(f);
                           f.uplink.rate = 0.3;
                           f.uplink.buffer_limit = 0.5;
                         }),
                         "repetition");
  expect_packed_as_alone(changed([&](FrameFormat& f) {
                           small_blocks(f);
                           f.grants = test::listed({{.user = 0, .first_block = 0, .blocks = 4},
                                                    {.user = 1, .first_block = 4, .blocks = 2}});
                         }),
                         "grants");
}

TEST(Uplink, IsDecodedOnAnyBand) {
  for (const bool hole : {false, true})
    for (const std::uint32_t used : {12U, 13U, 47U, 71U, 101U, 113U, 120U})
      expect_decoded(changed([&](FrameFormat& f) {
                       f.numerology.subcarriers = used;
                       f.numerology.dc_hole = hole;
                       // The last resource block is partial, and no code fits into one element.
                       if (used > 24) f.grants.kind = GrantKind::RoundRobin;
                     }),
                     std::to_string(used) + " subcarriers");
}

TEST(Uplink, IsDecodedWithEveryFftSizeAndPrefix) {
  for (std::uint32_t size = 128; size <= 4096; size *= 2)
    expect_decoded(changed([&](FrameFormat& f) {
                     f.numerology.fft_size = size;
                     f.numerology.subcarriers = 96;
                     f.schedule = "PPUU";
                     f.numerology.prefix =
                         size % 3 == 2 ? PrefixKind::Constant : PrefixKind::NrNormal;
                     f.numerology.prefix_samples = size / 32;
                   }),
                   "FFT " + std::to_string(size));
}

TEST(Uplink, IsDecodedOverGrantsThatCrossTiles) {
  // Users 0 and 1 share blocks 1…3; user 1 skips slot 1 and has an odd place in slot 2.
  expect_decoded(changed([](FrameFormat& f) {
                   f.schedule = "PPUUUUUUU";
                   f.symbols_per_slot = 3;
                   constexpr auto kUp = Direction::Uplink;
                   f.grants = test::listed({{0, 0, kUp, 1, 3, 0, 1},
                                            {1, 0, kUp, 1, 3, 2, 2},
                                            {0, 1, kUp, 5, 1, 3, 3},
                                            {0, 2, kUp, 0, 1, 1, 4},
                                            {1, 2, kUp, 2, 4, 0, 5}});
                   f.uplink.rate = 0.25;
                 }),
                 "listed grants");
}

TEST(Uplink, IsDecodedForRandomFormats) {
  test::FormatMaker make(77);
  std::uint32_t tried = 0;
  while (tried < 60) {
    FrameFormat format = make();
    format.combiner.kind = phy::Detector::ZeroForcing;
    format.antennas = std::max(format.antennas, 2 * format.users + 2);
    format.uplink.rate = std::min(format.uplink.rate, 0.5);
    format.uplink.mcs_table = McsTable::None;
    format.uplink.redundancy_version = 0;
    format.uplink.iterations = 20;
    if (format.schedule.find('U') == std::string::npos || !format.validate().empty()) continue;
    const bool listed = format.grants.kind == GrantKind::List;  // may start at version 1, 2 or 3
    const Frame frame(format);
    // No grant in any uplink slot, or too short for the code's core: nothing to promise.
    if (listed || frame.program().transport_blocks(Direction::Uplink).empty()) continue;
    ++tried;
    std::string text;
    write_fields(format, "", text);
    expect_decoded(format, text, clear_air(45));
  }
}

TEST(Uplink, MeasuresTheNoiseThatIsThere) {
  const double snr_db = 20;
  FrameFormat format = small_format();
  format.users = 1;
  format.schedule = "PUUUUUUUUUUUU";
  emulator::RadioPlan plan = clear_air(snr_db);
  plan.channel = emulator::ChannelKind::Awgn;
  Cell cell(format, plan);
  double error = 0, predicted = 0;
  std::uint32_t symbols = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    cell.run(i);
    for (const SymbolQuality& q : cell.pipeline.slot(i).quality) {
      error += static_cast<double>(q.error_power);
      predicted += static_cast<double>(q.noise_power);
      symbols += q.symbols;
    }
  }
  ASSERT_GT(symbols, 5000U);
  // Six antennas of equal gain: SNR 20 dB each, 27.8 dB together; the channel's estimate adds a
  // little noise, less its averaging over 16 subcarriers.
  const double expected = 1 / (6 * std::pow(10, snr_db / 10));
  EXPECT_NEAR(predicted / symbols / expected, 1.0, 0.1);
  EXPECT_NEAR(error / symbols / expected, 1.06, 0.1);
}

TEST(Uplink, SamplesTheConstellationOfAGrantedUserOnly) {
  Cell cell(changed([](FrameFormat& f) { f.grants.kind = GrantKind::RoundRobin; }));
  for (std::uint64_t i = 0; i < 8; ++i) {
    cell.run(i);
    const auto& slot = cell.pipeline.slot(i);
    const std::uint32_t user = cell.pipeline.sampled_user(i);
    for (const auto s : cell.frame.symbols_of(SymbolKind::Uplink)) {
      ASSERT_EQ(cell.frame.program().allocations(s, user).size(), 1U);
      const Allocation& a = cell.frame.program().allocations(s, user).front();
      const std::uint32_t tile = cell.pipeline.sampled_tile(i, s);
      for (std::uint32_t lane = 0; lane < 16; ++lane) {
        const std::uint32_t k = 16 * tile + lane;
        const bool granted = k >= a.first_subcarrier && k < a.first_subcarrier + a.count;
        const auto& points = slot.constellation[cell.frame.symbol(s).ordinal];
        EXPECT_EQ(points.re[lane] != 0 || points.im[lane] != 0, granted);
      }
    }
  }
}

TEST(Begin, ForgetsTheFrameBefore) {
  Cell cell(changed([](FrameFormat& f) { f.ring = 2; }));
  cell.run(0);
  EXPECT_EQ(cell.wrong_blocks(0), 0U);
  cell.pipeline.begin(2);
  const auto& slot = cell.pipeline.slot(2);
  EXPECT_EQ(slot.frame, 2U);
  EXPECT_EQ(cell.good_blocks(2), 0U);
  for (const auto* samples : slot.samples) EXPECT_TRUE(samples == nullptr);
  for (const auto& result : slot.results) EXPECT_FALSE(result.good);
  for (const auto& quality : slot.quality) EXPECT_EQ(quality.symbols, 0U);
  for (const auto& tile : slot.constellation) EXPECT_EQ(tile.re[0], 0.0F);
  run_serially(cell.pipeline, 2);  // as if every packet were lost
  EXPECT_EQ(cell.good_blocks(2), 0U);
}

TEST(IllConditioned, LanesAreCounted) {
  // One antenna cannot tell two users apart.
  FrameFormat format = small_format();
  format.antennas = 2;
  Cell cell(format);
  cell.run(0);
  EXPECT_EQ(cell.pipeline.slot(0).combiners->ill_conditioned.load(), 0U);
  cell.run(1,
           [](std::uint32_t symbol, std::uint32_t antenna) { return symbol < 2 && antenna == 1; });
  EXPECT_EQ(cell.pipeline.slot(1).combiners->ill_conditioned.load(), (72U + 15) / 16);
}

TEST(IllConditioned, WhateverComesEverythingStaysFinite) {
  using Samples = std::vector<std::int16_t>;
  const Cell::Spoil extremes[] = {
      [](Samples& s) { std::fill(s.begin(), s.end(), std::int16_t{0}); },
      [](Samples& s) { std::fill(s.begin(), s.end(), std::int16_t{-32768}); },
      [](Samples& s) {
        for (std::int16_t& v : s) v = v < 0 ? std::int16_t{-32768} : std::int16_t{32767};
      }};
  const auto expect_finite = [](std::span<const float> values) {
    for (const float v : values) ASSERT_TRUE(std::isfinite(v));
  };
  for (const Isa isa : test::tested_isas())
    for (const auto precision : {Precision::Fp32, Precision::Fp16, Precision::Int16})
      for (const auto kind :
           {phy::Detector::ZeroForcing, phy::Detector::Mmse, phy::Detector::Conjugate}) {
        Cell cell(changed([&](FrameFormat& f) {
                    f.antennas = f.users = 4;
                    f.schedule = "PPPPUUGGGGGGGGGGDD";
                    f.deadlines.downlink_lead_ms = 0.01;
                    f.combiner = {kind, 16, precision};
                  }),
                  clear_air(), isa);
        for (std::uint64_t i = 0; i < std::size(extremes); ++i) {
          cell.run(i, {}, extremes[i]);
          const Combiners& all = *cell.pipeline.slot(i).combiners;
          const PairCombiner& c = all.of.front();
          EXPECT_EQ(c.scalars.size() != 0, precision != Precision::Int16);
          EXPECT_EQ(c.half_scalars.size() != 0, precision == Precision::Fp16);
          EXPECT_EQ(c.integers.scalars.size() != 0, precision == Precision::Int16);
          for (const phy::Complex& w : c.scalars) expect_finite({&w.re, 2});
          for (const phy::HalfComplex& w : c.half_scalars) {
            const std::array<float, 2> parts{static_cast<float>(from_half(w.re)),
                                             static_cast<float>(from_half(w.im))};
            expect_finite(parts);
          }
          expect_finite({c.half_scale.data(), c.half_scale.size()});
          expect_finite({c.integers.scale.data(), c.integers.scale.size()});
          expect_finite({c.precoder.scale.data(), c.precoder.scale.size()});
          EXPECT_EQ(c.transmit_gain == 0, i == 0) << "silence has no channel";
          expect_finite({c.post_noise.data(), c.post_noise.size()});
          expect_finite({&c.transmit_gain, 1});
          // Silence has no channel; one level is a carrier in one group, the same on all antennas.
          const std::uint32_t groups = (72 + 15) / 16;
          if (i < 2) {
            EXPECT_GE(all.ill_conditioned.load(), i == 0 ? groups : groups - 1);
          }
        }
      }
}

TEST(Footprint, IsWhatIsAllocated) {
  test::FormatMaker make(5, 3);
  for (int i = 0; i < 40; ++i) {
    FrameFormat format = make();
    if (i % 6 == 5) {
      format = changed(test::crowd);
      format.schedule = "PPUGGGGGGGGGGDD";
      format.symbols_per_slot = 15;
    }
    const Frame frame(format);
    const Isa isa = std::array{Isa::Avx2, Isa::Avx512Fp16}[i % 2];  // nothing is run
    Pipeline pipeline(frame, {.isa = isa});
    const auto bytes = [](const auto& array) { return array.size() * sizeof(array[0]); };
    std::uint64_t total = 0;
    std::vector<const Combiners*> seen;
    for (std::uint64_t n = 0; n < 200; ++n) {
      pipeline.begin(n);
      Combiners* const c = pipeline.slot(n).combiners;
      c->frame.store(n);  // complete: then the oldest is taken next
      if (std::find(seen.begin(), seen.end(), c) != seen.end()) continue;
      seen.push_back(c);
      for (const PairCombiner& each : c->of) {
        total += bytes(each.tiles) + bytes(each.scalars) + bytes(each.half_tiles) +
                 bytes(each.half_scalars) + bytes(each.half_scale) + bytes(each.post_noise) +
                 bytes(each.antenna_power);
        for (const Int16Matrix& m : {std::cref(each.integers), std::cref(each.precoder)})
          total += bytes(m.tiles) + bytes(m.scalars) + bytes(m.scale);
      }
    }
    for (std::uint32_t n = 0; n < pipeline.ring(); ++n) {
      const FrameSlot& s = pipeline.slot(n);
      total += bytes(s.grid) + bytes(s.half_grid) + bytes(s.csi) + bytes(s.noise) +
               bytes(s.deviation) + bytes(s.soft) + bytes(s.info) + bytes(s.payload) +
               bytes(s.downlink_coded) + bytes(s.symbols) + bytes(s.downlink_grid);
      for (const Symbol& symbol : frame.symbols())
        total += std::uint64_t{symbol.samples} * 4 * frame.format().antennas;
    }
    EXPECT_EQ(Pipeline::footprint(frame, isa), total) << to_string(isa);
  }
}
