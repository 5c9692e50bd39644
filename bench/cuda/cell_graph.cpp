#include "cuda/cell_graph.hpp"

#include <algorithm>
#include <random>

namespace carillon::bench {
namespace {

using frame::GpuTask;
using frame::Op;
using frame::SymbolKind;

const frame::PoolProfile& profile() { return *frame::find_pool_profile("roofline"); }

std::uint64_t most_moved(const frame::PoolGraph& pool) {
  std::uint64_t most = 0;
  for (const runtime::Work& work : pool.work) most = std::max(most, work.moved);
  return most;
}

void must(cudaError_t error) { require(cuda::Status(error)); }

}  // namespace

CellGraph::CellGraph(const frame::Frame& frame)
    : frame_(frame),
      pool_(frame::build_pool_graph(frame, {}, profile())),
      gpu_(frame, memory_),
      payload_(most_moved(pool_)),
      streams_(frame.symbols().size() + 2),
      done_(pool_.graph.size()) {
  const std::size_t bytes = most_moved(pool_);
  must(cudaMallocHost(reinterpret_cast<void**>(&to_device_), bytes));
  must(cudaMallocHost(reinterpret_cast<void**>(&from_device_), bytes));
  std::mt19937 random(1);
  for (std::size_t at = 0; at + 1 < bytes; at += 2) {
    const auto value = static_cast<std::int16_t>(random() % 8192);
    std::copy_n(reinterpret_cast<const std::byte*>(&value), 2, to_device_ + at);
  }
  for (cudaStream_t& stream : streams_)
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (cudaEvent_t& event : done_) must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  must(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
  const cuda::Graph whole([&](cuda::Stream stream) { return enqueue_frame(stream); });
  require(whole.launch(streams_.front()));  // so that opcodes measured alone find their inputs
  require(cuda::finish());
}

CellGraph::~CellGraph() {
  (void)cudaEventDestroy(begin_);
  for (const cudaEvent_t event : done_) (void)cudaEventDestroy(event);
  for (const cudaStream_t stream : streams_) (void)cudaStreamDestroy(stream);
  (void)cudaFreeHost(from_device_);
  (void)cudaFreeHost(to_device_);
}

double CellGraph::bytes(std::uint16_t id) const {
  const runtime::Work& work = pool_.work[id];
  if (work.footprint.ctas == 0) return static_cast<double>(work.moved);
  return work.bytes * work.footprint.ctas / profile().kernels[pool_.graph[id].opcode].traffic;
}

std::vector<GpuTask> CellGraph::tasks(std::uint16_t id) const {
  if (pool_.work[id].footprint.ctas == 0 || op(id) == Op::Modulate) return {};
  const std::uint32_t ordinal = frame_.symbol(pool_.graph[id].step).ordinal;
  return tasks(op(id), op(id) == Op::ZeroForce ? 0 : ordinal, 1);
}

std::vector<GpuTask> CellGraph::tasks_of_all(std::uint16_t id) const {
  if (op(id) == Op::ZeroForce) return {};
  const SymbolKind kind = frame_.symbol(pool_.graph[id].step).kind;
  return tasks(op(id), 0, static_cast<std::uint32_t>(frame_.symbols_of(kind).size()));
}

std::vector<GpuTask> CellGraph::tasks(Op op, std::uint32_t first, std::uint32_t count) const {
  std::vector<GpuTask> all = gpu_.tasks(op, first, count);
  if (op == Op::Decode)
    for (const GpuTask& task : gpu_.tasks(Op::Store, first, count)) all.push_back(task);
  return all;
}

// Received samples and those to send where they lie; users' data, a hundredth of that, beside it.
cuda::Status CellGraph::copy(std::uint16_t id, cuda::Stream stream) {
  const std::uint16_t symbol = pool_.graph[id].step;
  const bool load = op(id) == Op::Load;
  const bool samples = load == (frame_.symbol(symbol).kind != SymbolKind::Downlink);
  void* const there = samples ? static_cast<void*>(gpu_.samples(symbol, 0)) : payload_.data();
  const std::size_t bytes = pool_.work[id].moved;
  return cuda::Status(
      load ? cudaMemcpyAsync(there, to_device_, bytes, cudaMemcpyHostToDevice, stream)
           : cudaMemcpyAsync(from_device_, there, bytes, cudaMemcpyDeviceToHost, stream));
}

cuda::Status CellGraph::enqueue(std::uint16_t id, cuda::Stream stream) {
  if (pool_.work[id].footprint.ctas == 0) return copy(id, stream);
  for (const GpuTask& task : tasks(id))
    if (const cuda::Status status = frame::launch(task, stream); !status.ok()) return status;
  return {};
}

cudaStream_t CellGraph::stream_of(std::uint16_t id) const {
  const std::size_t symbols = streams_.size() - 2;
  if (op(id) == Op::Load) return streams_[symbols];
  return op(id) == Op::Store ? streams_[symbols + 1] : streams_[pool_.graph[id].step];
}

cuda::Status CellGraph::enqueue_frame(cuda::Stream origin) {
  cuda::Status worst(cudaEventRecord(begin_, origin));
  const auto check = [&](const cuda::Status& status) {
    if (worst.ok()) worst = status;
  };
  for (const cudaStream_t stream : streams_)
    check(cuda::Status(cudaStreamWaitEvent(stream, begin_, 0)));
  for (std::uint16_t id = 0; id < size() && worst.ok(); ++id) {
    const cudaStream_t stream = stream_of(id);
    for (const std::uint16_t source : pool_.graph[id].waits_for)
      check(cuda::Status(cudaStreamWaitEvent(stream, done_[source], 0)));
    check(enqueue(id, stream));
    check(cuda::Status(cudaEventRecord(done_[id], stream)));
  }
  for (const cudaStream_t stream : streams_) {
    check(cuda::Status(cudaEventRecord(begin_, stream)));
    check(cuda::Status(cudaStreamWaitEvent(origin, begin_, 0)));
  }
  return worst;
}

}  // namespace carillon::bench
