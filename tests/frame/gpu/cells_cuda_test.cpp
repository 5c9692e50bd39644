// Cells on a pool of GPUs, from samples to the users' bits and back, under every policy: imaginary
// devices carry out the kernels' own text. Where there is a device, on that too.
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "frame/cell.hpp"
#include "frame/gpu/cells.hpp"
#include "frame/gpu/imaginary_place.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/scheduler.hpp"
#include "support/fake_gpus.hpp"
#include "support/place.hpp"
#include "support/watched.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;
using runtime::CudaExecutor;
using runtime::FrameEvent;
using runtime::FrameRef;
using test::Cell;
using test::FakeGpus;
using test::ImaginaryPlace;

constexpr std::uint32_t kRing = 3;

// How samples come to devices: by way of arrays, or from where they were received.
enum class Way : std::uint8_t { Arrays, Packets };

// One cell's frames through scheduler, policy and executor.
class Station {
 public:
  Station(Cell& cell, std::string_view policy, std::uint16_t devices, std::uint64_t seed,
          Way way = Way::Arrays, std::uint32_t parts = 1)
      : cell_(cell),
        way_(way),
        graph_(build_pool_graph(cell.frame, {.deadline = 1000 * kSecond, .zero_force_parts = parts},
                                *find_pool_profile("roofline"))),
        board_(boards(), devices),
        policy_(runtime::make_pool_policy(policy)),
        gpus_(devices, CudaExecutor::needs(board_), seed),
        place_(gpus_, devices),
        cells_({{cell.frame, graph_, kRing, way == Way::Packets}}, devices, place_),
        executor_(board_, gpus_, cells_, {.patience = 100 * kMillisecond}),
        arrivals_(arrivals()),
        scheduler_(board_, arrivals_, *policy_, executor_),
        random_(seed) {
    std::vector<runtime::OnType> profile(graph_.graph.opcodes());
    for (std::uint16_t i = 0; i < graph_.graph.size(); ++i) {
      runtime::OnType& on = profile[graph_.graph[i].opcode];
      on.sms = graph_.work[i].footprint.ctas != 0 ? 20 : 0;
      on.alone = 10'000;
      on.time.start(10'000);
      on.copy = 5'000;
    }
    board_[0].set_profile(std::move(profile), 1e6);
    place_.reach(std::as_writable_bytes(std::span(cell.samples)));
    for (std::uint16_t d = 0; d < devices; ++d) {
      board_.device(d).sms = 132;
      place_.forget(d);
    }
  }

  /// Frame `index`, which the cell's pipeline has just received too. Fails until it is done.
  void run(std::uint64_t index) {
    begin(index);
    for (const std::uint16_t i : received()) feed(index, i);
    const Tick late = gpus_.now() + 60 * kSecond;
    while (!done_ && gpus_.now() < late) {
      gpus_.pass(kMicrosecond);
      disturb();
      for (std::uint64_t n = random_.next() % 30; n > 0 && gpus_.step(); --n) {
      }
      step();
    }
    EXPECT_TRUE(done_);
  }
  /// The same, one symbol after the other: how many orders the device was given for each. It does
  /// them at once, or begins when it has them all.
  std::vector<std::uint64_t> orders_of_symbols(std::uint64_t index, bool at_once) {
    begin(index);
    std::vector<std::uint64_t> orders;
    for (const std::uint16_t i : received()) {
      const std::uint64_t before = gpus_.orders();
      gpus_.pass(kMillisecond);
      feed(index, i);
      do step();
      while (at_once && gpus_.step());
      orders.push_back(gpus_.orders() - before);
    }
    while (gpus_.step()) {
    }
    step();
    EXPECT_TRUE(done_);
    return orders;
  }
  /// From now on each device's streams share so many hardware queues.
  void share_queues(std::uint32_t queues) { gpus_.share_queues(queues, FakeGpus::Card::Each); }
  void release(std::uint64_t index) { scheduler_.release({0, board_[0].slot(index)}); }

  double faults = 0;  // chance of one, now and then
  std::uint64_t again() const { return again_; }
  std::uint64_t copies() const { return executor_.copies(); }
  const GpuCells& cells() const { return cells_; }
  const ImaginaryPlace& place() const { return place_; }
  /// Which device brought what a symbol yielded.
  std::uint16_t brought(std::uint64_t index, std::uint32_t symbol) const {
    for (std::uint16_t i = 0; i < graph_.graph.size(); ++i)
      if (graph_.graph[i].opcode == static_cast<std::uint16_t>(Op::Store) &&
          graph_.graph[i].step == symbol)
        return board_[0].status(board_[0].slot(index), i).device;
    return 0;
  }

 private:
  std::vector<runtime::Arrivals> arrivals() const {
    std::vector<runtime::Arrivals> arrivals;
    arrivals.emplace_back(graph_.graph, kRing);
    return arrivals;
  }
  std::vector<runtime::SourceWriter> boards() const {
    std::vector<runtime::SourceWriter> boards;
    boards.emplace_back(graph_.graph, kRing, kOpNames, std::vector<std::uint32_t>{});
    return boards;
  }

  void begin(std::uint64_t index) {
    const FrameRef at{0, board_[0].slot(index)};
    arrivals_[0].clear(at.slot);
    const std::vector<std::uint32_t> chunks(graph_.graph.size(), 1);
    done_ = false;
    ASSERT_TRUE(scheduler_.admit({index, 0}, gpus_.now(), chunks, gpus_.now()));
    write(at, index);
  }
  // What is fed when a symbol has been received, in their order.
  std::vector<std::uint16_t> received() const {
    std::vector<std::uint16_t> received;
    for (std::uint16_t i = 0; i < graph_.graph.size(); ++i)
      if (graph_.graph[i].feed == runtime::Feed::Arrivals) received.push_back(i);
    return received;
  }
  void feed(std::uint64_t index, std::uint16_t instruction) {
    const FrameRef at{0, board_[0].slot(index)};
    arrivals_[0].add(at.slot, instruction, 0, 1);
    scheduler_.fed(at, instruction, gpus_.now());
  }
  void step() {
    scheduler_.step(gpus_.now());
    scheduler_.publish();
    take_events();
  }
  void write(FrameRef at, std::uint64_t index) {
    const std::uint32_t antennas = cell_.frame.format().antennas;
    for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
      for (const std::uint16_t s : cell_.frame.symbols_of(kind))
        for (std::uint32_t a = 0; a < antennas; ++a) {
          const auto* from = cell_.pipeline.slot(index).samples[std::size_t{s} * antennas + a];
          if (way_ == Way::Packets) {
            cells_.packets(at, s)[a] = from;
            continue;
          }
          cells_.missing(at, s, a) = from == nullptr ? 1 : 0;
          if (from != nullptr)
            std::memcpy(cells_.samples(at, s, a), from,
                        std::size_t{cell_.frame.symbol(s).samples} * 4);
        }
    const auto& payload = cell_.downlink[index % cell_.downlink.size()];
    if (payload.size() != 0)
      std::memcpy(cells_.downlink_payload(at), payload.data(),
                  cell_.frame.room(Direction::Downlink).payload_bytes);
  }

  void disturb() {
    const auto device = static_cast<std::uint16_t>(random_.next() % gpus_.devices());
    if (random_.uniform() < faults) {
      gpus_.lose(device);
      place_.forget(device);
    }
    if (random_.uniform() < faults) gpus_.refuse_after(20, test::Refusal::Once);
    if (random_.uniform() < 0.2) {
      gpus_.mend(device);
      executor_.recover();
    }
  }

  void take_events() {
    std::array<FrameEvent, 16> events;
    while (const std::size_t count = scheduler_.poll(0, events))
      for (const FrameEvent& event : std::span(events).first(count)) {
        if (event.kind != FrameEvent::Kind::Done) continue;
        done_ = true;
        for (const auto& status : board_[0].statuses(event.slot)) again_ += status.runs;
      }
  }

  Cell& cell_;
  Way way_;
  PoolGraph graph_;
  runtime::ScoreboardWriter board_;
  std::unique_ptr<runtime::Policy> policy_;
  FakeGpus gpus_;
  ImaginaryPlace place_;
  GpuCells cells_;
  CudaExecutor executor_;
  std::vector<runtime::Arrivals> arrivals_;
  runtime::Scheduler scheduler_;
  Random random_;
  bool done_ = false;
  std::uint64_t again_ = 0;
};

// What the users sent is what comes out, and what goes on air is what the CPU sends but for
// rounding.
void compare(Station& station, Cell& cell, std::uint64_t index, const std::string& what) {
  const FrameRef at{0, static_cast<std::uint16_t>(index % kRing)};
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const std::uint16_t device = station.brought(index, blocks[b].last_symbol);
    EXPECT_TRUE(station.cells().good(at, device, b)) << what << ", block " << b;
    EXPECT_EQ(std::memcmp(station.cells().payload(at, device) + blocks[b].payload_offset,
                          cell.generator.payload().data() + blocks[b].payload_offset,
                          (cell.frame.program().plan(blocks[b]).A() + 7) / 8),
              0)
        << what << ", block " << b;
  }
  double error = 0, power = 0;
  for (const std::uint16_t s : cell.frame.symbols_of(SymbolKind::Downlink)) {
    const std::uint16_t device = station.brought(index, s);
    for (std::uint32_t a = 0; a < cell.frame.format().antennas; ++a) {
      const std::int16_t* const ours = station.cells().radiated(at, device, s, a);
      const std::int16_t* const its =
          cell.samples_of(index % cell.pipeline.ring(), cell.frame.symbol(s).ordinal, a);
      for (std::uint32_t i = 0; i < 2 * cell.frame.symbol(s).samples; ++i) {
        error += (ours[i] - its[i]) * (ours[i] - its[i]);
        power += its[i] * its[i];
      }
    }
  }
  if (power > 0) {
    EXPECT_LT(error, 1e-5 * power) << what;
  }
}

