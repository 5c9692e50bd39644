#include "frame/gpu/server.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/cuda/partition.hpp"
#include "base/thread.hpp"
#include "frame/gpu/place.hpp"
#include "frame/graph.hpp"
#include "frame/pool_server.hpp"
#include "runtime/devices/device_type.hpp"
#include "runtime/policies/pool/pool_policies.hpp"

namespace carillon::frame {
namespace {

// What is guessed of kernels before any has run: a third of what an H200 could do.
std::vector<runtime::OnType> guess(const PoolGraph& graph, std::uint32_t sms) {
  const runtime::DeviceType& type = *runtime::find_device_type("h200");
  const std::vector<std::uint16_t> row = rows_of(graph);
  std::vector<runtime::OnType> guess(*std::ranges::max_element(row) + std::size_t{1});
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const runtime::Work& work = graph.work[i];
    runtime::OnType& on = guess[row[i]];
    const bool kernel = work.footprint.ctas != 0;
    on.footprint = work.footprint;
    on.sms = kernel ? std::min(runtime::sms_needed(type, work.footprint), sms) : 0;
    on.alone = kernel ? static_cast<double>(alone(type, work))
                      : static_cast<double>(work.moved) / 50;  // 50 GB/s
    on.copy = static_cast<double>(work.output) / 50;
    on.time.start(on.alone);
  }
  return guess;
}

// Zero-forcing in a part for each device, that they may share it.
std::vector<PoolGraph> graphs_of(const std::vector<GpuServer::Cell>& cells, std::uint32_t devices) {
  std::vector<PoolGraph> graphs;
  for (const auto& [frame, deadline, packets] : cells)
    graphs.push_back(build_pool_graph(
        frame,
        {.deadline = deadline, .zero_force_parts = std::min(devices, most_zero_force_parts(frame))},
        *find_pool_profile("roofline")));
  return graphs;
}

runtime::ScoreboardWriter board_of(const std::vector<GpuServer::Cell>& cells,
                                   const std::vector<PoolGraph>& graphs, const GpuPool& pool) {
  std::vector<runtime::SourceWriter> boards;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Frame& frame = cells[c].frame;
    boards.emplace_back(graphs[c].graph, frame.format().ring, kOpNames,
                        std::vector<std::uint32_t>{});
    boards.back().set_profile(guess(graphs[c], pool.sms), static_cast<double>(frame.duration()),
                              rows_of(graphs[c]));
  }
  runtime::ScoreboardWriter board(std::move(boards), pool.devices);
  for (std::uint16_t d = 0; d < pool.devices; ++d) board.device(d).sms = pool.sms;
  return board;
}

void demand(const cuda::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(what + (": " + status.text()));
}

// But for its driver.
GpuPool pool_of(const std::vector<cuda::Device>& devices) {
  GpuPool pool;
  pool.name = devices.front().name;
  pool.devices = static_cast<std::uint16_t>(devices.size());
  pool.sms = devices.front().sms;
  pool.place = [devices](cuda::Driver& driver) { return std::make_unique<Gpus>(devices, driver); };
  return pool;
}

}  // namespace

GpuServer::GpuServer(const GpuPool& pool, const std::vector<Cell>& cells, std::string_view policy)
    : graphs_(graphs_of(cells, pool.devices)),
      policy_(runtime::make_pool_policy(policy)),
      board_(board_of(cells, graphs_, pool)) {
  if (policy_ == nullptr)
    throw std::invalid_argument("no policy for a pool is called " + std::string(policy));
  std::vector<GpuCell> served;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::uint32_t ring = cells[c].frame.format().ring;
    const runtime::Graph& graph = graphs_[c].graph;
    arrivals_.emplace_back(graph, ring);
    served.push_back({cells[c].frame, graphs_[c], ring, !cells[c].packets.empty()});
    stores_.emplace_back(cells[c].frame.symbols().size(), kNoInstruction);
    received_.emplace_back();
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed == runtime::Feed::Arrivals) received_.back().push_back(i);
      if (static_cast<Op>(graph[i].opcode) == Op::Store) stores_.back()[graph[i].step] = i;
    }
    ones_.resize(std::max<std::size_t>(ones_.size(), graph.size()), 1);
  }
  driver_ = pool.driver(runtime::CudaExecutor::needs(board_));
  place_ = pool.place(*driver_);
  for (const Cell& cell : cells)
    if (!cell.packets.empty()) place_->reach(cell.packets);
  cells_ = std::make_unique<GpuCells>(served, pool.devices, *place_);
  executor_ = std::make_unique<runtime::CudaExecutor>(
      board_, *driver_, *cells_, runtime::CudaExecutor::Options{.patience = pool.patience});
  scheduler_ = std::make_unique<runtime::Scheduler>(board_, arrivals_, *policy_, *executor_);
}

