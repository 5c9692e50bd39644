#include "cuda/cells.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "cuda/cell_format.hpp"
#include "cuda/cell_graph.hpp"
#include "cuda/cell_simulation.hpp"
#include "cuda/latency.hpp"

namespace carillon::bench {
namespace {

using Clock = std::chrono::steady_clock;
using frame::Op;

constexpr std::uint32_t kRepeats = 20;
constexpr double kSecondsPerCell = 14;
constexpr std::size_t kFrames = 20'500, kForTail = 20'000;  // p99.99 needs two frames beyond it
constexpr std::size_t kWarmUp = 100;
constexpr double kNear = 0.1;  // that a simulated latency may be off

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

CellLatency latency_of(const cuda::Graph& graph, cuda::Stream stream) {
  const auto once = [&] {
    const auto begin = Clock::now();
    require(graph.launch(stream));
    require(cuda::Status(cudaStreamSynchronize(stream)));
    return us_since(begin);
  };
  for (std::size_t i = 0; i < kWarmUp; ++i) once();
  std::vector<double> times;
  double sum = 0;
  for (const auto begin = Clock::now();
       times.size() < kFrames && us_since(begin) < kSecondsPerCell * 1e6;) {
    times.push_back(once());
    sum += times.back();
  }
  std::ranges::sort(times);
  return {times.size(), sum / static_cast<double>(times.size()), share(times, 0.5),
          share(times, 0.99), times.size() >= kForTail ? share(times, 0.9999) : 0};
}

HostRow host_costs(cuda::Stream stream) {
  const OnDevice<std::uint32_t> word(1);
  const cuda::Graph graph([&](cuda::Stream on) {
    return cuda::Status(cudaMemsetAsync(word.data(), 0, sizeof(std::uint32_t), on));
  });
  require(graph.status());
  std::vector<double> launches, all;
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto begin = Clock::now();
    require(graph.launch(stream));
    launches.push_back(us_since(begin));
    require(cuda::Status(cudaStreamSynchronize(stream)));
    all.push_back(us_since(begin));
  }
  std::ranges::sort(launches);
  std::ranges::sort(all);
  const double launch = share(launches, 0.5);
  return {launch, std::max(share(all, 0.5) - launch, 0.0)};
}

// The kernels that are put on a stream, as they would be launched.
std::vector<CellKernel> launches_of(const Enqueue& enqueue, cuda::Stream stream) {
  cudaGraph_t graph = nullptr;
  require(cuda::Status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)));
  const cuda::Status said = enqueue(stream);
  require(cuda::Status(cudaStreamEndCapture(stream, &graph)));
  require(said);
  std::size_t count = 0;
  require(cuda::Status(cudaGraphGetNodes(graph, nullptr, &count)));
  std::vector<cudaGraphNode_t> nodes(count);
  require(cuda::Status(cudaGraphGetNodes(graph, nodes.data(), &count)));
  std::vector<CellKernel> found;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    require(cuda::Status(cudaGraphNodeGetType(node, &type)));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams launch{};
    cudaFuncAttributes kernel{};
    require(cuda::Status(cudaGraphKernelNodeGetParams(node, &launch)));
    require(cuda::Status(cudaFuncGetAttributes(&kernel, launch.func)));
    found.push_back({launch.gridDim.x * launch.gridDim.y * launch.gridDim.z,
                     launch.blockDim.x * launch.blockDim.y * launch.blockDim.z,
                     static_cast<std::uint32_t>(kernel.numRegs),
                     launch.sharedMemBytes + static_cast<std::uint32_t>(kernel.sharedSizeBytes)});
  }
  require(cuda::Status(cudaGraphDestroy(graph)));
  return found;
}

// Of all symbols at once, where that is as many launches as of one.
void add_full(GpuBench& bench, CellGraph& cell, std::uint16_t id, cuda::Stream stream,
              CellOpcode& row) {
  const std::vector<frame::GpuTask> tasks = cell.tasks_of_all(id);
  if (tasks.size() != row.kernels.size()) return;
  const auto longest = std::ranges::max_element(row.kernels, {}, &CellKernel::us);
  const auto which = static_cast<std::size_t>(longest - row.kernels.begin());
  const auto one = [&](cuda::Stream on) { return frame::launch(tasks[which], on); };
  const std::vector<CellKernel> launched = launches_of(one, stream);
  row.full_ctas = std::ranges::max_element(launched, {}, &CellKernel::ctas)->ctas;
  row.full_us = bench.measure(
      [&](cuda::Stream on) {
        for (const frame::GpuTask& task : tasks)
          if (const cuda::Status status = frame::launch(task, on); !status.ok()) return status;
        return cuda::Status();
      },
      kRepeats);
}

CellOpcode opcode_row(GpuBench& bench, CellGraph& cell, std::uint16_t id, cuda::Stream stream) {
  const Op op = cell.op(id);
  CellOpcode row;
  row.op = op;
  row.bytes = cell.bytes(id);
  const auto all = [&](cuda::Stream on) { return cell.enqueue(id, on); };
  row.us = bench.measure(all, kRepeats);
  for (const frame::GpuTask& task : cell.tasks(id)) {
    const auto one = [&](cuda::Stream on) { return frame::launch(task, on); };
    std::vector<CellKernel> kernels = launches_of(one, stream);
    if (kernels.empty()) continue;
    CellKernel& most = *std::ranges::max_element(kernels, {}, &CellKernel::ctas);
    most.us = bench.measure(one, kRepeats);
    row.kernels.push_back(most);
  }
  if (!row.kernels.empty()) add_full(bench, cell, id, stream, row);
  return row;
}

