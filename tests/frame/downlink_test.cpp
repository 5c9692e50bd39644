// The downlink's kernels: what the antennas radiate, added up at each user through the channel.
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "base/random.hpp"
#include "frame/cell.hpp"
#include "frame/grants.hpp"
#include "phy/gold/gold.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Cell;

namespace {

using Complex = std::complex<double>;

FrameFormat downlink_format() {
  FrameFormat format = test::small_format();
  format.schedule = "PPUGGGGGGGGGGDDDD";
  format.symbols_per_slot = 17;
  return format;
}

// Both directions, with payload for the downlink.
struct TwoWay : Cell {
  explicit TwoWay(const FrameFormat& format, Isa isa = active_isa(),
                  const emulator::RadioPlan& air = test::clear_air(60))
      : Cell(format, air, isa) {
    Random random(3, 0);
    for (auto& payload : downlink)
      for (auto& byte : payload) byte = static_cast<std::uint8_t>(random.next());
  }

  // Used subcarrier k of a symbol, from its samples by the plain sum.
  Complex bin(std::uint64_t slot, std::uint32_t ordinal, std::uint32_t antenna, std::uint32_t k) {
    const auto& n = frame.format().numerology;
    const auto symbol = frame.symbols_of(SymbolKind::Downlink)[ordinal];
    std::int32_t bin = static_cast<std::int32_t>(k) - static_cast<std::int32_t>(n.subcarriers / 2);
    if (n.dc_hole && bin >= 0) ++bin;
    const auto* iq = samples_of(slot, ordinal, antenna) + 2 * frame.symbol(symbol).prefix;
    Complex sum = 0;
    for (std::uint32_t i = 0; i < n.fft_size; ++i)
      sum += Complex(iq[2 * i], iq[2 * i + 1]) / 32768.0 *
             std::polar(1.0, -2 * std::numbers::pi * bin * i / n.fft_size);
    return sum / std::sqrt(n.fft_size);
  }

  // What user u hears on subcarrier k, by reciprocity of the uplink's channel.
  Complex heard(std::uint64_t slot, std::uint32_t ordinal, std::uint32_t user, std::uint32_t k) {
    Complex sum = 0;
    for (std::uint32_t a = 0; a < frame.format().antennas; ++a) {
      const auto h = generator.channel().coefficient(user, a, k);
      sum += Complex(h.re, h.im) * bin(slot, ordinal, a, k);
    }
    return sum;
  }

  // What it should hear but for the gain: its own symbol.
  Complex meant(std::uint64_t slot, std::uint32_t ordinal, std::uint32_t user, std::uint32_t k) {
    const std::uint32_t users = frame.format().users;
    const std::size_t tile = k / 16;
    const auto& t =
        ordinal == 0 ? frame.downlink_reference()[tile * users + user]
                     : pipeline.slot(slot).symbols[(ordinal * frame.tiles() + tile) * users + user];
    return {t.re[k % 16], t.im[k % 16]};
  }
};

// One gain for each user, whatever the symbol and subcarrier; the rest is quantisation.
void expect_separated(TwoWay& cell, std::uint64_t index, double tolerance) {
  Random random(9, index);
  for (std::uint32_t u = 0; u < cell.frame.format().users; ++u) {
    Complex gain = 0;
    double power = 0, error = 0;
    std::vector<std::pair<Complex, Complex>> pairs;
    for (std::uint32_t n = 0; n < 60; ++n) {
      const auto ordinal = static_cast<std::uint32_t>(random.next() % cell.downlink_symbols());
      const auto k =
          static_cast<std::uint32_t>(random.next() % cell.frame.format().numerology.subcarriers);
      const std::uint64_t slot = index % cell.pipeline.ring();
      pairs.push_back({cell.heard(slot, ordinal, u, k), cell.meant(slot, ordinal, u, k)});
      gain += pairs.back().first * std::conj(pairs.back().second);
      power += std::norm(pairs.back().second);
    }
    gain /= power;
    EXPECT_GT(std::abs(gain), 0.1);
    for (const auto& [heard, meant] : pairs) error += std::norm(heard - gain * meant);
    EXPECT_LT(std::sqrt(error / power) / std::abs(gain), tolerance) << "user " << u;
  }
}

}  // namespace

