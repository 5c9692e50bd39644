#include "frame/gpu/cells.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace carillon::frame {

using runtime::FrameRef;
using runtime::InstanceId;

namespace {

using Pieces = std::vector<GpuPiece>;

// Addresses that stand for memory which nobody touches.
class Addresses {
 public:
  explicit Addresses(std::size_t bytes)
      : bytes_(bytes),
        at_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  Addresses(Addresses&& other) noexcept
      : bytes_(other.bytes_), at_(std::exchange(other.at_, MAP_FAILED)) {}
  Addresses& operator=(Addresses&&) = delete;
  ~Addresses() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  void* at() const { return at_; }
  bool has(const void* address) const {
    const auto* const begin = static_cast<const std::byte*>(at_);
    return std::less_equal<>{}(begin, static_cast<const std::byte*>(address)) &&
           std::less<>{}(static_cast<const std::byte*>(address), begin + bytes_);
  }

 private:
  std::size_t bytes_;
  void* at_;
};

// Host memory in which what devices fetch, or bring, lies as it does on them. Their other arrays
// have addresses here, and no memory.
class HostMemory final : public GpuMemory {
 public:
  explicit HostMemory(GpuPlace& place) : place_(place) {}

  /// Of arrays that are asked for in the order of a first frame, which only had addresses, those
  /// in which pieces lie are needed.
  void learn(const std::vector<Pieces>& pieces) {
    needed_.assign(unused_.size(), false);
    for (std::size_t i = 0; i < unused_.size(); ++i)
      for (const Pieces& each : pieces)
        for (const GpuPiece& piece : each) needed_[i] = needed_[i] || unused_[i].has(piece.at);
    unused_.clear();
  }
  void* room(std::size_t bytes) override {
    const bool needed = !needed_.empty() && needed_[next_++ % needed_.size()];
    return needed ? place_.host_room(bytes) : unused_.emplace_back(bytes).at();
  }
  void write(void*, const void*, std::size_t) override {}  // only devices read tables

 private:
  GpuPlace& place_;
  std::vector<Addresses> unused_;
  std::vector<bool> needed_;
  std::size_t next_ = 0;
};

// Up to so many orders are given one by one: a guess of what no graph is worth.
constexpr std::size_t kFewOrders = 2;

}  // namespace

// A cell's frames by their places in the ring: the host's arrays and every device's.
class GpuCells::Cell {
 public:
  Cell(const GpuCell& cell, std::uint16_t devices, GpuPlace& place)
      : cell_(cell),
        devices_(devices),
        parts_(zero_forcing_before(graph().size())),
        place_(place),
        givens_(place),
        mades_(place) {
    check();
    if (cell.packets)
      packets_ = reinterpret_cast<const std::int16_t**>(
          place.host_room(cell.ring * packets_per_frame() * sizeof(const std::int16_t*)));
    learn(givens_, Kind::Fetch);
    learn(mades_, Kind::Bring);
    for (std::uint16_t slot = 0; slot < cell.ring; ++slot) {
      given_.push_back(std::make_unique<GpuFrame>(cell.frame, givens_, parts_));
      for (std::uint16_t d = 0; d < devices; ++d) {
        made_.push_back(std::make_unique<GpuFrame>(cell.frame, mades_, parts_));
        frames_.push_back(std::make_unique<GpuFrame>(cell.frame, place.memory(d), parts_));
        for (std::uint16_t i = 0; i < graph().size(); ++i)
          kept_.push_back(pieces(*frames_.back(), i));
        prepare(slot, d);
      }
    }
  }

  Kind kind(std::uint16_t instruction) const {
    const Op op = op_of(instruction);
    return op == Op::Load ? Kind::Fetch : op == Op::Store ? Kind::Bring : Kind::Kernels;
  }
  const Frame& frame() const { return cell_.frame; }
  /// What the host gives, and what it gets from a device.
  const GpuFrame& given(std::uint16_t slot) const { return *given_[slot]; }
  const GpuFrame& made(std::uint16_t slot, std::uint16_t device) const {
    return *made_[at(slot, device)];
  }
  /// Gives a device the kernels and copies of instructions, one after the other.
  cuda::Status launch(std::span<const InstanceId> run, std::uint16_t device,
                      cuda::Stream stream) const {
    const std::size_t first = at(run.front().slot, device) * graph().size();
    const auto same = [&](const Run& prepared) {
      return std::ranges::equal(prepared.instructions, run, {}, {}, &InstanceId::instruction);
    };
    const auto& prepared = runs_[first + run.front().instruction];
    if (const auto found = std::ranges::find_if(prepared, same); found != prepared.end())
      return found->orders(stream);
    cuda::Status status;
    for (std::size_t i = 0; i < run.size() && status.ok(); ++i)
      status = runs_[first + run[i].instruction].front().orders(stream);
    return status;
  }
  /// What an instruction leaves on a device for others.
  const Pieces& kept(const InstanceId& what, std::uint16_t device) const {
    return kept_[at(what.slot, device) * graph().size() + what.instruction];
  }
  std::span<const std::int16_t*> packets(std::uint16_t slot, std::uint32_t symbol) const {
    const std::size_t antennas = frame().format().antennas;
    return {packets_ + slot * packets_per_frame() + symbol * antennas, antennas};
  }