FrameFormat both_directions() {
  FrameFormat format = test::small_format();
  format.schedule = "PPUUUGGGGGGGGGGDDD";
  format.symbols_per_slot = 18;
  format.uplink.block = BlockSpan::Symbol;
  format.downlink.block = BlockSpan::Symbol;
  return format;
}

void serve(const FrameFormat& format, std::string_view policy, std::uint16_t devices, double faults,
           std::uint64_t& copies, std::uint64_t& again, Way way = Way::Arrays,
           std::uint32_t parts = 1, std::uint32_t queues = 0) {
  Cell cell(format);
  Station station(cell, policy, devices, devices + 10, way, parts);
  if (queues != 0) station.share_queues(queues);
  station.faults = faults;
  // An antenna's data, and its pilot: estimates are averaged, and bits are coded well.
  const bool bears = format.combiner.group > 1 && format.uplink.rate < 0.5;
  for (std::uint64_t index = 0; index < 4; ++index) {
    cell.run(index, [&](std::uint32_t s, std::uint32_t a) {
      return (s == 3 && a == index + 1) || (bears && s == 1 && a == index);
    });
    station.run(index);
    compare(station, cell, index, std::string(policy));
    station.release(index);
  }
  copies += station.copies();
  again += station.again();
}

TEST(GpuCells, ReceiveAndSendUnderEveryPolicyOnAnyDevices) {
  unsigned which = 0;
  for (const std::string_view policy : runtime::pool_policy_names()) {
    if (test::left_out(which++)) continue;
    std::uint64_t copies = 0, again = 0;
    for (const std::uint16_t devices : std::array<std::uint16_t, 2>{1, 3})
      for (const Way way : {Way::Arrays, Way::Packets})
        serve(both_directions(), policy, devices, 0, copies, again, way);
    EXPECT_EQ(again, 0U);
    if (policy == "task-level") {
      EXPECT_GT(copies, 5U);
    }
  }
}

