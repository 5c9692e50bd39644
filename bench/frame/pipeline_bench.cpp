// Whole frames from memory on one core, opcode by opcode: the cells given with --plan. Samples of
// several frames take turns, and so do the ring's slots, so that a frame finds its samples and its
// arrays where a run finds them: not in the core's caches. Every block of every frame is compared
// with what was sent.
#include <array>
#include <cmath>

#include "app/run_plan.hpp"
#include "emulator/downlink_users.hpp"
#include "emulator/memory_air.hpp"
#include "emulator/payload.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/cpu/serial.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;
using emulator::MemoryAir;

constexpr const char* kChunkOf[kOps] = {"chunk", "block", "antenna", "antenna", "antenna",   "tile",
                                        "tile",  "user",  "tile",    "pack",    "code block"};

FrameFormat read_cell(const std::string& name, const std::string& text,
                      emulator::RadioPlan& radio) {
  std::vector<Problem> problems;
  const app::RunPlan plan = app::parse_run_plan(text, problems);
  if (!problems.empty())
    throw std::runtime_error(name + ": " + problems.front().key + ": " + problems.front().message);
  radio = plan.radio;
  return plan.cell;
}

// Compares what became of a frame with what was sent, outside the time that is measured.
class Check {
 public:
  Check(const Frame& frame, const emulator::RadioPlan& radio)
      : frame_(frame),
        seed_(radio.seed),
        users_(frame, radio),
        sent_(frame.room(Direction::Uplink).payload_bytes),
        to_send_(frame.room(Direction::Downlink).payload_bytes) {}

  void prepare(Pipeline& pipeline, std::uint64_t frame) {
    emulator::fill_payload(frame_, seed_, Direction::Downlink, frame, to_send_.span());
    pipeline.set_downlink(frame, to_send_.data());
  }

  void look(const FrameSlot& slot, std::uint64_t frame, MemoryAir& air) {
    emulator::fill_payload(frame_, seed_, Direction::Uplink, air.replay(frame), sent_.span());
    count(Direction::Uplink, slot.good, slot.payload.data(), sent_.data());
    if (slot.precoder == nullptr || frame_.program().transport_blocks(Direction::Downlink).empty())
      return;
    users_.start(air.replay(frame), frame, [&](std::uint32_t symbol, std::uint32_t antenna) {
      return air.sent(frame, symbol, antenna);
    });
    while (users_.step()) {
    }
    count(Direction::Downlink, users_.good(), users_.payload().data(), users_.expected().data());
  }

  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t failed() const { return failed_; }

 private:
  void count(Direction direction, std::span<const std::uint8_t> good, const std::uint8_t* payload,
             const std::uint8_t* sent) {
    const auto blocks = frame_.program().transport_blocks(direction);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::size_t bytes = (frame_.program().plan(blocks[b]).A() + 7) / 8,
                        at = blocks[b].payload_offset;
      failed_ += good[b] == 0 || !std::equal(payload + at, payload + at + bytes, sent + at);
    }
    blocks_ += blocks.size();
  }

  const Frame& frame_;
  std::uint64_t seed_;
  emulator::DownlinkUsers users_;
  AlignedArray<std::uint8_t> sent_, to_send_;
  std::uint64_t blocks_ = 0, failed_ = 0;
};

// What each instruction took in each frame. The median over frames leaves out a busy machine's
// interruptions, and so does the fastest.
struct Times {
  std::vector<std::vector<double>> of;  // [instruction][frame]

  bench::Sample of_opcode(const runtime::Graph& graph, std::size_t op) {
    bench::Sample sum;
    for (std::uint16_t id = 0; id < graph.size(); ++id) {
      if (graph[id].opcode != op || of[id].empty()) continue;
      const bench::Sample one = bench::summary(of[id]);
      sum.best += one.best;
      sum.median += one.median;
    }
    return sum;
  }
};

Times run_frames(const bench::Bench& bench, Pipeline& pipeline, MemoryAir& air, Check& check) {
  Times times{std::vector<std::vector<double>>(pipeline.graph().graph.size())};
  const std::size_t frames = air.frames() * (bench.options().quick ? 1 : 4);
  for (std::uint64_t f = 0; f < frames + 1; ++f) {
    air.bring(pipeline, f);
    check.prepare(pipeline, f);
    run_serially(pipeline, f, [&](std::uint16_t id, std::uint32_t, Tick start, Tick end) {
      if (f > 0) times.of[id].push_back(static_cast<double>(end - start));
    });
    check.look(pipeline.slot(f), f, air);
  }
  return times;
}

void measure(const bench::Bench& bench, const std::string& name, const std::string& text) {
  emulator::RadioPlan radio;
  const Frame frame(read_cell(name, text, radio));
  std::array<std::uint32_t, kOps> chunks{};
  const FrameGraph graph = build_graph(frame);
  for (const auto& instruction : graph.graph.instructions())
    chunks[instruction.opcode] += instruction.chunks;

  const auto case_of = [&](std::string_view kernel, Isa isa, const char* per, double items) {
    return bench::Case{.kernel = std::string(kernel),
                       .shape = name,
                       .isa = std::string(to_string(isa)),
                       .per = per,
                       .items = items};
  };
  std::vector<Isa> wanted;
  for (const Isa isa : bench.isas()) {
    bool any = bench.begin(case_of("frame", isa, "frame", 1));
    for (std::size_t op = 0; op < kOps; ++op)
      if (chunks[op] > 0) any |= bench.begin(case_of(kOpNames[op], isa, kChunkOf[op], 1));
    if (any) wanted.push_back(isa);
  }
  if (wanted.empty()) return;
  MemoryAir air(frame, radio);
  for (const Isa isa : wanted) {
    Pipeline pipeline(frame, {.workers = 1, .isa = isa});
    air.prepare(pipeline);
    Check check(frame, radio);
    Times times = run_frames(bench, pipeline, air, check);
    const auto report = [&](const bench::Case& c, const bench::Sample& sample) {
      if (!bench.wants(c.kernel, c.shape)) return;
      const bench::FrameCost cost{sample.median / 1e3,
                                  sample.median / static_cast<double>(frame.duration()),
                                  check.blocks(), check.failed()};
      bench.report(c, sample, &cost);
    };
    bench::Sample all;
    for (std::size_t op = 0; op < kOps; ++op) {
      if (chunks[op] == 0) continue;
      const bench::Sample sum = times.of_opcode(graph.graph, op);
      all.best += sum.best;
      all.median += sum.median;
      report(case_of(kOpNames[op], isa, kChunkOf[op], chunks[op]), sum);
    }
    bench::Case whole = case_of("frame", isa, "frame", 1);
    whole.work.bits = static_cast<double>(frame.program().payload_bits(Direction::Uplink) +
                                          frame.program().payload_bits(Direction::Downlink));
    report(whole, all);
  }
}

void run(bench::Bench& bench) {
  for (const auto& [name, text] : bench.options().plans) measure(bench, name, text);
}

const bench::Group group("frame", run);

}  // namespace