 private:
  using Instructions = std::vector<std::uint16_t>;
  struct Run {
    Instructions instructions;
    GpuOrders orders;
  };

  const runtime::Graph& graph() const { return cell_.graph.graph; }
  std::size_t packets_per_frame() const {
    return frame().symbols().size() * frame().format().antennas;
  }
  std::size_t at(std::uint16_t slot, std::uint16_t device) const {
    return std::size_t{slot} * devices_ + device;
  }
  Op op_of(std::uint16_t instruction) const { return static_cast<Op>(graph()[instruction].opcode); }
  std::uint32_t zero_forcing_before(std::uint16_t instruction) const {
    std::uint32_t parts = 0;
    for (std::uint16_t i = 0; i < instruction; ++i) parts += op_of(i) == Op::ZeroForce ? 1 : 0;
    return parts;
  }
  std::uint32_t ordinal_of(std::uint16_t instruction) const {
    if (op_of(instruction) == Op::ZeroForce) return zero_forcing_before(instruction);
    return frame().symbol(graph()[instruction].step).ordinal;
  }
  SymbolKind symbol_kind(std::uint16_t instruction) const {
    return frame().symbol(graph()[instruction].step).kind;
  }
  // Whether a Load gathers packets.
  bool gathers(std::uint16_t instruction) const {
    return cell_.packets && kind(instruction) == Kind::Fetch &&
           symbol_kind(instruction) != SymbolKind::Downlink;
  }

  void check() const {
    if (const std::uint32_t most = most_zero_force_parts(cell_.frame); parts_ > most)
      throw std::invalid_argument("zero_force_parts is " + std::to_string(parts_) +
                                  " but the cell has " + std::to_string(most) +
                                  " tiles of 16 combiners, of which a part has one at least");
    if (devices_ > 1 && !blocks_within_symbols(cell_.frame))
      throw std::invalid_argument(
          "uplink.block: code blocks that span symbols can be received on one device only; choose "
          "symbol, or one device");
  }

  // The downlink's Store only brings samples; the uplink's also assembles.
  std::vector<GpuTask> tasks(std::uint16_t slot, std::uint16_t device,
                             std::uint16_t instruction) const {
    const GpuFrame& here = *frames_[at(slot, device)];
    const SymbolKind symbol = symbol_kind(instruction);
    const std::uint32_t ordinal = ordinal_of(instruction);
    if (gathers(instruction))
      return {here.gather(symbol, ordinal, packets(slot, graph()[instruction].step).data())};
    const Op op = op_of(instruction);
    if (op == Op::Load || (op == Op::Store && symbol == SymbolKind::Downlink)) return {};
    return here.tasks(op, ordinal, 1);
  }
  // Of instructions, one after the other; as one where that is worth it.
  GpuOrders orders(std::uint16_t slot, std::uint16_t device, const Instructions& run) const {
    const GpuFrame &here = *frames_[at(slot, device)], &given = *given_[slot],
                   &made = *made_[at(slot, device)];
    std::vector<GpuOrders> each;
    for (const std::uint16_t i : run) {
      for (const GpuTask& task : tasks(slot, device, i))
        each.emplace_back([this, task](cuda::Stream to) { return place_.launch(task, to); });
      if (kind(i) == Kind::Kernels || gathers(i)) continue;
      const bool fetch = kind(i) == Kind::Fetch;
      const Pieces from = pieces(fetch ? given : here, i), to = pieces(fetch ? here : made, i);
      const std::uint16_t source = fetch ? GpuPlace::kHost : device;
      for (std::size_t p = 0; p < from.size(); ++p)
        each.emplace_back([this, from = from[p], to = to[p], source](cuda::Stream stream) {
          return place_.copy(to, from, source, stream);
        });
    }
    const bool few = each.size() <= kFewOrders;
    const GpuOrders all = [each = std::move(each)](cuda::Stream stream) {
      cuda::Status status;
      for (std::size_t i = 0; i < each.size() && status.ok(); ++i) status = each[i](stream);
      return status;
    };
    return few ? all : place_.as_one(device, all);
  }
  // Every instruction alone; a symbol as a whole, without what is fetched, what of it reads no
  // other symbol, and the rest.
  void prepare(std::uint16_t slot, std::uint16_t device) {
    const std::size_t first = runs_.size();
    runs_.resize(first + graph().size());
    const auto add = [&](const Instructions& run) {
      if (run.empty()) return;
      auto& prepared = runs_[first + run.front()];
      if (std::ranges::find(prepared, run, &Run::instructions) == prepared.end())
        prepared.push_back({run, orders(slot, device, run)});
    };
    for (std::uint16_t i = 0; i < graph().size(); ++i) add({i});
    for (std::uint16_t step = 0; step < frame().symbols().size(); ++step) {
      Instructions whole, without_fetch, own, rest;
      for (std::uint16_t i = 0; i < graph().size(); ++i) {
        if (graph()[i].step != step) continue;
        const bool needs_no_other = std::ranges::all_of(
            graph()[i].waits_for,
            [&](std::uint16_t source) { return std::ranges::find(own, source) != own.end(); });
        whole.push_back(i);
        if (kind(i) != Kind::Fetch) without_fetch.push_back(i);
        (needs_no_other ? own : rest).push_back(i);
      }
      for (const Instructions& run : {whole, without_fetch, own, rest}) add(run);
    }
  }
  Pieces pieces(const GpuFrame& frame, std::uint16_t instruction) const {
    return frame.results(op_of(instruction), symbol_kind(instruction), ordinal_of(instruction));
  }
  void learn(HostMemory& memory, Kind kind) const {
    const GpuFrame first(frame(), memory, parts_);
    std::vector<Pieces> crossing;
    for (std::uint16_t i = 0; i < graph().size(); ++i)
      if (this->kind(i) == kind && !gathers(i)) crossing.push_back(pieces(first, i));
    memory.learn(crossing);
  }

