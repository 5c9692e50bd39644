#include "frame/pool_server.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <utility>

#include "runtime/policies/pool/pool_policies.hpp"

namespace carillon::frame {

using namespace runtime;

namespace {

Tick transfer_alone(const Fabric& fabric, std::uint16_t from, std::uint16_t to,
                    std::uint64_t bytes) {
  Fabric idle = fabric;
  return idle.transfer(from, to, bytes, 0);
}

double sm_time(const DeviceType& type, const PoolGraph& cell) {
  double time = 0;
  for (const Work& work : cell.work)
    if (work.footprint.ctas != 0)
      time += static_cast<double>(alone(type, work)) * sms_needed(type, work.footprint);
  return time;
}

std::string gigabytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

std::uint32_t sms_left(const PoolDevice& device) {
  return device.type->sms - std::min(device.reserved_sms, device.type->sms - 1);
}

// The first kernel that does not run on such a device.
std::optional<Op> unfit(const PoolGraph& cell, const DeviceType& type) {
  for (std::uint16_t i = 0; i < cell.graph.size(); ++i) {
    const Footprint& footprint = cell.work[i].footprint;
    if (footprint.ctas != 0 && ctas_per_sm(type, footprint) == 0)
      return static_cast<Op>(cell.graph[i].opcode);
  }
  return {};
}

}  // namespace

PoolServer::Kinds::Kinds(const PoolModel& model) {
  for (const PoolDevice& device : model.devices) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const PoolDevice* other) {
      return other->type == device.type && other->reserved_sms == device.reserved_sms;
    });
    of_device.push_back(static_cast<std::uint16_t>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(&device);
  }
}

std::vector<Problem> misfits(const PoolGraph& cell, const PoolModel& model) {
  std::uint64_t bytes = 0;
  for (const Work& work : cell.work) bytes += DeviceMemory::rounded(work.output);
  std::vector<Problem> problems;
  for (std::size_t d = 0; d < model.devices.size(); ++d) {
    const PoolDevice& device = model.devices[d];
    const std::string key = "devices." + std::to_string(d);
    if (const auto op = unfit(cell, *device.type))
      problems.push_back({key + ".type", "is " + std::string(device.type->name) +
                                             ", on whose SMs no CTA fits of " +
                                             std::string(kOpNames[static_cast<std::size_t>(*op)])});
    const std::uint64_t has = device.memory != 0 ? device.memory : device.type->memory_bytes;
    if (bytes > has)
      problems.push_back(
          {key + ".memory_bytes",
           "is " + gigabytes(has) + " but a frame's results take " + gigabytes(bytes)});
  }
  return problems;
}

PoolServer::PoolServer(const std::vector<PoolCell>& cells, const PoolModel& model,
                       const PoolServerOptions& options, std::function<void(const Ended&)> ended,
                       std::function<bool()> go_on)
    : cells_(cells),
      model_(model),
      options_(options),
      ended_(std::move(ended)),
      go_on_(std::move(go_on)),
      kinds_(model) {
  for (const PoolCell& cell : cells)
    if (const auto problems = misfits(cell.graph, model); !problems.empty())
      throw std::invalid_argument(problems.front().key + " " + problems.front().message);
  for (const PoolDevice* kind : kinds_.kinds) {
    auto& of_kind = asked_.emplace_back();
    for (const PoolCell& cell : cells) of_kind.push_back(sm_time(*kind->type, cell.graph));
  }
  use_.of_opcode.resize(kOps);
  use_.busy.resize(model.devices.size());
  use_.memory.resize(model.devices.size());
  start(0);
}

