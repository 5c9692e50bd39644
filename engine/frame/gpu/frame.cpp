#include "frame/gpu/frame.hpp"

#include <algorithm>
#include <stdexcept>

#include "frame/gpu/arrays.hpp"

namespace carillon::frame {
namespace {

using namespace phy::cuda;

void demand(const cuda::Status& status) {
  if (!status.ok()) throw std::runtime_error("GPU memory: " + status.text());
}

struct Launcher {
  cuda::Stream stream;
  cuda::Status operator()(const GatherTask& t) const { return gather(t, stream); }
  cuda::Status operator()(const ReceiveTask& t) const { return receive(t, stream); }
  cuda::Status operator()(const EstimateTask& t) const { return estimate(t, stream); }
  cuda::Status operator()(const DeviationTask& t) const { return deviate(t, stream); }
  cuda::Status operator()(const SurveyTask& t) const { return survey(t, stream); }
  cuda::Status operator()(const GramTask& t) const { return gram(t, stream); }
  cuda::Status operator()(const FactorTask& t) const { return factor(t, stream); }
  cuda::Status operator()(const WeighTask& t) const { return weigh(t, stream); }
  cuda::Status operator()(const ExpandTask& t) const { return expand(t, stream); }
  cuda::Status operator()(const AntennaPowerTask& t) const { return antenna_power(t, stream); }
  cuda::Status operator()(const GainTask& t) const { return choose_gain(t, stream); }
  cuda::Status operator()(const LeaveOutTask& t) const { return leave_out(t, stream); }
  cuda::Status operator()(const EqualizeTask& t) const { return equalize(t, stream); }
  cuda::Status operator()(const RecoverTask& t) const { return recover(t, stream); }
  cuda::Status operator()(const DecodeTask& t) const { return decode(t, stream); }
  cuda::Status operator()(const DesegmentTask& t) const { return desegment(t, stream); }
  cuda::Status operator()(const EncodeTask& t) const { return encode(t, stream); }
  cuda::Status operator()(const PrecodeTask& t) const { return precode(t, stream); }
  cuda::Status operator()(const TransmitTask& t) const { return transmit(t, stream); }
};

}  // namespace

void* DeviceMemory::room(std::size_t bytes) {
  cuda::Memory& piece = pieces_.emplace_back(bytes);
  demand(piece.status());
  demand(piece.clear());
  return piece.data();
}

void DeviceMemory::write(void* to, const void* from, std::size_t bytes) {
  demand(cuda::copy_in(to, from, bytes));
}

cuda::Status launch(const GpuTask& task, cuda::Stream stream) {
  return std::visit(Launcher{stream}, task);
}

bool in_half(const Frame& frame, Direction direction) {
  const FrameFormat& f = frame.format();
  if (f.combiner.precision != Precision::Fastest) return f.combiner.precision == Precision::Fp16;
  const FrameProgram& program = frame.program();
  const auto blocks = program.transport_blocks(direction);
  return !blocks.empty() && std::ranges::all_of(blocks, [&](const TransportBlock& block) {
    return phy::suffices(phy::Rounding::Half, f.antennas, f.users,
                         program.plan(block).modulation());
  });
}

phy::Runs put_runs(const Frame& frame, Direction direction, GpuMemory& memory,
                   const std::vector<std::vector<std::size_t>>& buffers) {
  const bool up = direction == Direction::Uplink;
  const FrameProgram& program = frame.program();
  phy::RunTable table(up ? phy::RunTable::Order::Decoder : phy::RunTable::Order::Sent);
  for (const auto symbol : frame.symbols_of(up ? SymbolKind::Uplink : SymbolKind::Downlink))
    for (std::uint32_t user = 0; user < frame.format().users; ++user) {
      const auto own = program.allocations(symbol, user);
      if (own.empty()) {
        table.add({});
        continue;
      }
      const Allocation& a = own.front();
      table.add({.plan = &program.plan(program.transport_blocks(direction)[a.transport_block]),
                 .first_subcarrier = a.first_subcarrier,
                 .count = a.count,
                 .first_re = a.first_re,
                 .signs = static_cast<std::uint32_t>(a.signs),
                 .buffers = buffers[a.transport_block]});
    }
  const std::vector<std::uint16_t> signs(program.signs().begin(), program.signs().end());
  return {put(memory, table.runs()), put(memory, table.first()), put(memory, table.places()),
          put(memory, signs)};
}

struct GpuFrame::Arrays {
  Arrays(const Frame& frame, GpuMemory& memory, std::uint32_t parts)
      : frame(frame), uplink(frame, memory, parts), downlink(frame, memory, uplink.combiners()) {}

