// Frames that do different things, one after another: what each user sends and receives arrives,
// whatever the slots before had.
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "emulator/link.hpp"
#include "frame/cell.hpp"
#include "frame/random_work.hpp"
#include "frame/virtual_run.hpp"
#include "phy/gold/gold.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Cell;

namespace {

using Complex = std::complex<double>;
using test::cases;

std::string text_of(const FrameFormat& format) {
  std::string text;
  write_fields(format, "", text);
  return text;
}

// A receiver that knows the channel, in plain sums and double precision: it shares nothing with the
// pipeline but what the users sent.
class PlainReceiver {
 public:
  explicit PlainReceiver(Cell& cell) : cell_(cell) {}

  // Used subcarrier k at an antenna, from its samples.
  Complex received(std::uint32_t symbol, std::uint32_t antenna, std::uint32_t k) const {
    const auto& n = cell_.frame.format().numerology;
    std::int32_t bin = static_cast<std::int32_t>(k) - static_cast<std::int32_t>(n.subcarriers / 2);
    if (n.dc_hole && bin >= 0) ++bin;
    const auto& s = cell_.frame.symbol(symbol);
    const std::size_t first = std::size_t{antenna} * cell_.frame.samples() + s.first_sample;
    const std::int16_t* iq = &cell_.samples[2 * (first + s.prefix)];
    Complex sum = 0;
    for (std::uint32_t i = 0; i < n.fft_size; ++i)
      sum += Complex(iq[2 * i], iq[2 * i + 1]) *
             std::polar(1.0, -2 * std::numbers::pi * bin * i / n.fft_size);
    return sum;
  }

  // What these users sent there, but for a factor that is the same for all: least squares.
  std::vector<Complex> sent(std::uint32_t symbol, std::uint32_t k,
                            const std::vector<std::uint32_t>& users) const {
    const std::size_t n = users.size();
    std::vector<std::vector<Complex>> a(n, std::vector<Complex>(n + 1));
    for (std::uint32_t antenna = 0; antenna < cell_.frame.format().antennas; ++antenna) {
      const Complex y = received(symbol, antenna, k);
      for (std::size_t i = 0; i < n; ++i) {
        const Complex h = std::conj(channel(users[i], antenna, k));
        for (std::size_t j = 0; j < n; ++j) a[i][j] += h * channel(users[j], antenna, k);
        a[i][n] += h * y;
      }
    }
    for (std::size_t i = 0; i < n; ++i)  // positive definite: no pivots
      for (std::size_t row = 0; row < n; ++row) {
        if (row == i) continue;
        const Complex times = a[row][i] / a[i][i];
        for (std::size_t j = i; j <= n; ++j) a[row][j] -= times * a[i][j];
      }
    std::vector<Complex> s;
    for (std::size_t i = 0; i < n; ++i) s.push_back(a[i][n] / a[i][i]);
    return s;
  }

 private:
  Complex channel(std::uint32_t user, std::uint32_t antenna, std::uint32_t k) const {
    const auto h = cell_.generator.channel().coefficient(user, antenna, k);
    return {static_cast<double>(h.re), static_cast<double>(h.im)};
  }