// The last instruction of each opcode: the first downlink symbol has no payload.
std::vector<std::uint16_t> one_of_each(const CellGraph& cell) {
  std::map<Op, std::uint16_t> last;
  for (std::uint16_t id = 0; id < cell.size(); ++id)
    if (cell.op(id) != Op::Modulate) last[cell.op(id)] = id;
  std::vector<std::uint16_t> found;
  for (const auto& [op, id] : last) found.push_back(id);
  return found;
}

void tell(const CellShape& shape, char kind, const CellRow& row) {
  std::printf("%ux%u %s, frames with their copies: %llu, mean %.1f µs, p99 %.1f µs", shape.antennas,
              shape.users, kind == 'U' ? "up" : "down",
              static_cast<unsigned long long>(row.latency.frames), row.latency.mean,
              row.latency.p99);
  if (row.simulated > 0) {
    const double off = row.simulated / row.latency.mean - 1;
    std::printf("; simulated from its opcodes %.1f µs, %+.1f %%: %s", row.simulated, 100 * off,
                std::abs(off) <= kNear ? "within 10 %" : "NOT within 10 %");
  }
  std::printf("\n");
  std::fflush(stdout);
}

CellRow measure(GpuBench& bench, const CellShape& shape, char kind, const HostRow& host,
                cuda::Stream stream) {
  const frame::Frame frame(cell_format(shape.antennas, shape.users, kind));
  CellGraph cell(frame);
  CellRow row;
  write_fields(frame.format(), "cell", row.format);
  for (const std::uint16_t id : one_of_each(cell))
    row.opcodes.push_back(opcode_row(bench, cell, id, stream));
  const cuda::Graph whole([&](cuda::Stream on) { return cell.enqueue_frame(on); });
  require(whole.status());
  row.latency = latency_of(whole, stream);
  const bool all = std::ranges::all_of(row.opcodes, [](const auto& each) { return each.us > 0; });
  if (const runtime::DeviceType* type = type_of(bench.device().name); all && type != nullptr)
    row.simulated = simulated_us(frame, row, host, *type, bench.peaks().bytes_per_us);
  tell(shape, kind, row);
  return row;
}

void write(std::ostream& out, const CellOpcode& row) {
  out << "    {\"opcode\": \"" << frame::kOpNames[static_cast<std::size_t>(row.op)]
      << "\", \"us\": " << row.us << ", \"bytes\": " << row.bytes << ", \"kernels\": [";
  const char* between = "";
  for (const CellKernel& each : row.kernels) {
    out << between << "{\"ctas\": " << each.ctas << ", \"threads\": " << each.threads
        << ", \"registers\": " << each.registers << ", \"shared_bytes\": " << each.shared_bytes
        << ", \"us\": " << each.us << "}";
    between = ", ";
  }
  out << "], \"full_ctas\": " << row.full_ctas << ", \"full_us\": " << row.full_us << "}";
}

void write(std::ostream& out, const CellRow& row) {
  std::string format = row.format;  // lines, whose words need no escapes
  for (std::size_t at = 0; (at = format.find('\n', at)) != std::string::npos; at += 2)
    format.replace(at, 1, "\\n");
  out << "  {\"format\": \"" << format << "\",\n   \"opcodes\": [";
  const char* between = "\n";
  for (const CellOpcode& each : row.opcodes) {
    out << between;
    write(out, each);
    between = ",\n";
  }
  const CellLatency& l = row.latency;
  out << "],\n   \"frame_us\": {\"frames\": " << l.frames << ", \"mean\": " << l.mean
      << ", \"p50\": " << l.p50 << ", \"p99\": " << l.p99 << ", \"p9999\": ";
  if (l.p9999 > 0)
    out << l.p9999;
  else
    out << "null";
  out << "}, \"simulated_us\": ";
  if (row.simulated > 0)
    out << row.simulated;
  else
    out << "null";
  out << "}";
}

}  // namespace

void measure_cells(GpuBench& bench, const CellShape& shape, Cells& cells) {
  cudaStream_t stream = nullptr;
  require(cuda::Status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  if (cells.rows.empty()) cells.host = host_costs(stream);
  for (const char kind : {'U', 'D'})
    cells.rows.push_back(measure(bench, shape, kind, cells.host, stream));
  require(cuda::Status(cudaStreamDestroy(stream)));
}

void write_cells(std::ostream& out, const Cells& cells) {
  out << "\"host\": {\"launch_us\": " << cells.host.launch
      << ", \"notify_us\": " << cells.host.notify << "},\n \"cells\": [";
  const char* between = "\n";
  for (const CellRow& row : cells.rows) {
    out << between;
    write(out, row);
    between = ",\n";
  }
  out << "]";
}

}  // namespace carillon::bench
