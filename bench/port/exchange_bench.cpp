// What a data port costs the cell's threads: when a frame begins, and for each block that is
// received. 64 users, 64QAM, blocks of a slot in each direction; the owner takes its turn on the
// same core, outside of what is measured.
#include <algorithm>
#include <vector>

#include "frame/frame.hpp"
#include "port/exchange.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using frame::Direction;

frame::FrameFormat cell() {
  frame::FrameFormat f;
  f.antennas = f.users = 64;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1200;
  f.pilots.kind = frame::PilotKind::Comb;
  f.pilots.comb = 16;
  f.schedule = "PPPPUUUUUGDDDD";
  f.uplink.modulation = f.downlink.modulation = frame::ModulationChoice::Qam64;
  return f;
}

class Port {
 public:
  Port() : bits_(blocks(Direction::Downlink).size()) {
    for (const auto& block : blocks(Direction::Downlink))
      given_.emplace_back(port::bytes_for(frame_.program().plan(block).A()), std::uint8_t{1});
    for (const auto& block : blocks(Direction::Uplink))
      received_.emplace_back(port::bytes_for(frame_.program().plan(block).A()), std::uint8_t{1});
    begin();
  }

  std::span<const frame::TransportBlock> blocks(Direction direction) const {
    return frame_.program().transport_blocks(direction);
  }
  double received_bits() const { return static_cast<double>(8 * received_[0].size()); }

  void give() {
    for (std::uint32_t b = 0; b < given_.size(); ++b)
      (void)exchange_.offer(port::message_of(port::MessageType::Bits, frame_, frame_.program(next_),
                                             Direction::Downlink, next_, b),
                            given_[b]);
  }
  void begin() {
    exchange_.take({next_, 0}, 0, bits_);
    exchange_.release({next_++, 0});
  }
  void receive() {
    for (std::uint32_t b = 0; b < received_.size(); ++b)
      exchange_.receive(
          {next_, 0}, {.block = b, .verdict = frame::Verdict::Good, .at = 0, .bits = received_[b]});
  }
  void fetch() {
    while (exchange_.front() != nullptr) exchange_.pop();
  }

 private:
  frame::Frame frame_{cell()};
  port::Exchange exchange_{frame_, Direction::Downlink, 4};
  std::vector<std::vector<std::uint8_t>> given_, received_;
  std::vector<const std::uint8_t*> bits_;
  std::uint32_t next_ = 0;
};

// The cell's part of turns that it shares with the owner.
template <typename Owner, typename Cell>
bench::Sample cost(const bench::Bench& bench, double items, Owner&& owner, Cell&& cell) {
  std::vector<double> rounds;
  for (int round = bench.options().quick ? 100 : 2000; round > 0; --round) {
    owner();
    const Tick start = now();
    cell();
    rounds.push_back(static_cast<double>(now() - start) / items);
  }
  return bench::summary(rounds);
}

void run(bench::Bench& bench) {
  const bench::Case take{.kernel = "take", .shape = "64 blocks", .per = "frame"};
  bench::Case receive{.kernel = "receive", .shape = "64 blocks", .per = "block"};
  const bool wanted[] = {bench.begin(take), bench.begin(receive)};
  if (!wanted[0] && !wanted[1]) return;
  Port port;
  receive.work.bits = port.received_bits();
  if (wanted[0])
    bench.report(take, cost(
                           bench, 1, [&] { port.give(); }, [&] { port.begin(); }));
  const auto blocks = static_cast<double>(port.blocks(Direction::Uplink).size());
  if (wanted[1])
    bench.report(receive, cost(
                              bench, blocks, [&] { port.fetch(); }, [&] { port.receive(); }));
}

const bench::Group group("port", run);

}  // namespace
