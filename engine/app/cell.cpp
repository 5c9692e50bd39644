#include "app/cell.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/cuda/partition.hpp"
#include "frame/opcodes.hpp"
#include "fronthaul/gpu/receive.hpp"
#include "fronthaul/udp.hpp"

namespace carillon::app {

using frame::Direction;

namespace {

// Frames whose downlink may be at the users, or on its way there.
constexpr std::uint32_t kDecoded = 16;

telemetry::Store::Sizes store_sizes(const RunPlan& plan, const std::vector<std::string>& threads) {
  telemetry::Store::Sizes sizes;
  sizes.frames = plan.run.record_frames;
  sizes.users = plan.cell.users;
  sizes.opcodes.assign(frame::kOpNames.begin(), frame::kOpNames.end());
  sizes.threads = threads;
  return sizes;
}

fronthaul::LinkDepth depth_of(const RunPlan& plan) {
  fronthaul::LinkDepth depth;
  depth.ingest = plan.cell.ring + 4;
  depth.downlink = plan.cell.ring;
  // And what users send that are live, and late.
  depth.replay = plan.radio.frames + (plan.data.users_owned() ? 1 : 0);
  return depth;
}

fronthaul::Link open_link(const RunPlan& plan, const fronthaul::Layout& layout) {
  const fronthaul::LinkDepth depth = depth_of(plan);
  if (plan.run.role == Role::Both) return open_both(plan.fronthaul, layout, depth);
  fronthaul::Link link;
  auto& end = has_radio(plan) ? link.radio : link.baseband;
  end = open_end(has_radio(plan) ? fronthaul::Side::Radio : fronthaul::Side::Baseband,
                 plan.fronthaul, layout, depth);
  return link;
}

// Empty: the link receives into a GPU's memory.
std::string into_gpu(const RunPlan& plan, const fronthaul::Layout& layout,
                     std::unique_ptr<fronthaul::Transport>& link) {
  const fronthaul::LinkOptions& options = plan.fronthaul;
  if (has_radio(plan)) return "the radio unit is in this process; no card is between";
  if (options.kind != fronthaul::LinkKind::Udp)
    return "fronthaul.kind is shm, and cards receive what comes by udp; set it to udp";
  if (plan.runtime.gpus == 0) return "runtime.gpus is 0, and cores read host memory; set it to 1";
  if (!options.key_file.empty())
    return "fronthaul.key_file is given, and cores, which check each packet with its key, must not "
           "read what a card wrote there";
  cuda::use_all_queues();  // before anything is asked of a device
  return receive_into_gpu(
      link,
      {options.bbu_address, fronthaul::consecutive_ports(options.bbu_port, options.receivers),
       options.radio_address, options.radio_port, layout.most_packet_bytes(),
       fronthaul::uplink_buffers(options, layout, depth_of(plan)), plan.runtime.gpus},
      fronthaul::gpu::this_machines_means());
}

std::string place_samples(const RunPlan& plan, const fronthaul::Layout& layout,
                          std::unique_ptr<fronthaul::Transport>& link) {
  using fronthaul::ReceiveInto;
  const ReceiveInto wanted = plan.fronthaul.receive;
  if (!has_baseband(plan) || wanted == ReceiveInto::Host) return {};
  const std::string why = into_gpu(plan, layout, link);
  if (wanted == ReceiveInto::Gpu && !why.empty())
    throw std::runtime_error("fronthaul.receive is gpu, but " + why);
  return why;
}

}  // namespace

Cell::Cell(const RunPlan& plan, const std::vector<std::string>& threads, std::uint32_t workers)
    : plan_(plan),
      frame_(plan_.cell),
      layout_(frame_),
      store_(plan_.run.telemetry, store_sizes(plan_, threads)),
      link_(open_link(plan_, layout_)),
      why_in_host_(place_samples(plan_, layout_, link_.baseband)),
      recorder_(store_, frame_) {
  if (has_baseband(plan_)) {
    pipeline_ = std::make_unique<frame::Pipeline>(
        frame_, frame::Pipeline::Options{.workers = workers, .elsewhere = plan.runtime.gpus > 0});
    if (!plan_.data.owned())
      source_ = std::make_unique<emulator::SeededSource>(frame_, plan_.radio.seed);
    if (!plan_.data.users_owned())
      sent_ = std::make_unique<emulator::SentBits>(frame_, plan_.radio);
  }
  if (has_radio(plan_))
    radio_ = std::make_unique<Radio>(
        plan_, frame_, *link_.radio, store_,
        open_port(plan_.data.users_socket, plan_.data.users_tun, Direction::Uplink));
}

// Ports prepare work for the baseband unit.
Cell::~Cell() {
  for (const auto& port : ports_) port->finish();
}

// Neither: no other owner.
frame::DataPort Cell::open_port(const std::string& socket, const std::string& tun,
                                Direction sends) {
  if (socket.empty() && tun.empty()) return {};
  // What the users do is kept until they have decoded it.
  const std::uint32_t waits =
      sends == Direction::Uplink && frame_.scheduled_by_port() ? kDecoded : 0;
  ports_.push_back(std::make_unique<OwnedPort>(socket, tun, plan_.data.network, frame_, sends,
                                               plan_.cell.ring + waits, control_));
  store_.ports()[ports_.size() - 1] = ports_.back()->record();
  store_.ports().set_count(ports_.size());
  return ports_.back()->port();
}

void Cell::join(runtime::Runtime::Source cell, Accelerator::Cell* accelerator) {
  frame::DataPort port = open_port(plan_.data.socket, plan_.data.tun, Direction::Downlink);
  if (source_ != nullptr) port.source = source_.get();
  port.known = sent_.get();
  baseband_ =
      std::make_unique<Baseband>(*pipeline_, cell, *link_.baseband, recorder_, port, accelerator);
  if (radio_ != nullptr)
    recorder_.watch([this](std::uint64_t frame) {
      return radio_->left_out(baseband_->ingest().wire_frame(frame));
    });
}

void Cell::prepare(const std::atomic<bool>& stop,
                   const std::function<void(const std::string&)>& say) {
  radio_->prepare([&](std::uint32_t i) {
    if (i % 4 == 0)
      say("making the radio's frames: " + std::to_string(i) + " of " +
          std::to_string(plan_.radio.frames));
    return !stop.load();
  });
}

// Frames that the radio sends; 0: until it is stopped.
std::uint64_t Cell::frames_due() const {
  const auto& run = plan_.run;
  const double length = run.seconds * static_cast<double>(kSecond);
  const auto in_time =
      static_cast<std::uint64_t>(std::ceil(length / static_cast<double>(frame_.duration())));
  return run.frames == 0 || in_time == 0 ? run.frames + in_time : std::min(run.frames, in_time);
}

void Cell::start(Tick air_start) {
  const std::uint64_t frames = frames_due();
  radio_->start(air_start, frames);
  if (baseband_ == nullptr) return;
  baseband_->follow(air_start);
  if (frames != 0) baseband_->announce_until(frames);
}

// The frame that the baseband unit has begun ahead of its time is sent too.
void Cell::end_together() {
  const std::uint64_t due = frames_due();
  std::uint64_t frames = baseband_ == nullptr ? 0 : baseband_->next_wire_frame();
  if (frames != 0) ++frames;  // it may begin one more meanwhile
  if (due != 0) frames = std::min(frames, due);
  if (frames != 0) baseband_->announce_until(frames);
  radio_->stop(frames);
}

// Also those that this thread was too late for are announced by the clock, so that each counts.
bool Cell::all_announced() {
  baseband_->announce_until(radio_->frames());
  return baseband_->all_announced();
}

bool Cell::over() const {
  if (radio_ != nullptr) return radio_->finished();
  return plan_.run.frames != 0 && baseband_->frames_ended() >= plan_.run.frames;
}

Tick Cell::patience() const {
  const auto budget =
      static_cast<Tick>(plan_.cell.deadlines.uplink_budget_ms * static_cast<double>(kMillisecond));
  return 2 * frame_.duration() * plan_.cell.ring + budget + kSecond / 2;
}

void Cell::close() {
  if (baseband_ != nullptr) baseband_->close();
  if (radio_ != nullptr) radio_->close();
  for (const auto& port : ports_) port->finish();
}

void Cell::report_ports() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    store_.ports()[i] = ports_[i]->record();
    const auto flows = ports_[i]->flows();
    std::ranges::copy(flows, &store_.flows()[0]);
    if (!flows.empty()) store_.flows().set_count(flows.size());
  }
}

