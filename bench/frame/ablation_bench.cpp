// Where the time of the uplink's stages goes, by ablation, on the cells of the Millipede thesis (8
// users, 1200 subcarriers, a combiner for each): the kernels with inputs and outputs where a run
// has them; with outputs in one place, which stays in the nearest cache; with inputs too. What is
// left is computation; each step's difference is what storing and loading cost beyond it.
#include <random>
#include <span>
#include <vector>

#include "frame/cpu/worker.hpp"
#include "phy/demap/demap.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "phy/transport/transport.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using frame::kTilesAtOnce;

constexpr std::uint32_t kUsers = 8, kSize = 2048, kSubcarriers = 1200, kPrefix = 144;
constexpr std::uint32_t kSymbols = 62;                       // of data in a frame
constexpr std::uint32_t kGrids = 4;                          // of a frame
constexpr std::uint32_t kFrames = 4;                         // whose arrays take turns
constexpr std::size_t kSampleBytes = std::size_t{96} << 20;  // in all, so that they are cold

struct Left {
  const char* name;
  bool loads, stores;  // done where a run does them
};
constexpr Left kLeft[] = {
    {"in place", true, true}, {"without stores", true, false}, {"compute", false, false}};

constexpr const char* kCases[] = {"in place", "without stores", "compute"};
constexpr const char* kDemodulateCases[] = {"in place", "without stores", "compute", "equalize"};

/// Places that take turns, or always the first.
class Turn {
 public:
  explicit Turn(std::size_t places) : places_(places) {}
  std::size_t next(bool moves) {
    place_ = place_ + 1 == places_ ? 0 : place_ + 1;
    return moves ? place_ : 0;
  }

 private:
  std::size_t places_, place_ = 0;
};

class Stages {
 public:
  Stages(const bench::Bench& bench, Isa isa, std::uint32_t antennas)
      : bench_(bench), isa_(isa), shape_{antennas, kUsers, antennas | 1} {}

  void transform() const {
    if (!wanted("ablated fft", "antenna", kCases)) return;
    const OfdmPlan plan({kSize, kSubcarriers, false});
    const OfdmKernels& kernels = ofdm_kernels(isa_);
    OfdmScratch scratch(plan);
    const std::size_t packet = 2 * std::size_t{kSize + kPrefix};
    const std::size_t symbols = kSampleBytes / (packet * 2 * shape_.antennas);
    std::vector<std::int16_t> iq(symbols * shape_.antennas * packet);
    std::minstd_rand random(1);
    for (auto& sample : iq) sample = static_cast<std::int16_t>(random() % 8192 - 4096);
    const std::size_t grid = std::size_t{plan.tiles()} * shape_.antenna_stride;
    AlignedArray<Tile> grids(kFrames * kGrids * grid);
    Turn from(symbols), to(kFrames * kGrids);
    for (const Left& left : kLeft)
      time("ablated fft", left, "antenna", shape_.antennas, [&] {
        const std::int16_t* in = &iq[from.next(left.loads) * shape_.antennas * packet];
        Tile* out = &grids[to.next(left.stores) * grid];
        for (std::uint32_t a = 0; a < shape_.antennas; ++a) {
          const std::int16_t* samples = in + (left.loads ? a : 0) * packet + 2 * kPrefix;
          const bool more = a + 1 < shape_.antennas;
          scratch.next = left.loads && more ? samples + packet : nullptr;
          Tile* row = left.stores ? out + a : out;
          kernels.receive(plan, samples, row, left.stores ? shape_.antenna_stride : 1, scratch);
        }
      });
  }

  void combine() const {
    if (!wanted("ablated zeroforce", "subcarrier", kCases)) return;
    const ZeroForceKernels& kernels = zeroforce_kernels(isa_);
    const AlignedArray<Tile> csi = bench::random_tiles(kFrames * frame());
    AlignedArray<Tile> w(kFrames * frame());
    AlignedArray<float> noise(std::size_t{kFrames} * tiles() * kUsers * kTileLanes);
    ZeroForceScratch scratch(kUsers);
    Turn from(kFrames), to(kFrames);
    for (const Left& left : kLeft)
      time("ablated zeroforce", left, "subcarrier", kSubcarriers, [&] {
        const std::size_t in = from.next(left.loads), out = to.next(left.stores);
        for (std::uint32_t t = 0; t < tiles(); ++t) {
          const std::size_t i = left.loads ? in * tiles() + t : 0;
          const std::size_t o = left.stores ? out * tiles() + t : 0;
          kernels.combine(Detector::ZeroForcing, shape_, 0.1F, &csi[i * block()], &w[o * block()],
                          &noise[o * kUsers * kTileLanes], scratch);
        }
      });
  }