void PoolServer::start(Tick now) {
  start_ = now;
  ++life_;
  in_reserve_.clear();
  for (const PoolDevice& device : model_.devices) in_reserve_.push_back(device.reserve);
  policy_ = make_pool_policy(options_.policy, options_.lroc);
  if (!policy_) throw std::invalid_argument("no policy for a pool is called " + options_.policy);
  if (options_.around) policy_ = options_.around(std::move(policy_));
  std::vector<Simulation::Source> cells;
  for (const PoolCell& cell : cells_) cells.push_back({cell.graph.graph, options_.ring, {}, {}});
  const auto make_pool = [&](ScoreboardWriter& board, std::span<const Arrivals>) {
    std::vector<std::vector<Work>> work;
    for (std::uint16_t c = 0; c < cells_.size(); ++c) {
      work.push_back(cells_[c].graph.work);
      board[c].set_profile(profile_of(cells_[c].graph),
                           static_cast<double>(cells_[c].frame.duration()),
                           rows_of(cells_[c].graph));
    }
    for (std::uint32_t d = 0; d < model_.devices.size(); ++d) {
      board.device(d).type = kinds_.of_device[d];
      board.device(d).sms = sms_left(model_.devices[d]);
      board.device(d).degree = model_.devices[d].degree;
      board.device(d).spare = model_.devices[d].type->host;
      board.device(d).up = !model_.devices[d].reserve;
    }
    auto pool =
        std::make_unique<SimulatedPool>(board, model_since_start(), std::move(work), options_.keep);
    pool_ = pool.get();
    return pool;
  };
  simulation_ = std::make_unique<Simulation>(
      cells, *policy_, static_cast<std::uint32_t>(model_.devices.size()), make_pool);
  simulation_->watch([this](const FrameEvent& event) { take(event); });
  simulation_->ask(go_on_);
}

// With devices in the state that faults have left them in.
PoolModel PoolServer::model_since_start() const {
  PoolModel model = model_;
  std::stable_sort(model.faults.begin(), model.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  for (Fault& fault : model.faults) {
    if (fault.at < start_) fault.noticed = 0;
    fault.at = std::max<Tick>(fault.at - start_, 0);
  }
  return model;
}

// What is known of the cell's instructions before anything has run: what each takes on an idle
// pool.
std::vector<OnType> PoolServer::profile_of(const PoolGraph& cell) const {
  const std::vector<std::uint16_t> row = rows_of(cell);
  const std::size_t rows = *std::ranges::max_element(row) + std::size_t{1};
  std::vector<OnType> profile(kinds_.kinds.size() * rows);
  const auto is_gpu = [](const PoolDevice& device) { return !device.type->host; };
  const auto other = std::find_if(model_.devices.rbegin(), model_.devices.rend(), is_gpu);
  const std::uint16_t elsewhere = other != model_.devices.rend() ? other->node : 0;
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const PoolDevice& kind = *kinds_.kinds[k];
    for (std::uint16_t i = 0; i < cell.graph.size(); ++i) {
      const Work& work = cell.work[i];
      OnType& on = profile[k * rows + row[i]];
      if (on.alone != 0) continue;
      const bool kernel = work.footprint.ctas != 0;
      on.alone =
          static_cast<double>(kernel ? alone(*kind.type, work, kind.reserved_sms)
                                     : transfer_alone(model_.fabric, 0, kind.node, work.moved));
      on.time.start(on.alone);
      on.footprint = work.footprint;
      on.sms = kernel ? std::min(sms_needed(*kind.type, work.footprint), sms_left(kind)) : 0;
      on.trunk = model_.fabric.trunk_ns_per_byte() * static_cast<double>(work.moved);
      on.copy = static_cast<double>(
          transfer_alone(model_.fabric, model_.devices.front().node, elsewhere, work.output));
    }
  }
  return profile;
}

void PoolServer::begin(Tick at, FrameId frame, Tick air_start) {
  simulation_->begin(at - start_, frame, air_start - start_);
}

void PoolServer::arrive(Tick at, FrameId frame, std::uint16_t instruction) {
  simulation_->arrive(at - start_, frame, instruction, 0);
}

void PoolServer::run(Tick until) {
  if (up()) simulation_->run(until == kNever ? kNever : until - start_);
}

