// Whole frames on a GPU against the CPU's pipeline and against what the users sent.
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "frame/cell.hpp"
#include "frame/gpu/body.hpp"
#include "frame/gpu/frame.hpp"
#include "frame/grants.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;
using namespace carillon::phy::cuda;
using test::Cell;
using test::clear_air;
using test::Place;
using test::small_format;

class PlaceMemory final : public GpuMemory {
 public:
  explicit PlaceMemory(Place& place) : place_(place) {}
  void* room(std::size_t bytes) override { return place_.room<std::byte>(bytes); }
  void write(void* to, const void* from, std::size_t bytes) override {
    place_.write(to, from, bytes);
  }

 private:
  Place& place_;
};

void run(Place& place, const std::vector<GpuTask>& tasks) {
  for (const GpuTask& task : tasks)
    std::visit(
        [&]<typename Task>(const Task& each) {
          place.run(
              each, test::KernelBody{},
              +[](const Task& t, cuda::Stream stream) { return launch(t, stream); });
        },
        task);
}

// By symbol and part, as they come, or all of a kind at once.
std::vector<GpuTask> tasks_of(const Frame& frame, const GpuFrame& gpu, bool by_symbol,
                              std::uint32_t parts = 1) {
  std::vector<GpuTask> all;
  const auto add = [&](Op op, std::uint32_t first, std::uint32_t count) {
    for (GpuTask& task : gpu.tasks(op, first, count)) all.push_back(std::move(task));
  };
  const auto each = [&](SymbolKind kind, std::initializer_list<Op> ops) {
    const auto count = static_cast<std::uint32_t>(frame.symbols_of(kind).size());
    const std::uint32_t step = by_symbol ? 1 : count;
    for (std::uint32_t first = 0; first < count; first += step)
      for (const Op op : ops) add(op, first, step);
  };
  each(SymbolKind::Pilot, {Op::PilotFft});
  const std::uint32_t step = by_symbol ? 1 : parts;
  for (std::uint32_t part = 0; part < parts; part += step) add(Op::ZeroForce, part, step);
  each(SymbolKind::Uplink, {Op::UplinkFft, Op::EqualizeDemodulate, Op::Decode, Op::Store});
  each(SymbolKind::Downlink, {Op::Encode, Op::Precode, Op::Ifft});
  return all;
}

// What the cell's pipeline has just received, too.
void put_samples(Place& place, Cell& cell, const GpuFrame& gpu, std::uint64_t index) {
  const std::uint32_t antennas = cell.frame.format().antennas;
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink}) {
    std::vector<std::uint8_t> missing;
    for (const auto s : cell.frame.symbols_of(kind))
      for (std::uint32_t a = 0; a < antennas; ++a) {
        const auto* from = cell.pipeline.slot(index).samples[std::size_t{s} * antennas + a];
        missing.push_back(from == nullptr ? 1 : 0);
        if (from == nullptr) continue;
        place.write(gpu.samples(s, a), from, std::size_t{cell.frame.symbol(s).samples} * 4);
      }
    place.write(gpu.missing(kind), missing.data(), missing.size());
  }
}

// Blocks that both call good have the same bits; how many differ otherwise.
std::size_t compare_uplink(Place& place, Cell& cell, const GpuFrame& gpu, std::uint64_t index,
                           const std::string& what) {
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  const auto good = place.get(gpu.good(), blocks.size());
  const auto judged =
      place.get(gpu.judged(), cell.frame.program().code_blocks(Direction::Uplink).size());
  const auto payload =
      place.get(gpu.payload(Direction::Uplink), cell.frame.room(Direction::Uplink).payload_bytes);
  std::size_t differ = 0;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    bool all = good[b] != 0;
    for (std::uint32_t r = 0; r < cell.frame.program().plan(blocks[b]).C(); ++r)
      all = all && judged[gpu.result_place(blocks[b].first_code_block + r)] != 0;
    differ += all != (cell.pipeline.slot(index).good[b] != 0);
    if (!all) continue;
    EXPECT_EQ(std::memcmp(&payload[blocks[b].payload_offset],
                          cell.generator.payload().data() + blocks[b].payload_offset,
                          (cell.frame.program().plan(blocks[b]).A() + 7) / 8),
              0)
        << what << " block " << b;
  }
  return differ;
}