GpuServer::~GpuServer() {
  if (driver_ == nullptr || at_rest()) return;
  struct Left {
    std::unique_ptr<GpuPlace> place;
    std::unique_ptr<cuda::Driver> driver;
    std::unique_ptr<GpuCells> cells;
  };
  static auto& left = *new std::vector<Left>;
  left.push_back({std::move(place_), std::move(driver_), std::move(cells_)});
}

bool GpuServer::at_rest() {
  if (at_rest_) return *at_rest_;
  const Tick until = now() + 2 * kSecond;
  const auto busy = [&](std::uint16_t d) {
    return driver_->revive(d).code() == cuda::kNotReady.code();
  };
  at_rest_ = true;
  for (std::uint16_t d = 0; d < driver_->devices(); ++d) {
    while (busy(d) && now() < until) sleep_until(now() + kMillisecond);
    if (busy(d)) at_rest_ = false;
  }
  return *at_rest_;
}

std::string GpuServer::trouble() const {
  if (executor_->failures() == 0) return {};
  const cuda::Status& why = executor_->trouble();
  return "GPUs failed " + std::to_string(executor_->failures()) + " times; the first to say why: " +
         (why.ok() ? "none, they told nothing for too long" : why.text());
}

bool GpuServer::any_device() const {
  return std::ranges::any_of(board_.devices(), &runtime::DeviceStatus::up);
}

bool GpuServer::admit(runtime::FrameId id, Tick air_start, Tick now) {
  arrivals_[id.source].clear(board_[id.source].slot(id.frame));
  return scheduler_->admit(id, air_start, ones_, now);
}

void GpuServer::feed(runtime::FrameRef at, std::uint16_t instruction, Tick now) {
  arrivals_[at.source].add(at.slot, instruction, 0, 1);
  scheduler_->fed(at, instruction, now);
}

void GpuServer::step(Tick now) {
  scheduler_->step(now);
  scheduler_->publish();
}

GpuPool whole_devices(const std::vector<cuda::Device>& devices) {
  GpuPool pool = pool_of(devices);
  pool.driver = [devices](const cuda::DriverOptions& options) {
    cuda::Status status;
    auto driver = cuda::make_driver(devices, options, status);
    demand(status, "streams and events");
    return driver;
  };
  return pool;
}

GpuPool partitions_of(const cuda::Device& card, std::uint32_t partitions) {
  demand(cuda::use(card), card.name.c_str());
  const auto parts = std::make_shared<cuda::Partitions>(card, partitions);
  if (!parts->why().empty()) throw std::runtime_error("partitions: " + parts->why());
  GpuPool pool = pool_of(std::vector(partitions, card));
  pool.sms = parts->sms(0);
  pool.driver = [card, parts](const cuda::DriverOptions& options) {
    cuda::Status status;
    auto driver = cuda::make_driver(std::move(*parts), card, options, status);
    demand(status, "partitions");
    return driver;
  };
  return pool;
}

GpuPool this_machines(std::uint32_t partitions, std::size_t most) {
  cuda::use_all_queues();  // before anything is asked of a device
  cuda::Machine machine = cuda::look();
  std::vector<cuda::Device>& devices = machine.devices;
  if (devices.empty()) throw std::runtime_error("no GPU: " + machine.why);
  if (partitions > 1) return partitions_of(devices.front(), partitions);
  if (devices.size() > most) devices.resize(most);
  return whole_devices(devices);
}

}  // namespace carillon::frame
