#include "frame/gpu_cells.hpp"

#include <stdexcept>
#include <string>

namespace carillon::frame {

using runtime::FrameRef;
using runtime::InstanceId;

namespace {

// Host memory in which a frame's results or samples lie as they do on a device.
class HostMemory final : public GpuMemory {
 public:
  explicit HostMemory(GpuPlace& place) : place_(place) {}
  void* room(std::size_t bytes) override { return place_.host_room(bytes); }
  void write(void*, const void*, std::size_t) override {}  // only devices read tables

 private:
  GpuPlace& place_;
};

using Pieces = std::vector<GpuPiece>;

// What an instruction is on one device in one of its frames: kernels, and what is for others.
struct Orders {
  std::vector<GpuTask> tasks;
  Pieces kept;
};

}  // namespace

// A cell's frames: on the host by their places in the ring, so that what was brought stays until a
// frame is released; on devices as many as are held at once, the same number on all of them.
class GpuCells::Cell {
 public:
  Cell(const GpuCell& cell, std::uint16_t devices, GpuPlace& place)
      : cell_(cell), devices_(devices), holds_(cell.ring, kNone) {
    check();
    HostMemory host(place);
    for (std::uint32_t slot = 0; slot < cell.ring; ++slot) {
      given_.push_back(std::make_unique<GpuFrame>(cell.frame, host));
      add_pieces(given_, fetched_);
      for (std::uint16_t d = 0; d < devices; ++d) {
        made_.push_back(std::make_unique<GpuFrame>(cell.frame, host));
        add_pieces(made_, brought_);
      }
    }
    for (std::uint32_t hold = 0; hold < cell.held; ++hold) {
      free_.push_back(cell.held - 1 - hold);
      for (std::uint16_t d = 0; d < devices; ++d) {
        frames_.push_back(std::make_unique<GpuFrame>(cell.frame, place.memory(d)));
        for (std::uint16_t i = 0; i < graph().size(); ++i)
          orders_.push_back({tasks(*frames_.back(), i), pieces(*frames_.back(), i)});
      }
    }
  }

  Kind kind(std::uint16_t instruction) const {
    const Op op = op_of(instruction);
    return op == Op::Load ? Kind::Fetch : op == Op::Store ? Kind::Bring : Kind::Kernels;
  }
  bool admit(std::uint16_t slot) {
    if (free_.empty()) return false;
    holds_[slot] = free_.back();
    free_.pop_back();
    return true;
  }
  void over(std::uint16_t slot) {
    free_.push_back(holds_[slot]);
    holds_[slot] = kNone;
  }