  const Frame& frame;
  GpuUplink uplink;
  GpuDownlink downlink;
};

std::uint32_t most_zero_force_parts(const Frame& frame) {
  const FrameFormat& f = frame.format();
  const auto divide_up = [](std::uint32_t value, std::uint32_t by) {
    return (value + by - 1) / by;
  };
  return divide_up(divide_up(f.numerology.subcarriers, f.combiner.group), phy::kTileLanes);
}

GpuFrame::GpuFrame(const Frame& frame, GpuMemory& memory, std::uint32_t zero_force_parts)
    : arrays_(std::make_unique<Arrays>(frame, memory, zero_force_parts)) {
  if (const auto why = frame.why_not_on_devices())
    throw std::invalid_argument(why->key + " " + why->message);
}
GpuFrame::~GpuFrame() = default;

std::vector<GpuTask> GpuFrame::tasks(Op op, std::uint32_t first, std::uint32_t count) const {
  const Ordinals symbols{first, count};
  switch (op) {
    case Op::PilotFft: return arrays_->uplink.pilot_fft(symbols);
    case Op::UplinkFft: return arrays_->uplink.uplink_fft(symbols);
    case Op::ZeroForce: return arrays_->uplink.zero_force(symbols);
    case Op::EqualizeDemodulate: return arrays_->uplink.equalize_demodulate(symbols);
    case Op::Decode: return arrays_->uplink.decode(symbols);
    case Op::Store: return arrays_->uplink.store(symbols);
    case Op::Encode: return arrays_->downlink.encode(symbols);
    case Op::Precode: return arrays_->downlink.precode(symbols);
    case Op::Ifft: return arrays_->downlink.ifft(symbols);
    case Op::Load:
    case Op::Modulate: break;
  }
  return {};
}

GpuTask GpuFrame::gather(SymbolKind kind, std::uint32_t ordinal,
                         const std::int16_t* const* packets) const {
  return arrays_->uplink.gather(kind, ordinal, packets);
}

std::vector<GpuPiece> GpuFrame::results(Op op, SymbolKind kind, std::uint32_t ordinal) const {
  const bool down = kind == SymbolKind::Downlink;
  switch (op) {
    case Op::Load:
      return down ? arrays_->downlink.loaded(ordinal) : arrays_->uplink.loaded(kind, ordinal);
    case Op::Store:
      return down ? arrays_->downlink.transmitted(ordinal) : arrays_->uplink.stored(ordinal);
    case Op::PilotFft: return arrays_->uplink.estimates(ordinal);
    case Op::ZeroForce: return arrays_->uplink.combiner(ordinal);
    case Op::UplinkFft: return arrays_->uplink.received(ordinal);
    case Op::EqualizeDemodulate: return arrays_->uplink.soft_bits(ordinal);
    case Op::Decode: return arrays_->uplink.decoded(ordinal);
    case Op::Encode: return arrays_->downlink.encoded(ordinal);
    case Op::Modulate: return arrays_->downlink.modulated(ordinal);
    case Op::Precode: return arrays_->downlink.precoded(ordinal);
    case Op::Ifft: return arrays_->downlink.transmitted(ordinal);
  }
  return {};
}

std::int16_t* GpuFrame::samples(std::uint32_t symbol, std::uint32_t antenna) const {
  const Symbol& of = arrays_->frame.symbol(symbol);
  const GpuSamples& all = of.kind == SymbolKind::Pilot    ? arrays_->uplink.pilot_samples
                          : of.kind == SymbolKind::Uplink ? arrays_->uplink.samples
                                                          : arrays_->downlink.samples;
  return all.at(of.ordinal) + 2 * (std::size_t{antenna} * all.length) - 2 * of.prefix;
}

std::uint8_t* GpuFrame::missing(SymbolKind kind) const {
  return kind == SymbolKind::Pilot ? arrays_->uplink.pilot_missing : arrays_->uplink.missing;
}

std::uint8_t* GpuFrame::payload(Direction direction) const {
  return direction == Direction::Uplink ? arrays_->uplink.payload : arrays_->downlink.payload;
}

const std::uint8_t* GpuFrame::good() const { return arrays_->uplink.good; }
const std::uint8_t* GpuFrame::judged() const { return arrays_->uplink.judged; }
const phy::DecodeResult* GpuFrame::results() const { return arrays_->uplink.results; }
std::uint32_t GpuFrame::result_place(std::uint32_t code_block) const {
  return arrays_->uplink.code_blocks().place(code_block);
}

}  // namespace carillon::frame