  Cell& cell_;
};

// TS 38.211 5.1.3–5.1.6: the bits of a symbol of unit mean energy; even ones of its real part.
std::vector<bool> bits_of(Complex s, std::uint32_t bits) {
  const double unit = std::sqrt(1.5 / ((1U << bits) - 1));  // half the distance of two levels
  std::vector<bool> found(bits);
  for (std::uint32_t part = 0; part < 2; ++part) {
    double level = (part == 0 ? s.real() : s.imag()) / unit;
    found[part] = level < 0;
    level = std::abs(level);
    for (std::uint32_t i = part + 2, middle = 1U << (bits / 2 - 1); i < bits; i += 2, middle /= 2) {
      found[i] = level > middle;
      level = std::abs(level - middle);
    }
  }
  return found;
}

// The soft bit that the pipeline made of coded bit e of a code block.
std::int8_t soft_bit(Cell& cell, std::uint64_t index, const CodeBlockPlace& place,
                     std::uint32_t e) {
  const auto& map = cell.program(index).code_block(Direction::Uplink, place).map;
  const std::int8_t* soft = cell.pipeline.slot(index).soft.data() + place.coded_offset;
  if (!map.direct) return soft[e];
  for (std::uint32_t p = 0; p < map.piece_count; ++p)
    if (e >= map.pieces[p].e && e < map.pieces[p].e + map.pieces[p].count)
      return soft[map.pieces[p].d + e - map.pieces[p].e];
  ADD_FAILURE() << "coded bit " << e << " has no place";
  return 0;
}

std::vector<std::uint32_t> users_of(const FrameProgram& program, std::uint32_t symbol,
                                    std::uint32_t k) {
  std::vector<std::uint32_t> users;
  for (const Allocation& a : program.allocations(symbol))
    if (k >= a.first_subcarrier && k < a.first_subcarrier + a.count) users.push_back(a.user);
  return users;
}

// Of the uplink's resource elements every few: the pipeline's soft bits have the signs of what the
// plain receiver finds.
void expect_as_plain(Cell& cell, std::uint64_t index, double scale, std::size_t& compared) {
  const FrameProgram& program = cell.program(index);
  const PlainReceiver plain(cell);
  for (const std::uint32_t s : cell.frame.symbols_of(SymbolKind::Uplink))
    for (const Allocation& a : program.allocations(s)) {
      const TransportBlock& tb = program.transport_blocks(Direction::Uplink)[a.transport_block];
      const phy::TransportPlan& plan = program.plan(tb);
      std::vector<std::uint8_t> c((plan.G() + 7) / 8);
      phy::gold(phy::data_scrambling_seed(a.user + 1, cell.frame.format().cell_id), 0, plan.G(),
                c.data());
      for (std::uint32_t j = 0; j < a.count; j += 7) {
        const std::uint32_t k = a.first_subcarrier + j, re = a.first_re + j;
        const auto users = users_of(program, s, k);
        const auto sent = plain.sent(s, k, users);
        const auto own = std::ranges::find(users, a.user) - users.begin();
        const auto bits = bits_of(sent[static_cast<std::size_t>(own)] / scale, plan.Qm());
        const auto& place = *std::ranges::find_if(
            program.code_blocks(Direction::Uplink).subspan(tb.first_code_block, plan.C()),
            [&](const CodeBlockPlace& each) {
              const auto& block = plan.blocks()[each.index];
              return re < block.first_re + block.re_count;
            });
        const auto& block = plan.blocks()[place.index];
        for (std::uint32_t i = 0; i < plan.Qm(); ++i) {
          const std::uint32_t n = re * plan.Qm() + i;
          const bool bit = bits[i] != ((c[n / 8] >> n % 8 & 1) != 0);
          const std::uint32_t e = i * (block.E / plan.Qm()) + re - block.first_re;
          EXPECT_EQ(soft_bit(cell, index, place, e) < 0, bit)
              << "symbol " << s << ", subcarrier " << k << ", bit " << i << " of " << plan.Qm();
          ++compared;
        }
      }
    }
}

}  // namespace

TEST(SlotWork, IsReceivedAsByAPlainReceiver) {
  test::WorkMaker make(1);
  std::size_t compared = 0;
  for (std::uint32_t i = 0; i < cases(120); ++i) {
    const FrameFormat format = make();
    for (const Isa isa : test::tested_isas()) {
      Cell cell(format, test::clear_air(60), isa);
      // The generator's samples for a symbol of variance 1 over the channel as it says it is.
      const double scale = cell.generator.scale() * 32768 * std::sqrt(format.numerology.fft_size);
      for (std::uint64_t n = 0; n < format.grants.frames; ++n) {
        cell.run(n);
        EXPECT_EQ(cell.wrong_blocks(n), 0U) << to_string(isa) << ", frame " << n << text_of(format);
        expect_as_plain(cell, n, scale, compared);
      }
    }
  }
  EXPECT_GT(compared, cases(50'000));
}

// Thousands of slots; frames follow one another in the same memory.
TEST(SlotWork, OfAnyKindArrivesInBothDirections) {
  test::WorkMaker make(2);
  std::uint64_t up = 0, down = 0;
  for (std::uint32_t i = 0; i < cases(1500); ++i) {
    const FrameFormat format = make();
    const Frame frame(format);
    emulator::LinkSimulator link(
        frame, test::clear_air(55),
        i % 2 == 0 ? emulator::UplinkPath::Samples : emulator::UplinkPath::Subcarriers);
    const auto result = link.run(0, 2 * format.grants.frames + 1);
    EXPECT_EQ(result.uplink.total().block_errors, 0U) << text_of(format);
    EXPECT_EQ(result.downlink.total().block_errors, 0U) << text_of(format);
    up += result.uplink.total().blocks;
    down += result.downlink.total().blocks;
  }
  EXPECT_GT(up, cases(15'000));
  EXPECT_GT(down, cases(5'000));
}

// A plan counts each frame's own chunks.
TEST(SlotWork, TakesItsOwnChunksInVirtualTime) {
  test::WorkMaker make(3);
  for (int i = 0; i < 20; ++i) {
    const Frame frame(make());
    const FrameGraph graph = build_graph(frame);
    const auto policy = runtime::make_policy("earliest-frame", {});
    const std::uint64_t frames = 2 * frame.programs().size();
    VirtualRunOptions options{.frames = frames};
    options.costs.resize(kOps, runtime::Cost{1000, 100, 0, {}});
    const VirtualRun run = run_in_virtual_time(frame, *policy, options);
    std::vector<std::vector<std::uint32_t>> done(frames);
    for (auto& of_frame : done) of_frame.resize(graph.graph.size());
    for (const auto& e : run.executions) done[e.what.frame][e.what.instruction] += e.count;
    for (std::uint64_t n = 0; n < frames; ++n)
      EXPECT_EQ(done[n], graph.work[n % graph.work.size()].chunks) << "frame " << n;
  }
}