// Samples on air: those of the CPU but for rounding.
void compare_downlink(Place& place, Cell& cell, const GpuFrame& gpu, std::uint64_t index,
                      const std::string& what) {
  const std::uint64_t slot = index % cell.pipeline.ring();
  double error = 0, power = 0;
  for (const auto s : cell.frame.symbols_of(SymbolKind::Downlink))
    for (std::uint32_t a = 0; a < cell.frame.format().antennas; ++a) {
      const std::size_t numbers = 2 * std::size_t{cell.frame.symbol(s).samples};
      const auto found = place.get(gpu.samples(s, a), numbers);
      const auto* expected = cell.samples_of(slot, cell.frame.symbol(s).ordinal, a);
      for (std::size_t i = 0; i < numbers; ++i) {
        const double wanted = expected[i], off = found[i] - wanted;
        error += off * off;
        power += wanted * wanted;
      }
    }
  EXPECT_GT(power, 0.0) << what;
  // An int16's rounding, which either may decide the other way, or binary16's of the combiners.
  EXPECT_LE(error, 1e-5 * power) << what;
}

void compare(Place& place, const FrameFormat& format, const std::string& what,
             const Cell::Lost& lost = {}, const emulator::RadioPlan& air = clear_air(),
             std::uint32_t parts = 1) {
  Cell cell(format, air);
  const bool clear = !lost && air.snr_db[0] > 20 && air.delay_spread_ns == 0;
  PlaceMemory memory(place);
  std::mt19937 random(1);
  const GpuFrame gpu(cell.frame, memory, parts);
  for (std::uint64_t index = 0; index < 2; ++index) {
    auto& payload = cell.downlink[index];
    for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
    cell.run(index, lost);
    put_samples(place, cell, gpu, index);
    place.write(gpu.payload(Direction::Downlink), payload.data(), payload.size());
    run(place, tasks_of(cell.frame, gpu, index == 0, parts));
    const std::size_t differ = compare_uplink(place, cell, gpu, index, what);
    if (clear) {
      EXPECT_EQ(cell.wrong_blocks(index), 0U) << what;
      EXPECT_EQ(differ, 0U) << what;
    } else {  // near what can be decoded, rounding decides
      EXPECT_LE(differ, 1 + cell.pipeline.slot(index).good.size() / 10) << what;
    }
    if (!cell.frame.symbols_of(SymbolKind::Downlink).empty())
      compare_downlink(place, cell, gpu, index, what);
  }
}

// Of the blocks of two frames, on the CPU.
double good_share(const FrameFormat& format, const emulator::RadioPlan& air) {
  Cell cell(format, air);
  std::size_t good = 0;
  for (std::uint64_t index = 0; index < 2; ++index) {
    cell.run(index);
    good += cell.good_blocks(index);
  }
  return static_cast<double>(good) / static_cast<double>(2 * cell.pipeline.slot(0).good.size());
}

template <typename Change>
FrameFormat changed(Change&& change) {
  FrameFormat format = small_format();
  change(format);
  return format;
}

GPU_TEST(GpuFrame, DecodesWhatTheCpuDoes) {
  for (const std::uint32_t group : {1U, 3U, 16U})
    for (const Precision precision : {Precision::Fp32, Precision::Fp16})
      compare(place, changed([&](FrameFormat& f) {
                f.combiner.group = group;
                f.combiner.precision = precision;
              }),
              "group " + std::to_string(group));
}

