#include "app/accelerator.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace carillon::app {
namespace {

using frame::Direction;
using frame::SymbolKind;
using runtime::FrameEvent;

constexpr Tick kAskAgain = 50 * kMillisecond;

// A received symbol's packets: how many have come, how many are being noted, and whether more are
// waited for.
constexpr std::uint32_t kNoting = 1 << 16, kClosed = 1U << 31;
constexpr std::uint32_t came(std::uint32_t word) { return word & (kNoting - 1); }
constexpr bool at_rest(std::uint32_t word) { return (word & ~kClosed) < kNoting; }

std::vector<frame::GpuServer::Cell> served(const std::vector<Accelerator::Served>& all) {
  std::vector<frame::GpuServer::Cell> cells;
  for (const auto& [pipeline, packets] : all) {
    const frame::Frame& frame = pipeline.frame();
    cells.push_back({frame, std::max(frame.duration(), frame.last_deadline(true)), packets});
  }
  return cells;
}

}  // namespace

// A place in the ring is the baseband unit's while it is Free, and whose frame it has does not
// change before it is released.
struct Accelerator::Cell::Place {
  enum class State : std::uint8_t { Free, Reserved, Asked, Held, Ended };
  explicit Place(std::size_t symbols) : packets(symbols) {}

  std::atomic<State> state{State::Free};
  std::atomic<bool> released{false}, handed_back{false};
  std::uint64_t frame = 0;
  Tick air_start = 0;
  std::vector<std::atomic<std::uint32_t>> packets;  // [symbol]
  // The accelerator's thread only.
  bool admitted = false;
  std::vector<bool> fed;  // [received()]
};

Accelerator::Cell::Cell(Accelerator& owner, std::uint16_t number, const frame::Pipeline& pipeline)
    : owner_(owner), number_(number), frame_(pipeline.frame()), graph_(pipeline.graph()) {
  for (std::uint32_t slot = 0; slot < pipeline.ring(); ++slot)
    places_.push_back(std::make_unique<Place>(frame_.symbols().size()));
}

Accelerator::Cell::~Cell() = default;

runtime::FrameRef Accelerator::Cell::at(std::uint64_t frame) const noexcept {
  return {number_, static_cast<std::uint16_t>(frame % places_.size())};
}

Accelerator::Cell::Place& Accelerator::Cell::place(std::uint64_t frame) const noexcept {
  return *places_[at(frame).slot];
}

// A received symbol of which nothing comes; a frame waits for its packets all the same.
bool Accelerator::Cell::yields_nothing(std::uint32_t symbol) const noexcept {
  return frame_.symbol(symbol).kind == SymbolKind::Uplink && !frame_.program().anyone_in(symbol);
}

bool Accelerator::Cell::reserve(std::uint64_t frame, Tick air_start,
                                std::span<const std::uint8_t* const> bits) noexcept {
  Place& place = this->place(frame);
  if (place.state.load(std::memory_order_acquire) != Place::State::Free ||
      !owner_.any_device_.load(std::memory_order_relaxed))
    return false;
  const runtime::FrameRef at = this->at(frame);
  place.frame = frame;
  place.air_start = air_start;
  place.released.store(false, std::memory_order_relaxed);
  place.handed_back.store(false, std::memory_order_relaxed);
  const frame::GpuCells& gpu = owner_.server_.cells();
  for (std::uint32_t s = 0; s < frame_.symbols().size(); ++s) {
    if (graph_.receive[s] == frame::kNoInstruction) continue;
    place.packets[s].store(0, std::memory_order_relaxed);
    std::ranges::fill(gpu.packets(at, s), nullptr);
  }
  const auto blocks = frame_.program().transport_blocks(frame::Direction::Downlink);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    std::memcpy(gpu.downlink_payload(at) + blocks[b].payload_offset, bits[b],
                (frame_.program().plan(blocks[b]).A() + 7) / 8);
  place.state.store(Place::State::Reserved, std::memory_order_relaxed);
  return true;
}

void Accelerator::Cell::go(std::uint64_t frame) noexcept {
  place(frame).state.store(Place::State::Asked, std::memory_order_release);
}