TEST(Downlink, ReachesEachUserAlone) {
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t group : {1U, 5U, 16U})
      for (const auto precision : {Precision::Fp32, Precision::Fp16, Precision::Int16}) {
        FrameFormat format = downlink_format();
        format.combiner.group = group;
        format.combiner.precision = precision;
        format.numerology.dc_hole = precision == Precision::Fp32;
        TwoWay cell(format, isa);
        for (std::uint64_t i = 0; i < 2; ++i) {
          cell.run(i);
          EXPECT_EQ(cell.wrong_blocks(i), 0U);
          expect_separated(cell, i, 0.02);
          EXPECT_EQ(cell.pipeline.slot(i).saturated.load(), 0U);
        }
      }
}

TEST(Downlink, ReachesEachUserAloneOverAFadingBand) {
  emulator::RadioPlan fading = test::clear_air(60);
  fading.taps = 6;
  fading.delay_spread_ns = 300;
  for (const auto precision : {Precision::Fp32, Precision::Int16})
    for (const std::uint32_t group : {1U, 4U, 16U}) {
      FrameFormat format = downlink_format();
      format.antennas = 20;
      format.combiner.group = group;
      format.combiner.precision = precision;
      TwoWay cell(format, active_isa(), fading);
      cell.run(0);
      // A group of 16 has one precoder for channels that differ.
      expect_separated(cell, 0, group == 1 ? 0.03 : group == 4 ? 0.1 : 0.3);
    }
}

TEST(Downlink, CarriesItsUsersBits) {
  for (const auto span : {BlockSpan::Frame, BlockSpan::Symbol}) {
    FrameFormat format = downlink_format();
    format.downlink.block = span;
    format.downlink.modulation = ModulationChoice::Qpsk;
    format.downlink.rate = 0.5;
    format.grants.kind = GrantKind::RoundRobin;
    TwoWay cell(format);
    cell.run(0);
    // QPSK of 38.211 5.1.3: b(0) is the real part's sign, b(1) the imaginary part's; 6.3.1.1's
    // scrambling undone, e must be what encoding the payload gives.
    std::vector<std::uint8_t> codeword(66 * 384 / 8 + 8), info(22 * 384 / 8), e;
    phy::LdpcScratch ldpc;
    for (const auto& tb : cell.frame.program().transport_blocks(Direction::Downlink)) {
      const auto& plan = cell.frame.program().plan(tb);
      ASSERT_EQ(plan.C(), 1U);
      const auto& cb = plan.blocks()[0];
      const auto* payload = cell.downlink[0].data() + tb.payload_offset;
      phy::segment(plan, payload, phy::transport_parity(plan, payload), 0, info.data());
      phy::ldpc_kernels().encode(plan.code(), info.data(), codeword.data(), ldpc);
      e.assign((cb.E + 7) / 8 + 8, 0);
      phy::select_bits(cb.map, codeword.data(), e.data());
      std::vector<std::uint8_t> c((plan.G() + 7) / 8);
      phy::gold(phy::data_scrambling_seed(tb.user + 1U, format.cell_id), 0, plan.G(), c.data());
      std::size_t wrong = 0, counted = 0;
      for (std::uint32_t s = tb.first_symbol; s <= tb.last_symbol; ++s) {
        const auto own = cell.frame.program().allocations(s, tb.user);
        if (own.empty()) continue;  // references
        const Allocation& a = own.front();
        for (std::uint32_t j = 0; j < a.count; ++j)
          for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t re = a.first_re + j, n = 2 * re + i, place = i * cb.E / 2 + re;
            const auto k = a.first_subcarrier + j;
            const auto x = cell.meant(0, cell.frame.symbol(s).ordinal, tb.user, k);
            const bool sent = (i == 0 ? x.real() : x.imag()) < 0;
            const bool bit = (e[place / 8] >> place % 8 & 1) != (c[n / 8] >> n % 8 & 1);
            wrong += sent != bit;
            ++counted;
          }
      }
      EXPECT_EQ(counted, plan.G());
      EXPECT_EQ(wrong, 0U);
    }
  }
}