GPU_TEST(GpuFrame, KnowsEveryKindOfBlock) {
  const auto of = [&](auto&& change, const char* what) { compare(place, changed(change), what); };
  of([](FrameFormat& f) { f.uplink.block = BlockSpan::Symbol; }, "a block for each symbol");
  of([](FrameFormat& f) { f.uplink.crc = false; }, "no CRC");
  of([](FrameFormat& f) { f.uplink.rate = 0.12; }, "bits that repeat");
  of(
      [](FrameFormat& f) {
        f.numerology.subcarriers = 39;
        f.schedule = "PPUUU";
        f.uplink.rate = 0.2;
        f.uplink.lifting = 7;
        f.uplink.modulation = ModulationChoice::Qam64;
      },
      "bits that repeat in the last code block only");
  of([](FrameFormat& f) { f.uplink.base_graph = 2, f.uplink.lifting = 7; }, "many code blocks");
  of([](FrameFormat& f) { f.grants.kind = GrantKind::RoundRobin; }, "shares of the band");
  of(
      [](FrameFormat& f) {
        f.pilots = {.kind = PilotKind::Comb, .comb = 2};
        f.schedule = "PUUU";
        f.combiner.kind = phy::Detector::Mmse;
      },
      "combs");
}

GPU_TEST(GpuFrame, ServesBothDirections) {
  const auto both = [](FrameFormat& f) {
    f.schedule = "PPUUGGGGGGGGGGDDD";
    f.symbols_per_slot = 17;
  };
  compare(place, changed(both), "downlink");
  compare(place, changed([&](FrameFormat& f) {
            both(f);
            f.combiner.group = 2;
            f.downlink.block = BlockSpan::Symbol;
          }),
          "downlink of symbols");
  // Shares of the band, of which each group has some of both users: else cores, unlike devices,
  // have precoders that leave one out.
  compare(place, changed([&](FrameFormat& f) {
            both(f);
            f.combiner.group = 16;
            f.numerology.subcarriers = 64;
            f.grants = test::listed({{0, 0, Direction::Uplink, 0, 5},
                                     {1, 0, Direction::Uplink, 1, 5},
                                     {0, 0, Direction::Downlink, 0, 5},
                                     {1, 0, Direction::Downlink, 1, 5}});
          }),
          "downlink in shares");
}

// Parts of one combiner in group 1, of any number of tiles in others; the last ones are short.
GPU_TEST(GpuFrame, ForcesZeroInParts) {
  for (const auto& [group, parts] : {std::pair{1U, 2U}, {1U, 5U}, {3U, 2U}, {16U, 2U}}) {
    const FrameFormat format = changed([&, group = group](FrameFormat& f) {
      f.schedule = "PPUUGGGGGGGGGGDDD";
      f.symbols_per_slot = 17;
      f.combiner.group = group;
      if (group != 16) return;
      f.numerology.fft_size = 512;
      f.numerology.subcarriers = 300;
    });
    EXPECT_GE(most_zero_force_parts(Frame(format)), parts);
    compare(place, format, std::to_string(parts) + " parts of group " + std::to_string(group), {},
            clear_air(), parts);
  }
}

GPU_TEST(GpuFrame, NeedsAsFewLaunchesForAllSymbolsAsForOne) {
  PlaceMemory memory(place);
  const Frame frame(changed([](FrameFormat& f) { f.uplink.block = BlockSpan::Symbol; }));
  const GpuFrame gpu(frame, memory);
  EXPECT_EQ(gpu.tasks(Op::PilotFft, 0, 1).size(), gpu.tasks(Op::PilotFft, 0, 2).size());
  for (const Op op : {Op::UplinkFft, Op::EqualizeDemodulate, Op::Decode})
    EXPECT_EQ(gpu.tasks(op, 0, 1).size(), gpu.tasks(op, 0, 4).size());
}

