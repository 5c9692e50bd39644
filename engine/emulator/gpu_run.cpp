#include "emulator/gpu_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/cuda/partition.hpp"
#include "emulator/payload.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/gpu_place.hpp"
#include "frame/pool_server.hpp"
#include "runtime/devices/device_type.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/scheduler.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::Op;
using frame::SymbolKind;
using runtime::FrameEvent;
using runtime::FrameRef;

constexpr Tick kFar = 1000 * kSecond;

// What is guessed of kernels before any has run: a third of what an H200 could do.
std::vector<runtime::OnType> guess(const frame::PoolGraph& graph, std::uint32_t sms) {
  const runtime::DeviceType& type = *runtime::find_device_type("h200");
  std::vector<runtime::OnType> guess(graph.graph.opcodes());
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const runtime::Work& work = graph.work[i];
    runtime::OnType& on = guess[graph.graph[i].opcode];
    const bool kernel = work.footprint.ctas != 0;
    on.footprint = work.footprint;
    on.sms = kernel ? std::min(runtime::sms_needed(type, work.footprint), sms) : 0;
    on.alone = kernel ? static_cast<double>(frame::alone(type, work))
                      : static_cast<double>(work.moved) / 50;  // 50 GB/s
    on.copy = static_cast<double>(work.output) / 50;
    on.time.start(on.alone);
  }
  return guess;
}

// The cell, its devices, and the frames that come.
class Player {
 public:
  Player(const frame::Frame& frame, const RadioPlan& radio, const GpuPool& pool,
         const GpuRunOptions& options)
      : frame_(frame),
        options_(options),
        graph_(frame::build_pool_graph(frame,
                                       {.deadline = options.at_once ? kFar : options.deadline},
                                       *frame::find_pool_profile("roofline"))),
        board_(boards(), pool.devices),
        arrivals_(arrivals()),
        policy_(runtime::make_pool_policy(options.policy)) {
    if (policy_ == nullptr)
      throw std::invalid_argument("no policy for a pool is called " + options.policy);
    driver_ = pool.driver(runtime::CudaExecutor::needs(board_));
    place_ = pool.place(*driver_);
    const std::uint32_t ring = frame.format().ring;
    cells_ = std::make_unique<frame::GpuCells>(
        std::vector<frame::GpuCell>{{frame, graph_, ring, ring}}, pool.devices, *place_);
    executor_ = std::make_unique<runtime::CudaExecutor>(
        board_, *driver_, *cells_, runtime::CudaExecutor::Options{options.patience});
    scheduler_ = std::make_unique<runtime::Scheduler>(board_, arrivals_, *policy_, *executor_);
    board_[0].set_profile(guess(graph_, pool.sms), static_cast<double>(frame.duration()));
    for (std::uint16_t d = 0; d < pool.devices; ++d) board_.device(d).sms = pool.sms;
    prepare(radio);
    for (std::uint16_t i = 0; i < graph_.graph.size(); ++i)
      if (graph_.graph[i].feed == runtime::Feed::Arrivals) received_.push_back(i);
    result_.blocks = static_cast<std::uint32_t>(frame.transport_blocks(Direction::Uplink).size());
    result_.frames.resize(options.frames);
  }

  GpuRunResult run() {
    air_start_ = now() + kMillisecond;
    next_ = received_.size();
    for (bool going = true; ended_ < options_.frames && going;) {
      advance(now());
      scheduler_->step(now());
      scheduler_->publish();
      take_events();
      if (now() < told_) continue;
      told_ = now() + 50 * kMillisecond;
      going = !options_.progress || options_.progress(ended_);
      executor_->recover();
      demand_a_device();
    }
    result_.frames.resize(ended_);
    result_.copies = executor_->copies();
    return std::move(result_);
  }

 private:
  // Without any for a while, nothing will come of it.
  void demand_a_device() {
    const auto up = [](const runtime::DeviceStatus& device) { return device.up; };
    if (std::ranges::any_of(board_.devices(), up)) seen_ = now();
    if (now() - seen_ < kSecond) return;
    const cuda::Status& trouble = executor_->trouble();
    throw std::runtime_error("no device is left: " +
                             (trouble.ok() ? "they told nothing for too long" : trouble.text()));
  }