// Of all antennas, beside what each may have.
static double loudest_power(Precision precision, std::uint32_t group) {
  FrameFormat format = downlink_format();
  format.combiner.precision = precision;
  format.combiner.group = group;
  format.schedule = "PPUGGGGGGGGGG" + std::string(30, 'D');
  TwoWay cell(format);
  cell.run(0);
  double loudest = 0;
  for (std::uint32_t a = 0; a < format.antennas; ++a) {
    double power = 0, samples = 0;
    for (std::uint32_t d = 1; d < cell.downlink_symbols(); ++d) {
      const auto& symbol = cell.frame.symbol(cell.frame.symbols_of(SymbolKind::Downlink)[d]);
      const auto* iq = cell.samples_of(0, d, a) + 2 * symbol.prefix;
      for (std::uint32_t i = 0; i < 2 * format.numerology.fft_size; ++i)
        power += std::pow(iq[i] / 32768.0, 2);
      samples += format.numerology.fft_size;
    }
    loudest = std::max(loudest, power / samples);
  }
  return loudest / static_cast<double>(kTransmitPower);
}

TEST(Downlink, LoudestAntennaHasTheAllowedPower) {
  for (const auto precision : {Precision::Fp32, Precision::Int16})
    for (const std::uint32_t group : {1U, 5U, 16U})
      EXPECT_NEAR(loudest_power(precision, group), 1.0, 0.05) << group;
}

TEST(Downlink, CarriesNoDataWhereNothingIsGranted) {
  FrameFormat format = downlink_format();
  format.grants = test::listed({{0, 0, Direction::Downlink, 2, 2}});
  TwoWay cell(format);
  cell.run(0);
  Complex gain = 0;
  for (std::uint32_t k = 0; k < 72; ++k) {
    EXPECT_EQ(std::norm(cell.meant(0, 1, 0, k)) > 0, k >= 24 && k < 48) << k;
    EXPECT_EQ(std::norm(cell.meant(0, 1, 1, k)), 0.0) << k;
    if (k < 24 || k >= 48) continue;
    if (k == 24) gain = cell.heard(0, 1, 0, k) / cell.meant(0, 1, 0, k);
    EXPECT_LT(std::abs(cell.heard(0, 1, 0, k) / gain - cell.meant(0, 1, 0, k)), 0.03) << k;
  }
  // References neither, but in the groups of subcarriers that have the grant's.
  for (std::uint32_t k = 0; k < 72; ++k) {
    double power = 0;
    for (std::uint32_t a = 0; a < format.antennas; ++a) power += std::norm(cell.bin(0, 0, a, k));
    EXPECT_EQ(power > 1e-3, k >= 16 && k < 48) << k;
  }
}

// --- Which channel the downlink is precoded with ------------------------------------------------

bool all_of_it(Pipeline& pipeline, std::uint64_t frame) {
  return std::ranges::equal(pipeline.chunks(frame), pipeline.graph().graph.instructions(), {}, {},
                            &runtime::Instruction::chunks);
}

TEST(Precoder, OfAgeZeroIsTheFramesOwn) {
  TwoWay cell(downlink_format());
  for (std::uint64_t i = 0; i < 3; ++i) {
    cell.run(i);
    EXPECT_TRUE(cell.pipeline.slot(i).precoder == cell.pipeline.slot(i).combiners);
    EXPECT_TRUE(all_of_it(cell.pipeline, i));
  }
}

TEST(Precoder, OfAnOlderFrameIsTakenWhenItIsThere) {
  for (const std::uint32_t age : {1U, 2U}) {
    FrameFormat format = downlink_format();
    format.deadlines.precoder_age = age;
    format.schedule = "PPDDDUU";
    TwoWay cell(format);
    for (std::uint64_t i = 0; i < 12; ++i) {
      cell.run(i);
      const Combiners* precoder = cell.pipeline.slot(i).precoder;
      if (i < age) {
        EXPECT_TRUE(precoder == nullptr);
        const auto chunks = cell.pipeline.chunks(i);
        const auto& graph = cell.pipeline.graph().graph;
        ASSERT_EQ(chunks.size(), graph.size());
        for (std::uint16_t n = 0; n < graph.size(); ++n) {
          const auto op = static_cast<Op>(graph[n].opcode);
          const bool sends =
              op == Op::Encode || op == Op::Modulate || op == Op::Precode || op == Op::Ifft;
          EXPECT_EQ(chunks[n], sends ? 0U : graph[n].chunks);
        }
      } else {
        ASSERT_TRUE(precoder != nullptr);
        EXPECT_EQ(precoder->frame.load(), i - age);
        EXPECT_TRUE(all_of_it(cell.pipeline, i));
      }
      EXPECT_EQ(cell.wrong_blocks(i), 0U);  // the uplink goes on either way
    }
  }
}