void Cell::report() {
  report_ports();
  if (baseband_ != nullptr) {
    const auto from = baseband_->ingest().counters();
    auto& to = store_.counters();
    using fronthaul::Reject;
    to.packets_received = from.received - from.reports - from.rejected_reports;
    to.packets_sent = baseband_->sender().sent();
    to.frames_sent_away = baseband_->frames_sent_away() - recorder_.ghosts_sent_away();
    to.frames_handed_back = baseband_->frames_handed_back() - recorder_.ghosts_handed_back();
    to.frames_passed_over = from.passed_over;
    const auto imagined = recorder_.ghosts() * layout_.packets(fronthaul::Carries::Uplink);
    to.packets_missing = from.missing - std::min(from.missing, imagined);
    to.rejected_length = from[Reject::Length];
    to.rejected_cell = from[Reject::Cell];
    to.rejected_antenna = from[Reject::Antenna];
    to.rejected_symbol = from[Reject::Symbol];
    to.rejected_old = from[Reject::Old];
    to.rejected_early = from[Reject::Early];
    to.rejected_duplicate = from[Reject::Duplicate];
    to.rejected_differing = from[Reject::Differing];
  }
  std::uint64_t foreign = 0, unauthentic = 0;
  for (const auto* end : {link_.baseband.get(), link_.radio.get()}) {
    if (end == nullptr) continue;
    foreign += end->foreign();
    unauthentic += end->unauthentic();
  }
  store_.counters().rejected_foreign = foreign;
  store_.counters().rejected_unauthentic = unauthentic;
  if (radio_ != nullptr) radio_->report();
  store_.counters().ended = now();
}

}  // namespace carillon::app
