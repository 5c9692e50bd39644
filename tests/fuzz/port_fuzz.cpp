// Fuzz target: whatever a client of a data port says and whenever frames begin, no block is counted
// twice or not at all, and none is read beyond its end. An input is a row of steps: a byte that
// says what is done, and for a datagram two of its length and its bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "frame/frame.hpp"
#include "port/exchange.hpp"
#include "port/small_cell.hpp"

using namespace carillon;

namespace {

frame::FrameFormat format(frame::GrantKind kind) {
  frame::FrameFormat f = small_cell();
  f.grants.kind = kind;
  return f;
}

// Whose frames all do the same, and that a client schedules.
const frame::Frame& same() {
  static const frame::Frame frame(format(frame::GrantKind::Full));
  return frame;
}
const frame::Frame& scheduled() {
  static const frame::Frame frame(format(frame::GrantKind::Port));
  return frame;
}

void require(bool holds) {
  if (!holds) std::abort();
}

struct Run {
  explicit Run(const frame::Frame& frame) : cell(frame) {}

  void begin() {
    const auto work = exchange.hold(next);
    const frame::FrameProgram& program =
        cell.scheduled_by_port() && work.program != nullptr ? *work.program : cell.program();
    const auto blocks = program.transport_blocks(frame::Direction::Downlink);
    std::vector<const std::uint8_t*> bits(blocks.size());
    exchange.take({next, 0}, 0, bits);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::uint32_t length = program.plan(blocks[b]).A();
      const std::uint8_t last = bits[b][port::bytes_for(length) - 1];
      require(length % 8 == 0 || (last & (0xff >> length % 8)) == 0);
    }
    all += blocks.size();
    held.push_back(next++);
  }
  void release() {
    if (held.empty()) return;
    exchange.release({held.front(), 0});
    exchange.release(held.front());
    held.pop_front();
  }
  void say(std::span<const std::uint8_t> datagram) {
    const port::Parsed parsed = port::parse(datagram, cell.format().cell_id);
    if (parsed.why != port::Refusal::None) return;
    if (parsed.message.type == port::MessageType::Bits)
      return (void)exchange.offer(parsed.message, parsed.piece);
    std::vector<Problem> problems;
    const auto grants = port::list_of(parsed.piece);
    const auto why = exchange.schedule(parsed.message.frame, grants, problems);
    if (why != port::Refusal::None) return;
    for (const Problem& problem : problems)
      require(frame::grant_of(problem) < grants.size() / frame::kGrantNumbers);
    const frame::FrameProgram& program = exchange.program(parsed.message.frame);
    for (const auto d : {frame::Direction::Uplink, frame::Direction::Downlink})
      require(cell.room(d).holds(program.room(d)));
  }
  void close() {
    exchange.close();
    const port::PortCounters counters = exchange.counters();
    require(counters.accepted == counters.used + counters.unused);
    require(counters.used + counters.padded == all);
  }

  const frame::Frame& cell;
  port::Exchange exchange{cell, frame::Direction::Downlink, 4};
  std::uint32_t next = 0;
  std::size_t all = 0;  // blocks of frames that have begun
  std::deque<std::uint32_t> held;
};

void run_steps(const frame::Frame& cell, std::span<const std::uint8_t> rest) {
  Run run(cell);
  while (!rest.empty()) {
    const unsigned step = rest[0] % 4;
    rest = rest.subspan(1);
    if (step == 0) run.begin();
    if (step == 1) run.release();
    if (step < 2 || rest.size() < 2) continue;
    const std::size_t length = std::min<std::size_t>(rest[0] | rest[1] << 8, rest.size() - 2);
    run.say(rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  run.close();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run_steps(same(), {data, size});
  run_steps(scheduled(), {data, size});
  return 0;
}