  std::vector<runtime::CellBoard> boards() const {
    std::vector<runtime::CellBoard> boards;
    boards.emplace_back(graph_.graph, frame_.format().ring, frame::kOpNames,
                        std::vector<std::uint32_t>{});
    return boards;
  }
  std::vector<runtime::Arrivals> arrivals() const {
    std::vector<runtime::Arrivals> arrivals;
    arrivals.emplace_back(graph_.graph, frame_.format().ring);
    return arrivals;
  }

  // Every place of the ring has a frame of its own, again and again.
  void prepare(const RadioPlan& radio) {
    UplinkGenerator generator(frame_, radio);
    for (std::uint16_t slot = 0; slot < board_[0].ring(); ++slot) {
      const FrameRef at{0, slot};
      generator.generate(slot, [&](std::uint32_t symbol, std::uint32_t antenna) {
        return cells_->samples(at, symbol, antenna);
      });
      sent_.emplace_back(generator.payload().begin(), generator.payload().end());
      const std::size_t bytes = frame_.payload_bytes(Direction::Downlink);
      if (bytes != 0)
        fill_payload(frame_, radio.seed, Direction::Downlink, slot,
                     {cells_->downlink_payload(at), bytes});
    }
  }

  void advance(Tick time) {
    if (next_ < received_.size()) {
      const runtime::Instruction& load = graph_.graph[received_[next_]];
      if (!options_.at_once && time < air_start_ + frame_.symbol(load.step).end) return;
      arrivals_[0].add(slot_, received_[next_], 0, 1);
      scheduler_->fed({0, slot_}, received_[next_], time);
      ++next_;
      last_sample_[slot_] = options_.at_once ? time : air_start_ + frame_.symbol(load.step).end;
      return;
    }
    if (begun_ == options_.frames ||
        (begun_ != 0 && !options_.at_once && time < air_start_ + frame_.duration()))
      return;
    const std::uint16_t slot = board_[0].slot(begun_);
    if (board_.frame({0, slot}).state != runtime::FrameStatus::State::Empty) {
      if (options_.at_once) return;
      air_start_ += frame_.duration();  // there is no room for it
      ++begun_;
      ++ended_;
      return;
    }
    if (options_.at_once && begun_ != ended_) return;
    if (begun_ != 0) air_start_ += frame_.duration();
    begin(slot, time);
  }

  void begin(std::uint16_t slot, Tick time) {
    const std::vector<std::uint32_t> chunks(graph_.graph.size(), 1);
    arrivals_[0].clear(slot);
    slot_ = slot;
    last_sample_[slot] = time;
    if (options_.at_once) air_start_ = time;
    const bool admitted = scheduler_->admit({begun_++, 0}, air_start_, chunks, time);
    next_ = admitted ? 0 : received_.size();
  }

  void take_events() {
    std::array<FrameEvent, 16> events;
    while (const std::size_t count = scheduler_->poll(0, events))
      for (const FrameEvent& event : std::span(events).first(count)) take(event);
  }

  void take(const FrameEvent& event) {
    if (event.kind == FrameEvent::Kind::Committed || event.kind == FrameEvent::Kind::Missed) return;
    ++ended_;
    if (event.kind == FrameEvent::Kind::Refused) return;
    const FrameRef at{0, event.slot};
    if (event.kind == FrameEvent::Kind::Done) record(at, event);
    if (slot_ == event.slot) next_ = received_.size();  // what has not come is not waited for
    scheduler_->release(at);
  }

  void record(FrameRef at, const FrameEvent& event) {
    GpuFrameRecord& record = result_.frames[event.frame];
    record.done = true;
    record.latency = event.at - last_sample_[at.slot];
    runtime::DeviceMask used;
    for (const auto& status : board_[0].statuses(at.slot)) used.set(status.device);
    record.devices = static_cast<std::uint16_t>(used.count());
    const auto blocks = frame_.transport_blocks(Direction::Uplink);
    for (std::uint32_t b = 0; b < blocks.size(); ++b) record.failed += !whole(at, b);
  }