// A symbol then needs what several devices have made.
TEST(GpuCells, ForceZeroInPartsOnSeveralDevices) {
  FrameFormat format = both_directions();
  format.combiner.group = 1;
  std::uint64_t copies = 0, again = 0;
  for (const std::string_view policy : runtime::pool_policy_names())
    for (const double faults : {0.0, 0.05})
      serve(format, policy, 3, faults, copies, again, Way::Packets, 3);
  EXPECT_GT(copies, 50U);
  EXPECT_GT(again, 10U);
  Cell cell(format);
  EXPECT_THROW(Station(cell, "adaptive", 2, 1, Way::Packets, 6), std::invalid_argument);
}

TEST(GpuCells, ServeBlocksThatSpanSymbolsOnOneDevice) {
  FrameFormat format = test::small_format();
  format.uplink.base_graph = 2;
  format.uplink.lifting = 7;  // many code blocks
  std::uint64_t copies = 0, again = 0;
  serve(format, "adaptive", 1, 0, copies, again);
  Cell cell(format);
  EXPECT_THROW(Station(cell, "adaptive", 2, 1), std::invalid_argument);
}

// Code blocks happen to end with their symbols, transport blocks go on: what is known of the first
// ones comes from other devices.
TEST(GpuCells, ServeTransportBlocksOfSeveralSymbolsOnSeveralDevices) {
  FrameFormat format = test::small_format();
  format.numerology.fft_size = 2048;
  format.numerology.subcarriers = 1200;
  format.schedule = "PPUU";
  format.uplink.modulation = ModulationChoice::Qam64;
  format.uplink.rate = 0.66;
  const Frame frame(format);
  EXPECT_TRUE(blocks_within_symbols(frame));
  EXPECT_EQ(frame.program().plan(frame.program().transport_blocks(Direction::Uplink)[0]).C(), 2U);
  std::uint64_t copies = 0, again = 0;
  for (const std::string_view policy : {"task-level", "symbol-level"})
    serve(format, policy, 2, 0, copies, again);
  EXPECT_GT(copies, 0U);
}