TEST(Precoder, SkipsDroppedFrames) {
  for (const std::uint32_t age : {1U, 2U, 3U}) {
    FrameFormat format = downlink_format();
    format.deadlines.precoder_age = age;
    TwoWay cell(format);
    const std::uint32_t ring = cell.pipeline.ring();
    Random random(4, age);
    std::vector<bool> complete;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const bool dropped = random.next() % 3 != 0;
      if (dropped)
        cell.pipeline.begin(i);  // and nothing of it is done
      else
        cell.run(i);
      complete.push_back(!dropped);
      const Combiners* precoder = cell.pipeline.slot(i).precoder;
      const std::uint64_t taken = precoder == nullptr ? ~0ULL : precoder->frame.load();
      EXPECT_TRUE(precoder == nullptr || (taken + age <= i && taken + age + ring > i)) << i;
      EXPECT_TRUE(precoder == nullptr || complete[taken]) << i;
      // The last frames, as many as the ring has, are all there.
      for (std::uint64_t n = age; n < ring && n <= i; ++n) {
        if (!complete[i - n]) continue;
        EXPECT_EQ(taken, i - n) << "frame " << i;
        break;
      }
    }
  }
}

// Frames come with gaps, as after a pause or the radio's restart, and some stay in flight for long.
TEST(Precoder, IsNeverOverwrittenWhileItsFrameIsInFlight) {
  for (const std::uint32_t age : {0U, 1U, 3U}) {
    FrameFormat format = downlink_format();
    format.deadlines.precoder_age = age;
    TwoWay cell(format);
    const std::uint32_t ring = cell.pipeline.ring();
    struct Flight {
      bool going = false;
      const Combiners *own = nullptr, *precoder = nullptr;
      std::uint64_t of = 0;  // whose the precoder was at first
    };
    std::vector<Flight> flights(ring);
    Random random(5, age);
    std::size_t held = 0, older = 0;
    for (std::uint64_t i = 0; i < 600; i += 1 + (random.next() % 8 == 0 ? random.next() % 20 : 0)) {
      Flight& flight = flights[i % ring];
      if (flight.going && random.next() % 4 != 0) continue;  // refused: the slot is not free
      random.next() % 4 == 0 ? cell.pipeline.begin(i) : cell.run(i);
      const FrameSlot& slot = cell.pipeline.slot(i);
      const Combiners* precoder = slot.precoder;
      flight = {random.next() % 2 == 0, slot.combiners, precoder,
                precoder == nullptr ? 0 : precoder->frame.load()};
      older += precoder != nullptr && age > 0 && i - flight.of > age;
      for (const Flight& other : flights) {
        if (&other == &flight || !other.going) continue;
        ++held;
        EXPECT_TRUE(other.own != slot.combiners) << "frame " << i;
        EXPECT_TRUE(other.precoder != slot.combiners) << "frame " << i;
        if (other.precoder != nullptr && age > 0) {
          EXPECT_EQ(other.precoder->frame.load(), other.of);
        }
      }
    }
    EXPECT_GT(held, 200U);
    EXPECT_EQ(older > 20, age > 0);
  }
}

TEST(Precoder, NumbersFramesBeyondThirtyTwoBits) {
  FrameFormat format = downlink_format();
  format.deadlines.precoder_age = 1;
  TwoWay cell(format);
  const std::uint64_t start = (1ULL << 32) - 1;
  for (std::uint64_t i = start; i < start + 3; ++i) cell.run(i);
  ASSERT_TRUE(cell.pipeline.slot(start + 2).precoder != nullptr);
  EXPECT_EQ(cell.pipeline.slot(start + 2).precoder->frame.load(), start + 1);
}