  // It passes its checks and is what was sent.
  bool whole(FrameRef at, std::uint32_t b) const {
    const frame::TransportBlock& block = frame_.transport_blocks(Direction::Uplink)[b];
    const std::uint16_t device = brought_by(at, block.last_symbol);
    return cells_->good(at, device, b) &&
           std::memcmp(cells_->payload(at, device) + block.payload_offset,
                       sent_[at.slot].data() + block.payload_offset,
                       (frame_.plan(block).A() + 7) / 8) == 0;
  }

  std::uint16_t brought_by(FrameRef at, std::uint16_t symbol) const {
    for (std::uint16_t i = 0; i < graph_.graph.size(); ++i)
      if (graph_.graph[i].opcode == static_cast<std::uint16_t>(Op::Store) &&
          graph_.graph[i].step == symbol)
        return board_[0].status(at.slot, i).device;
    return 0;
  }

  const frame::Frame& frame_;
  const GpuRunOptions& options_;
  const frame::PoolGraph graph_;
  runtime::Scoreboard board_;
  std::vector<runtime::Arrivals> arrivals_;
  std::unique_ptr<runtime::Policy> policy_;
  std::unique_ptr<frame::GpuPlace> place_;  // outlives the driver, which ends what copies there
  std::unique_ptr<cuda::Driver> driver_;
  std::unique_ptr<frame::GpuCells> cells_;
  std::unique_ptr<runtime::CudaExecutor> executor_;
  std::unique_ptr<runtime::Scheduler> scheduler_;
  std::vector<std::uint16_t> received_;          // Loads of received symbols, in order
  std::vector<std::vector<std::uint8_t>> sent_;  // [slot] payloads
  GpuRunResult result_;
  std::array<Tick, 64> last_sample_{};  // [slot]
  std::uint64_t begun_ = 0, ended_ = 0;
  std::uint16_t slot_ = 0;  // of the newest frame
  std::size_t next_ = 0;    // the symbol of it that comes next, in received_
  Tick air_start_ = 0, told_ = 0, seen_ = now();
};

void demand(const cuda::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(what + (": " + status.text()));
}

}  // namespace

GpuRunResult run_on_gpus(const frame::Frame& frame, const RadioPlan& radio, const GpuPool& pool,
                         const GpuRunOptions& options) {
  return Player(frame, radio, pool, options).run();
}

GpuPool this_machines(std::uint32_t partitions, std::size_t most) {
  cuda::use_all_queues();  // before anything is asked of a device
  const cuda::Machine machine = cuda::look();
  if (machine.devices.empty()) throw std::runtime_error("no GPU: " + machine.why);
  GpuPool pool;
  std::vector<cuda::Device> devices = machine.devices;
  if (devices.size() > most) devices.resize(most);
  if (partitions > 1) {
    const cuda::Device card = devices.front();
    demand(cuda::use(card), card.name.c_str());
    const auto parts = std::make_shared<cuda::Partitions>(card, partitions);
    if (!parts->why().empty()) throw std::runtime_error("partitions: " + parts->why());
    devices.assign(partitions, card);
    pool.sms = parts->sms(0);
    pool.driver = [card, parts](const cuda::DriverOptions& options) {
      cuda::Status status;
      auto driver = cuda::make_driver(std::move(*parts), card, options, status);
      demand(status, "partitions");
      return driver;
    };
  } else {
    pool.sms = devices.front().sms;
    pool.driver = [devices](const cuda::DriverOptions& options) {
      cuda::Status status;
      auto driver = cuda::make_driver(devices, options, status);
      demand(status, "streams and events");
      return driver;
    };
  }
  pool.name = devices.front().name;
  pool.devices = static_cast<std::uint16_t>(devices.size());
  pool.place = [devices](cuda::Driver&) { return std::make_unique<frame::Gpus>(devices); };
  return pool;
}

}  // namespace carillon::emulator