  const Frame& frame() const { return cell_.frame; }
  /// What the host gives, and what it gets from a device.
  const GpuFrame& given(std::uint16_t slot) const { return *given_[slot]; }
  const GpuFrame& made(std::uint16_t slot, std::uint16_t device) const {
    return *made_[at(slot, device)];
  }
  const Orders& of(const InstanceId& what, std::uint16_t device) const {
    return orders_[at(holds_[what.slot], device) * graph().size() + what.instruction];
  }
  const Pieces& fetched(const InstanceId& what) const {
    return fetched_[what.slot * std::size_t{graph().size()} + what.instruction];
  }
  const Pieces& brought(const InstanceId& what, std::uint16_t device) const {
    return brought_[at(what.slot, device) * graph().size() + what.instruction];
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  const runtime::Graph& graph() const { return cell_.graph.graph; }
  std::size_t at(std::uint32_t number, std::uint16_t device) const {
    return std::size_t{number} * devices_ + device;
  }
  Op op_of(std::uint16_t instruction) const { return static_cast<Op>(graph()[instruction].opcode); }
  std::uint32_t ordinal_of(std::uint16_t instruction) const {
    return frame().symbol(graph()[instruction].step).ordinal;
  }
  SymbolKind symbol_kind(std::uint16_t instruction) const {
    return frame().symbol(graph()[instruction].step).kind;
  }

  void check() const {
    std::uint32_t zero_forcing = 0;
    for (std::uint16_t i = 0; i < graph().size(); ++i) zero_forcing += op_of(i) == Op::ZeroForce;
    if (zero_forcing > 1)
      throw std::invalid_argument(
          "zero_force_parts: kernels on GPUs do a frame's zero-forcing in one part");
    if (devices_ > 1 && !blocks_within_symbols(cell_.frame))
      throw std::invalid_argument(
          "uplink.block: code blocks that span symbols can be received on one device only; choose "
          "symbol, or one device");
  }

  // The downlink's Store only brings samples; the uplink's also assembles.
  std::vector<GpuTask> tasks(const GpuFrame& gpu, std::uint16_t instruction) const {
    const Op op = op_of(instruction);
    if (op == Op::Store && symbol_kind(instruction) == SymbolKind::Downlink) return {};
    return gpu.tasks(op, ordinal_of(instruction), 1);
  }
  Pieces pieces(const GpuFrame& frame, std::uint16_t instruction) const {
    return frame.results(op_of(instruction), symbol_kind(instruction), ordinal_of(instruction));
  }
  // Of the newest of those frames.
  void add_pieces(const std::vector<std::unique_ptr<GpuFrame>>& frames,
                  std::vector<Pieces>& all) const {
    for (std::uint16_t i = 0; i < graph().size(); ++i) all.push_back(pieces(*frames.back(), i));
  }

  const GpuCell cell_;
  std::uint16_t devices_;
  std::vector<std::uint32_t> holds_;  // [slot]
  std::vector<std::uint32_t> free_;
  std::vector<std::unique_ptr<GpuFrame>> given_;   // [slot]
  std::vector<std::unique_ptr<GpuFrame>> made_;    // [slot][device]
  std::vector<std::unique_ptr<GpuFrame>> frames_;  // [hold][device]
  std::vector<Pieces> fetched_, brought_;          // of given_ and made_, [instruction]
  std::vector<Orders> orders_;                     // of frames_, [instruction]
};

GpuCells::GpuCells(const std::vector<GpuCell>& cells, std::uint16_t devices, GpuPlace& place)
    : place_(place) {
  for (const GpuCell& cell : cells) cells_.push_back(std::make_unique<Cell>(cell, devices, place));
}

GpuCells::~GpuCells() = default;

std::int16_t* GpuCells::samples(FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const {
  return cells_[at.cell]->given(at.slot).samples(symbol, antenna);
}

std::uint8_t& GpuCells::missing(FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const {
  const Cell& cell = *cells_[at.cell];
  const Symbol& of = cell.frame().symbol(symbol);
  return cell.given(at.slot).missing(
      of.kind)[std::size_t{of.ordinal} * cell.frame().format().antennas + antenna];
}

std::uint8_t* GpuCells::downlink_payload(FrameRef at) const {
  return cells_[at.cell]->given(at.slot).payload(Direction::Downlink);
}

bool GpuCells::good(FrameRef at, std::uint16_t device, std::uint32_t transport_block) const {
  const Cell& cell = *cells_[at.cell];
  const GpuFrame& made = cell.made(at.slot, device);
  const TransportBlock& block = cell.frame().transport_blocks(Direction::Uplink)[transport_block];
  const std::uint32_t blocks = cell.frame().plan(block).C();
  bool good = blocks == 1 || made.good()[transport_block] != 0;
  for (std::uint32_t r = 0; r < blocks; ++r)
    good = good && made.judged()[made.result_place(block.first_code_block + r)] != 0;
  return good;
}

const std::uint8_t* GpuCells::payload(FrameRef at, std::uint16_t device) const {
  return cells_[at.cell]->made(at.slot, device).payload(Direction::Uplink);
}

CodeBlockResult GpuCells::result(FrameRef at, std::uint16_t device,
                                 std::uint32_t code_block) const {
  const GpuFrame& made = cells_[at.cell]->made(at.slot, device);
  const std::uint32_t place = made.result_place(code_block);
  return {made.results()[place], made.judged()[place] != 0};
}

const std::int16_t* GpuCells::radiated(FrameRef at, std::uint16_t device, std::uint32_t symbol,
                                       std::uint32_t antenna) const {
  return cells_[at.cell]->made(at.slot, device).samples(symbol, antenna);
}

runtime::DeviceWork::Kind GpuCells::kind(std::uint16_t cell,
                                         std::uint16_t instruction) const noexcept {
  return cells_[cell]->kind(instruction);
}

cuda::Status GpuCells::move(const Pieces& to, const Pieces& from, std::uint16_t from_device,
                            cuda::Stream stream) noexcept {
  cuda::Status status;
  for (std::size_t i = 0; i < from.size() && status.ok(); ++i)
    status = place_.copy(to[i], from[i], from_device, stream);
  return status;
}

cuda::Status GpuCells::launch(const InstanceId& what, std::uint16_t device,
                              cuda::Stream stream) noexcept {
  const Cell& cell = *cells_[what.cell];
  const Orders& orders = cell.of(what, device);
  const Kind its = cell.kind(what.instruction);
  if (its == Kind::Fetch) return move(orders.kept, cell.fetched(what), GpuPlace::kHost, stream);
  for (const GpuTask& task : orders.tasks)
    if (const cuda::Status status = place_.launch(task, stream); !status.ok()) return status;
  return its == Kind::Bring ? move(cell.brought(what, device), orders.kept, device, stream)
                            : cuda::Status();
}

cuda::Status GpuCells::copy(const InstanceId& what, std::uint16_t from, std::uint16_t to,
                            cuda::Stream stream) noexcept {
  const Cell& cell = *cells_[what.cell];
  return move(cell.of(what, to).kept, cell.of(what, from).kept, from, stream);
}

bool GpuCells::admit(FrameRef frame) noexcept { return cells_[frame.cell]->admit(frame.slot); }

void GpuCells::over(FrameRef frame) noexcept { cells_[frame.cell]->over(frame.slot); }

}  // namespace carillon::frame