void Accelerator::Cell::arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
                               const std::int16_t* samples) noexcept {
  std::atomic<std::uint32_t>& packets = place(frame).packets[symbol];
  if ((packets.fetch_add(kNoting, std::memory_order_acquire) & kClosed) != 0) {
    packets.fetch_sub(kNoting, std::memory_order_relaxed);
    return;
  }
  owner_.server_.cells().packets(at(frame), symbol)[antenna] = samples;
  packets.fetch_add(1 - kNoting, std::memory_order_release);
}

bool Accelerator::Cell::handed_back(std::uint64_t frame) const noexcept {
  return place(frame).handed_back.load(std::memory_order_acquire);
}

void Accelerator::Cell::release(std::uint64_t frame) noexcept {
  place(frame).released.store(true, std::memory_order_release);
}

bool Accelerator::Cell::idle() const noexcept {
  return std::ranges::all_of(places_, [](const auto& place) {
    return place->state.load(std::memory_order_relaxed) == Place::State::Free;
  });
}

void Accelerator::Cell::bring(std::uint16_t symbol, frame::FrameSlot& to) noexcept {
  if (yields_nothing(symbol)) return;
  const runtime::FrameRef at = this->at(to.frame);
  const std::uint16_t device = owner_.server_.brought_by(at, symbol);
  const frame::Symbol& of = frame_.symbol(symbol);
  if (of.kind == SymbolKind::Downlink) {
    const std::uint32_t antennas = frame_.format().antennas;
    for (std::uint32_t a = 0; a < antennas; ++a)
      std::memcpy(to.transmit[std::size_t{of.ordinal} * antennas + a],
                  owner_.server_.cells().radiated(at, device, symbol, a),
                  std::size_t{of.samples} * 4);
    return;
  }
  const auto blocks = frame_.program().transport_blocks(Direction::Uplink);
  for (const auto c : frame_.program().code_blocks_at(symbol)) {
    const auto b = frame_.program().code_blocks(Direction::Uplink)[c].transport_block;
    if (frame_.program().plan(blocks[b]).C() == 1) bring_block(b, at, device, to);
  }
  for (const auto b : frame_.program().assemblies_at(symbol)) bring_block(b, at, device, to);
}

std::uint32_t Accelerator::Cell::missing(std::uint16_t symbol,
                                         const frame::FrameSlot& of) const noexcept {
  return frame_.format().antennas -
         came(place(of.frame).packets[symbol].load(std::memory_order_relaxed));
}

void Accelerator::Cell::bring_block(std::uint32_t b, runtime::FrameRef at, std::uint16_t device,
                                    frame::FrameSlot& to) const noexcept {
  const frame::GpuCells& gpu = owner_.server_.cells();
  const frame::TransportBlock& block = frame_.program().transport_blocks(Direction::Uplink)[b];
  const phy::TransportPlan& plan = frame_.program().plan(block);
  to.good[b] = gpu.good(at, device, b);
  std::memcpy(&to.payload[block.payload_offset], gpu.payload(at, device) + block.payload_offset,
              (plan.A() + 7) / 8);
  for (std::uint32_t c = block.first_code_block; c < block.first_code_block + plan.C(); ++c)
    to.results[c] = gpu.result(at, device, c);
}

bool Accelerator::Cell::work(std::uint16_t slot, Tick now) noexcept {
  Place& place = *places_[slot];
  const runtime::FrameRef at{number_, slot};
  switch (place.state.load(std::memory_order_acquire)) {
    case Place::State::Free:
    case Place::State::Reserved: return false;
    case Place::State::Asked:
      place.admitted = owner_.server_.admit({place.frame, number_}, place.air_start, now);
      place.fed.assign(place.fed.size(), false);
      place.state.store(place.admitted ? Place::State::Held : Place::State::Ended,
                        std::memory_order_relaxed);
      if (!place.admitted) hand_back(place);
      return true;
    case Place::State::Held:
      if (!owner_.any_device_.load(std::memory_order_relaxed)) hand_back(place);
      if (!place.released.load(std::memory_order_acquire) && !place.handed_back)
        return feed(slot, now);
      owner_.server_.abandon(at, now);  // its end follows
      return false;
    case Place::State::Ended:
      if (!place.released.load(std::memory_order_acquire)) return false;
      if (place.admitted) owner_.server_.release(at);
      place.state.store(Place::State::Free, std::memory_order_release);
      return true;
  }
  return false;
}