  const GpuCell cell_;
  std::uint16_t devices_;
  std::uint32_t parts_;                     // of zero-forcing
  const std::int16_t** packets_ = nullptr;  // [slot][symbol][antenna]
  GpuPlace& place_;
  HostMemory givens_, mades_;
  std::vector<std::unique_ptr<GpuFrame>> given_;          // [slot]
  std::vector<std::unique_ptr<GpuFrame>> made_, frames_;  // [slot][device]; the host's, its own
  std::vector<Pieces> kept_;                              // [slot][device][instruction]
  std::vector<std::vector<Run>> runs_;  // likewise, that begin with it; the first is it alone
};

GpuCells::GpuCells(const std::vector<GpuCell>& cells, std::uint16_t devices, GpuPlace& place)
    : place_(place) {
  for (const GpuCell& cell : cells) cells_.push_back(std::make_unique<Cell>(cell, devices, place));
}

GpuCells::~GpuCells() = default;

std::int16_t* GpuCells::samples(FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const {
  return cells_[at.source]->given(at.slot).samples(symbol, antenna);
}

std::uint8_t& GpuCells::missing(FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const {
  const Cell& cell = *cells_[at.source];
  const Symbol& of = cell.frame().symbol(symbol);
  return cell.given(at.slot).missing(
      of.kind)[std::size_t{of.ordinal} * cell.frame().format().antennas + antenna];
}

std::span<const std::int16_t*> GpuCells::packets(FrameRef at, std::uint32_t symbol) const {
  return cells_[at.source]->packets(at.slot, symbol);
}

std::uint8_t* GpuCells::downlink_payload(FrameRef at) const {
  return cells_[at.source]->given(at.slot).payload(Direction::Downlink);
}

bool GpuCells::good(FrameRef at, std::uint16_t device, std::uint32_t transport_block) const {
  const Cell& cell = *cells_[at.source];
  const GpuFrame& made = cell.made(at.slot, device);
  const TransportBlock& block =
      cell.frame().program().transport_blocks(Direction::Uplink)[transport_block];
  const std::uint32_t blocks = cell.frame().program().plan(block).C();
  bool good = blocks == 1 || made.good()[transport_block] != 0;
  for (std::uint32_t r = 0; r < blocks; ++r)
    good = good && made.judged()[made.result_place(block.first_code_block + r)] != 0;
  return good;
}

const std::uint8_t* GpuCells::payload(FrameRef at, std::uint16_t device) const {
  return cells_[at.source]->made(at.slot, device).payload(Direction::Uplink);
}

CodeBlockResult GpuCells::result(FrameRef at, std::uint16_t device,
                                 std::uint32_t code_block) const {
  const GpuFrame& made = cells_[at.source]->made(at.slot, device);
  const std::uint32_t place = made.result_place(code_block);
  return {made.results()[place], made.judged()[place] != 0};
}

const std::int16_t* GpuCells::radiated(FrameRef at, std::uint16_t device, std::uint32_t symbol,
                                       std::uint32_t antenna) const {
  return cells_[at.source]->made(at.slot, device).samples(symbol, antenna);
}

runtime::DeviceWork::Kind GpuCells::kind(std::uint16_t cell,
                                         std::uint16_t instruction) const noexcept {
  return cells_[cell]->kind(instruction);
}

cuda::Status GpuCells::launch(std::span<const InstanceId> run, std::uint16_t device,
                              cuda::Stream stream) noexcept {
  return cells_[run.front().source]->launch(run, device, stream);
}

cuda::Status GpuCells::copy(const InstanceId& what, std::uint16_t from, std::uint16_t to,
                            cuda::Stream stream) noexcept {
  const Cell& cell = *cells_[what.source];
  const Pieces &there = cell.kept(what, from), &here = cell.kept(what, to);
  cuda::Status status;
  for (std::size_t i = 0; i < here.size() && status.ok(); ++i)
    status = place_.copy(here[i], there[i], from, stream);
  return status;
}

}  // namespace carillon::frame