  // 16QAM, one code block for each user and symbol, as in the thesis-16x8 cell.
  void demodulate() const {
    if (!wanted("ablated demodulate", "subcarrier", kDemodulateCases)) return;
    constexpr std::uint32_t kBits = 4, kCoded = kSubcarriers * kBits;
    const AlignedArray<Tile> w = bench::random_tiles(kFrames * frame());
    const AlignedArray<Tile> y =
        bench::random_tiles(std::size_t{kFrames} * kGrids * tiles() * shape_.antenna_stride);
    const std::vector<float> noise(std::size_t{tiles()} * kUsers * kTileLanes, 0.01F);
    const LdpcCode code{1, 72};
    const SoftMap map = match_rate(code, 0, code.length(), 0, kBits, kCoded);
    const std::size_t block_bytes = (std::max<std::size_t>(code.length(), kCoded) + 63) / 64 * 64;
    std::vector<std::int8_t> soft(std::size_t{kFrames} * kSymbols * kUsers * block_bytes);
    const std::vector<std::uint16_t> signs(std::size_t{kBits} * tiles() + 1, 0x5A5A);
    AlignedArray<Tile> s(std::size_t{kTilesAtOnce} * kUsers);
    Turn from(std::size_t{kFrames} * kSymbols), to(std::size_t{kFrames} * kSymbols);

    const auto equalize = [&](const Left& left, std::size_t symbol, std::uint32_t t,
                              std::uint32_t i) {
      const std::size_t frame = symbol / kSymbols, grid = frame * kGrids + symbol % kGrids;
      const std::size_t at = left.loads ? frame * tiles() + t : 0;
      const std::size_t row = left.loads ? grid * tiles() + t : 0;
      equalize_kernels(isa_).per_group(shape_, {}, &w[at * block()],
                                       &y[row * shape_.antenna_stride],
                                       &s[std::size_t{i} * kUsers]);
    };
    const auto demap = [&](std::size_t symbol, std::uint32_t t, std::uint32_t count) {
      for (std::uint32_t u = 0; u < kUsers; ++u)
        demap_kernels(isa_).demap(Modulation::Qam16,
                                  {.map = map,
                                   .re = t * kTileLanes,
                                   .first = 0,
                                   .count = count * kTileLanes,
                                   .s = &s[u],
                                   .stride = kUsers,
                                   .noise = &noise[(std::size_t{t} * kUsers + u) * kTileLanes],
                                   .noise_stride = std::size_t{kUsers} * kTileLanes,
                                   .signs = &signs[t],
                                   .sign_stride = tiles(),
                                   .soft = &soft[(symbol * kUsers + u) * block_bytes]});
    };
    const auto symbol_of = [&](const Left& left, bool demaps) {
      return [&, left, demaps] {
        const std::size_t in = from.next(left.loads), out = to.next(left.stores);
        for (std::uint32_t t = 0; t < tiles(); t += kTilesAtOnce) {
          const std::uint32_t count = std::min(kTilesAtOnce, tiles() - t);
          for (std::uint32_t i = 0; i < count; ++i) equalize(left, in, t + i, i);
          if (demaps) demap(out, t, count);
        }
      };
    };
    for (const Left& left : kLeft)
      time("ablated demodulate", left, "subcarrier", kSubcarriers, symbol_of(left, true));
    // The product alone, of what is left.
    time("ablated demodulate", {"equalize", false, false}, "subcarrier", kSubcarriers,
         symbol_of({"", false, false}, false));
  }

 private:
  std::uint32_t tiles() const { return tiles_for(kSubcarriers); }
  std::size_t block() const { return std::size_t{kUsers} * shape_.antenna_stride; }
  std::size_t frame() const { return tiles() * block(); }

  bench::Case of(const char* kernel, const char* left, const char* per, double items) const {
    return {.kernel = kernel,
            .shape = bench::name_of(shape_) + " " + left,
            .isa = std::string(to_string(isa_)),
            .per = per,
            .items = items};
  }
  // Whether any of a stage's cases is asked for, so that its arrays are worth making.
  bool wanted(const char* kernel, const char* per, std::span<const char* const> cases) const {
    bool any = false;
    for (const char* left : cases) any |= bench_.begin(of(kernel, left, per, 1));
    return any;
  }
  template <typename Call>
  void time(const char* kernel, const Left& left, const char* per, double items,
            Call&& call) const {
    bench_.time(of(kernel, left.name, per, items), call);
  }

  const bench::Bench& bench_;
  Isa isa_;
  ArrayShape shape_;
};

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const std::uint32_t antennas : {8U, 16U, 32U, 64U}) {
      const Stages stages(bench, isa, antennas);
      stages.transform();
      stages.combine();
      stages.demodulate();
    }
}

const bench::Group group("frame/ablation", run);

}  // namespace