GPU_TEST(GpuFrame, PrecodesInHalfPrecisionWhereThatSuffices) {
  const auto halved = [&](ModulationChoice modulation) {
    PlaceMemory memory(place);
    const Frame frame(changed([&](FrameFormat& f) {
      f.schedule = "PPUUGGGGGGGGGGDDD";
      f.symbols_per_slot = 17;
      f.downlink.modulation = modulation;
    }));
    const GpuFrame gpu(frame, memory);
    return std::get<PrecodeTask>(gpu.tasks(Op::Precode, 0, 1).front()).half_w_scalars != nullptr;
  };
  EXPECT_TRUE(halved(ModulationChoice::Qam64));
  EXPECT_FALSE(halved(ModulationChoice::Qam256));
}

// Captured, a frame is one launch. Nothing can be captured without a device.
GPU_TEST(GpuFrame, FitsIntoAGraph) {
  if (!place.on_device()) return;
  Cell cell(small_format());
  PlaceMemory memory(place);
  const GpuFrame gpu(cell.frame, memory);
  cell.run(0);
  put_samples(place, cell, gpu, 0);
  const cuda::Graph graph([&](cuda::Stream stream) {
    for (const GpuTask& task : tasks_of(cell.frame, gpu, true))
      if (const cuda::Status status = launch(task, stream); !status.ok()) return status;
    return cuda::Status();
  });
  for (const cuda::Status& status : {graph.launch(nullptr), cuda::finish()})
    EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(compare_uplink(place, cell, gpu, 0, "graph"), 0U);
}

GPU_TEST(GpuFrame, LosesWhatTheCpuLoses) {
  const FrameFormat format = small_format();
  compare(place, format, "a pilot and data of some antennas",
          [](std::uint32_t symbol, std::uint32_t antenna) {
            return (symbol == 0 && antenna == 2) || (symbol == 3 && antenna < 3);
          });
  const FrameFormat both = changed([](FrameFormat& f) {
    f.schedule = "PPUUGGGGGGGGGGDDD";
    f.symbols_per_slot = 17;
  });
  compare(place, both, "a pilot of an antenna",
          [](std::uint32_t symbol, std::uint32_t antenna) { return symbol == 1 && antenna == 2; });
  compare(place, both, "a pilot of all antennas but one",
          [](std::uint32_t symbol, std::uint32_t antenna) { return symbol == 1 && antenna != 2; });
  compare(place, format, "nothing came",
          [](std::uint32_t symbol, std::uint32_t) { return symbol > 1; });
  compare(place, format, "noise", {}, clear_air(2));
}

// What combiners for whole groups and interpolation leave then counts as noise, also to MMSE's
// combiners and precoders.
GPU_TEST(GpuFrame, DecodesWhatTheCpuDoesWhereChannelsChangeWithinGroups) {
  emulator::RadioPlan air{.taps = 8, .delay_spread_ns = 1000};
  air.snr_db = {40};
  for (const auto& [comb, group] : {std::pair{1U, 16U}, std::pair{2U, 16U}, std::pair{4U, 1U}})
    for (const auto kind : {phy::Detector::ZeroForcing, phy::Detector::Mmse}) {
      FrameFormat format;
      format.antennas = 16;
      format.users = 4;
      format.numerology.fft_size = 512;
      format.numerology.subcarriers = 300;
      if (comb > 1) format.pilots = {.kind = PilotKind::Comb, .comb = comb};
      format.schedule = std::string(4 / comb, 'P') + "UUUUDD";
      format.combiner = {kind, group};
      format.uplink.rate = 0.5;
      format.uplink.block = BlockSpan::Symbol;
      format.deadlines.downlink_lead_ms = 0;
      EXPECT_GT(good_share(format, air), 0.9) << "comb " << comb;
      compare(place, format, "comb " + std::to_string(comb), {}, air);
      compare(
          place, format, "comb " + std::to_string(comb) + ", an antenna lost",
          [](std::uint32_t symbol, std::uint32_t antenna) {
            return symbol > 3 && antenna == symbol;
          },
          air);
    }
}

}  // namespace