// Symbols begin as they are complete, whatever those before them lack.
bool Accelerator::Cell::feed(std::uint16_t slot, Tick now) noexcept {
  Place& place = *places_[slot];
  const auto& received = owner_.server_.received(number_);
  const auto& graph = owner_.server_.graph(number_).graph;
  bool did = false;
  for (std::size_t i = 0; i < received.size(); ++i) {
    const std::uint16_t symbol = graph[received[i]].step;
    if (place.fed[i] || !ready(place, symbol, now)) continue;
    place.fed[i] = true;
    owner_.server_.feed({number_, slot}, received[i], now);
    if (yields_nothing(symbol)) runtime_->arrive(place.frame, graph_.bring[symbol], 0);
    did = true;
  }
  return did;
}

// Whether nothing of a symbol is to be waited for any more, and nobody writes to it.
bool Accelerator::Cell::ready(Place& place, std::uint32_t symbol, Tick now) noexcept {
  std::atomic<std::uint32_t>& packets = place.packets[symbol];
  std::uint32_t word = packets.load(std::memory_order_acquire);
  if (came(word) == frame_.format().antennas) return at_rest(word);
  const runtime::Instruction& receive = graph_.graph[graph_.receive[symbol]];
  const bool early = receive.early_close != runtime::kNever && came(word) >= receive.quorum;
  if (now < place.air_start + (early ? receive.early_close : receive.close)) return false;
  word = packets.fetch_or(kClosed, std::memory_order_acquire);
  return at_rest(word);
}

// The runtime gives the frame up, and its baseband unit begins it anew.
void Accelerator::Cell::hand_back(Place& place) noexcept {
  if (place.handed_back.exchange(true, std::memory_order_release)) return;
  runtime_->abandon(place.frame);
}

void Accelerator::Cell::take(const FrameEvent& event) noexcept {
  Place& place = *places_[event.slot];
  switch (event.kind) {
    case FrameEvent::Kind::Committed: {
      const std::uint16_t symbol = owner_.server_.graph(number_).graph[event.instruction].step;
      runtime_->arrive(event.frame, graph_.bring[symbol], 0);
      return;
    }
    case FrameEvent::Kind::Missed:
    case FrameEvent::Kind::Refused: return;
    case FrameEvent::Kind::Dropped:  // past its deadline it is of no use to the cores either
    case FrameEvent::Kind::Done: break;
  }
  place.state.store(Place::State::Ended, std::memory_order_relaxed);
}

Accelerator::Accelerator(const frame::GpuPool& pool, const std::vector<Served>& cells,
                         std::string_view policy)
    : server_(pool, served(cells), policy) {
  for (std::uint16_t c = 0; c < cells.size(); ++c) {
    cells_.push_back(std::make_unique<Cell>(*this, c, cells[c].pipeline));
    for (auto& place : cells_.back()->places_) place->fed.resize(server_.received(c).size());
  }
}

void Accelerator::join(std::uint16_t cell, runtime::Runtime::Source runtime) {
  cells_[cell]->runtime_ = std::make_unique<runtime::Runtime::Source>(runtime);
}

bool Accelerator::step() noexcept {
  const Tick instant = now();
  bool did = false;
  for (const auto& cell : cells_)
    for (std::uint16_t slot = 0; slot < cell->places_.size(); ++slot)
      did |= cell->work(slot, instant);
  server_.step(instant);
  std::array<FrameEvent, 16> events;
  for (const auto& cell : cells_)
    while (const std::size_t count = server_.poll(cell->number_, events)) {
      for (const FrameEvent& event : std::span(events).first(count)) cell->take(event);
      did = true;
    }
  if (instant - asked_ >= kAskAgain) {
    server_.recover();
    asked_ = instant;
  }
  any_device_.store(server_.any_device(), std::memory_order_relaxed);
  return did;
}

bool Accelerator::busy() const noexcept {
  return !std::ranges::all_of(cells_, [](const auto& cell) { return cell->idle(); });
}

}  // namespace carillon::app