// Combiners and what else stays on a device have no counterpart on the host.
TEST(GpuCells, HaveHostMemoryForWhatGoesInAndComesOutOnly) {
  Cell cell(both_directions());
  Station station(cell, "adaptive", 1, 1);
  const Frame& frame = cell.frame;
  std::size_t samples = 0;
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
    if (frame.symbol(s).kind != SymbolKind::Guard)
      samples += std::size_t{frame.symbol(s).samples} * 4 * frame.format().antennas;
  EXPECT_GE(station.place().host_bytes(), kRing * samples);
  EXPECT_LT(station.place().host_bytes(), 2 * kRing * samples);
  EXPECT_GT(station.place().device_bytes(0), 2 * kRing * samples);
  // The packets themselves are somebody else's.
  Station other(cell, "adaptive", 1, 1, Way::Packets);
  EXPECT_LT(other.place().host_bytes(), station.place().host_bytes() - kRing * samples / 3);
}

// All of a symbol, all but what is fetched, what of it needs no other, and the rest: the first
// pilot needs no other; of the last, the rest is zero-forcing; of both, also what PilotFft is; of
// uplink symbols, what they yield on its way to the host; of the downlink's, the first has pilots
// only, which need a precoder, and where blocks begin, to fetch and to encode them are two orders,
// which are no graph.
TEST(GpuCells, GiveSymbolsOfManyOrdersAsOne) {
  Cell cell(both_directions());
  Station station(cell, "adaptive", 2, 1);
  const std::uint32_t first_pilot = 2, last_pilot = 5, uplink = 5, pilots_down = 1, downlink = 4,
                      encoded = 2;
  EXPECT_EQ(
      station.place().graphs(),
      kRing * 2 * (first_pilot + last_pilot + 3 * uplink + pilots_down + 2 * downlink - encoded));
}

// One launch and one word, and an event for what others read; and where what is read of other
// symbols is not known to be there, a launch before it and the wait.
TEST(GpuCells, OrderASymbolWithFewCalls) {
  FrameFormat format = both_directions();
  format.schedule = "PPUUUGGGGGGGGGGGGG";
  for (const Way way : {Way::Arrays, Way::Packets}) {
    Cell cell(format);
    Station station(cell, "adaptive", 1, 1, way);
    for (std::uint64_t index = 0; index < 2; ++index) {
      cell.run(index, [](std::uint32_t, std::uint32_t) { return false; });
      const bool at_once = index == 0;
      // Two launches, to gather packets and transform them, are no graph.
      const std::uint64_t data = at_once ? 2 : way == Way::Arrays ? 4 : 5;
      const std::vector<std::uint64_t> expected{3, at_once ? 3U : 5U, data, data, data};
      EXPECT_EQ(station.orders_of_symbols(index, at_once), expected);
      compare(station, cell, index, "one by one");
      station.release(index);
    }
  }
}

// A frame in one stream, which has not begun. Two runs for a symbol but the first: gather, event,
// word; then wait, launch, word, and an event if others read of it.
TEST(GpuCells, FetchBesideAStreamThatIsBusy) {
  FrameFormat format = both_directions();
  format.schedule = "PPUUUGGGGGGGGGGGGG";
  Cell cell(format);
  Station station(cell, "frame-level", 1, 1, Way::Packets);
  cell.run(0, [](std::uint32_t, std::uint32_t) { return false; });
  const std::vector<std::uint64_t> expected{3, 7, 6, 6, 6};
  EXPECT_EQ(station.orders_of_symbols(0, false), expected);
  compare(station, cell, 0, "in one stream");
}

TEST(GpuCells, AreServedInOneQueueToo) {
  FrameFormat format = both_directions();
  format.combiner.group = 1;
  for (const std::string_view policy : runtime::pool_policy_names()) {
    std::uint64_t copies = 0, again = 0;
    serve(format, policy, 3, 0, copies, again, Way::Packets, 3, 1);
    EXPECT_EQ(again, 0U) << policy;
  }
}

TEST(GpuCells, LoseNothingWithTheirDevices) {
  std::uint64_t again = 0;
  for (const std::string_view policy : runtime::pool_policy_names()) {
    std::uint64_t copies = 0;
    for (const Way way : {Way::Arrays, Way::Packets})
      serve(both_directions(), policy, 3, 0.05, copies, again, way);
  }
  EXPECT_GT(again, 10U);
}

}  // namespace