std::vector<FrameId> PoolServer::lose(Tick now) {
  std::vector<FrameId> lost;
  for (std::uint16_t c = 0; c < cells_.size(); ++c)
    for (const FrameStatus& frame : simulation_->board(c).frames())
      if (frame.state != FrameStatus::State::Empty) lost.emplace_back(frame.frame, c);
  use_ = use();
  end_ = now;
  simulation_.reset();
  return lost;
}

std::optional<std::uint16_t> PoolServer::join(Tick now) {
  if (!up()) return {};
  for (std::uint16_t d = 0; d < model_.devices.size(); ++d) {
    if (!in_reserve_[d] || faulty(d, now)) continue;
    in_reserve_[d] = false;
    pool_->join(d, now - start_);
    return d;
  }
  return {};
}

// The last fault so far has left it lost or hung.
bool PoolServer::faulty(std::uint16_t device, Tick now) const {
  const Fault* last = nullptr;
  for (const Fault& fault : model_.faults)
    if (fault.device == device && fault.at <= now && (last == nullptr || fault.at >= last->at))
      last = &fault;
  return last != nullptr && last->kind != Fault::Kind::Back;
}

Tick PoolServer::now() const { return up() ? start_ + simulation_->now() : end_; }

double PoolServer::share(std::uint16_t cell) const {
  double frames = 0;  // that the devices can do in the time of one
  for (std::size_t d = 0; d < model_.devices.size(); ++d) {
    const PoolDevice& device = model_.devices[d];
    if (device.type->host || in_reserve_[d] || (up() && !simulation_->devices()[d].up)) continue;
    frames += static_cast<double>(cells_[cell].frame.duration()) * sms_left(device) /
              asked_[kinds_.of_device[d]][cell];
  }
  return 1 / frames;
}

void PoolServer::take(const FrameEvent& event) {
  if (event.kind == FrameEvent::Kind::Committed || event.kind == FrameEvent::Kind::Missed) return;
  const bool held = event.kind != FrameEvent::Kind::Refused;
  ended_({.frame = {event.frame, event.source},
          .at = start_ + event.at,
          .done = event.kind == FrameEvent::Kind::Done,
          .why = event.why,
          .devices = held ? count(event) : std::uint16_t{0}});
}

// Adds the frame to what has been done; returns how many devices had part in it.
std::uint16_t PoolServer::count(const FrameEvent& event) {
  const SourceBoard& board = simulation_->board(event.source);
  DeviceMask used;
  for (std::uint16_t i = 0; i < board.graph().size(); ++i) {
    const InstructionStatus& status = board.status(event.slot, i);
    use_.again += status.runs;
    if (status.chunks == 0 || status.state != InstructionStatus::State::Committed) continue;
    ++use_.tasks;
    used.set(status.device);
    if (event.kind == FrameEvent::Kind::Done)
      use_.of_opcode[board.graph()[i].opcode] += static_cast<double>(status.busy);
  }
  return static_cast<std::uint16_t>(used.count());
}

PoolUse PoolServer::use() const {
  PoolUse use = use_;
  if (!up()) return use;
  for (std::uint32_t d = 0; d < model_.devices.size(); ++d) {
    use.busy[d] += pool_->busy(d, simulation_->now());
    use.memory[d] = std::max(use.memory[d], pool_->memory(d).most_in_use());
  }
  use.copies += pool_->copies();
  for (Execution each : simulation_->executions()) {
    each.start += start_;
    each.end += start_;
    if (each.expected != runtime::kNever) each.expected += start_;
    use.executions.push_back(each);
  }
  return use;
}

Tick alone(const DeviceType& type, const Work& work, std::uint32_t reserved_sms) {
  Gpu gpu({.sms = type.sms, .bytes_per_ns = type.memory_bytes_per_s * 1e-9});
  gpu.reserve(reserved_sms, 0);
  gpu.submit(0, true, load_on(type, work), 1, 0, 0, 0);
  std::vector<Gpu::Ended> ended;
  while (ended.empty()) gpu.advance(gpu.next(), ended);
  return ended.front().end;
}

}  // namespace carillon::frame
