#include "port/scheduling.hpp"

#include <algorithm>
#include <utility>

#include "port/packer.hpp"

namespace carillon::port {
namespace {

using frame::Direction;

// A frame begins at the users at most so many frames before it is on air, and grants shall be there
// this long before that: what a thread of ordinary priority may have to wait for a core.
constexpr std::uint32_t kUsersAhead = 3;
constexpr Tick kSlack = 10 * kMillisecond;

std::uint32_t lead_of(const frame::Frame& frame) {
  const auto slack = static_cast<std::uint32_t>((kSlack + frame.duration() - 1) / frame.duration());
  return std::min(kUsersAhead + slack, Exchange::kAhead);
}

bool after(std::uint32_t frame, std::uint32_t other) {
  return static_cast<std::int32_t>(frame - other) > 0;
}
std::uint32_t later(std::uint32_t frame, std::uint32_t other) {
  return after(frame, other) ? frame : other;
}

// As Message::snr has it.
std::optional<double> snr_db(const Message& block) {
  if (block.snr == 0) return {};
  return block.snr / 100.0 - 100;
}

}  // namespace

bool Scheduling::schedule(std::uint32_t frame, std::span<const std::uint32_t> list) {
  problems_.clear();
  const Refusal why = exchange_.schedule(frame, list, problems_);
  const auto count = [&](Refusal reason, std::uint64_t number) {
    refused_[static_cast<std::size_t>(reason)].fetch_add(number, std::memory_order_relaxed);
  };
  if (why != Refusal::None)
    count(why, 1);
  else
    count(Refusal::Grant, problems_.size());
  return why == Refusal::None;
}

StationScheduling::StationScheduling(const frame::Frame& frame, Exchange& exchange,
                                     ControlChannel& channel)
    : Scheduling(exchange, channel),
      users_(frame.format().users),
      lead_(lead_of(frame)),
      scheduler_(frame, kPackHeader + kPackLength) {
  for (const Direction direction : {Direction::Uplink, Direction::Downlink})
    for (std::uint32_t u = 0; u < users_ && scheduler_.has(direction); ++u)
      flows_.push_back({.direction = direction, .user = u, .counters = {}, .snr_db = {}});
}

void StationScheduling::look(std::uint32_t newest, const Queues& queues) {
  listen();
  if (!status_) return;  // the users have not begun
  // Their frames begin earlier.
  std::uint32_t frame = later(newest, status_->newest) + 1;
  if (any_) frame = later(frame, until_ + 1);
  for (; !after(frame, newest + lead_); ++frame) decide(frame, queues);
  publish();
}

void StationScheduling::listen() {
  for (const ControlChannel::Heard& each : channel_.heard())
    scheduler_.heard(Direction::Downlink, each.user, each.verdict, each.snr_db);
  status_ = channel_.status();
  for (const std::uint32_t frame : channel_.missed()) {
    if (missed_.size() == kMissed) missed_.pop_front();
    missed_.push_back(frame);
  }
}

void StationScheduling::decide(std::uint32_t frame, const Queues& queues) {
  any_ = true;
  until_ = frame;
  for (std::uint32_t u = 0; u < users_; ++u) {
    scheduler_.report(Direction::Uplink, u, status_->waiting[u], status_->settled);
    // What earlier frames carry has left this side's queues.
    scheduler_.report(Direction::Downlink, u, queues.waiting(u), frame - 1);
  }
  const auto list = scheduler_.schedule(frame);
  if (list.empty()) return;
  if (!schedule(frame, list)) return scheduler_.withdraw();
  channel_.grant(frame, list);
  queues.fill(frame);
}

// Of a block that nobody sent neither verdict nor SNR says anything of the channel.
void StationScheduling::heard(const Message& block) {
  const bool sent = users_sent(block.frame);
  scheduler_.heard(Direction::Uplink, block.user,
                   sent ? static_cast<frame::Verdict>(block.verdict) : frame::Verdict::Late,
                   snr_db(block));
}

bool StationScheduling::users_sent(std::uint32_t frame) const {
  return status_ && !after(frame, status_->settled) && !std::ranges::count(missed_, frame);
}

void StationScheduling::finish() {
  listen();
  publish();
}

void StationScheduling::publish() {
  const std::lock_guard lock(mutex_);
  for (Flow& flow : flows_) {
    const mac::LinkAdaptation& link = scheduler_.link(flow.direction, flow.user);
    flow.counters = scheduler_.counters(flow.direction, flow.user);
    flow.snr_db = link.snr_db();
    flow.offset_db = link.offset_db();
  }
}

std::vector<StationScheduling::Flow> StationScheduling::flows() const {
  const std::lock_guard lock(mutex_);
  return flows_;
}

void UsersScheduling::look(std::uint32_t newest, const Queues& queues) {
  if (!any_) settled_ = newest;
  any_ = true;
  for (const ControlChannel::Grants& each : channel_.grants()) {
    if (schedule(each.frame, each.list))
      queues.fill(each.frame);
    else
      channel_.miss(each.frame);
    settled_ = later(each.frame, settled_);
  }
  ControlChannel::Status status{.newest = newest, .settled = settled_, .waiting = {}};
  for (std::uint32_t u = 0; u < users_; ++u) status.waiting.push_back(queues.waiting(u));
  channel_.report(std::move(status));
}

void UsersScheduling::heard(const Message& block) {
  channel_.hear({.user = block.user,
                 .verdict = static_cast<frame::Verdict>(block.verdict),
                 .snr_db = snr_db(block)});
}

}  // namespace carillon::port
