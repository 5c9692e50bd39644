#include "app/owned_port.hpp"

namespace carillon::app {

OwnedPort::OwnedPort(const std::string& socket, const std::string& tun, const std::string& network,
                     const frame::Frame& frame, frame::Direction sends, std::uint32_t ring,
                     port::ControlChannel& control)
    : scheduled_by_port_(frame.scheduled_by_port()), exchange_(frame, sends, ring) {
  if (tun.empty()) {
    socket_ = std::make_unique<port::SocketPort>(socket, frame, exchange_);
    return;
  }
  std::unique_ptr<port::Scheduling> scheduling;
  if (scheduled_by_port_ && sends == frame::Direction::Downlink) {
    auto own = std::make_unique<port::StationScheduling>(frame, exchange_, control);
    scheduler_ = own.get();
    scheduling = std::move(own);
  } else if (scheduled_by_port_) {
    scheduling = std::make_unique<port::UsersScheduling>(frame, exchange_, control);
  }
  ip_ = std::make_unique<port::IpPort>(port::open_tun(tun), *port::first_user(network), frame,
                                       exchange_, std::move(scheduling));
  ip_->start();
}

void OwnedPort::finish() {
  if (socket_) socket_->finish();
  if (ip_) ip_->finish();
}

telemetry::PortRecord OwnedPort::record() const {
  const port::PortCounters blocks = exchange_.counters();
  const port::HarqCounters harq = exchange_.harq();
  const port::SocketCounters client = socket_ ? socket_->counters() : port::SocketCounters{};
  const port::IpCounters packets = ip_ ? ip_->counters() : port::IpCounters{};
  const port::Scheduling* const scheduling = ip_ ? ip_->scheduling() : nullptr;
  const auto refused = [&](port::Refusal why) {
    return scheduling != nullptr ? scheduling->refused(why)
                                 : client.refused[static_cast<std::size_t>(why)];
  };
  return {.users = exchange_.sends() == frame::Direction::Uplink ? 1U : 0U,
          .clients = client.clients,
          .good = blocks.good,
          .failed = blocks.failed,
          .late = blocks.late,
          .sent = ip_ ? ip_->blocks() : client.sent,
          .dropped = blocks.dropped,
          .unheard = client.unheard,
          .accepted = blocks.accepted,
          .used = blocks.used,
          .unused = blocks.unused,
          .padded = blocks.padded,
          .refused_no_frame = refused(port::Refusal::NoFrame),
          .refused_late = refused(port::Refusal::Late),
          .refused_early = refused(port::Refusal::Early),
          .refused_block = refused(port::Refusal::Block),
          .refused_bits = refused(port::Refusal::Bits),
          .refused_order = refused(port::Refusal::Order),
          .refused_format = refused(port::Refusal::Format),
          .refused_busy = refused(port::Refusal::Busy),
          .refused_grant = refused(port::Refusal::Grant),
          .harq_blocks = harq.blocks,
          .harq_good = harq.good,
          .harq_bits = harq.good_bits,
          .harq_again = harq.again,
          .harq_again_most = harq.again_most,
          .ip = ip_ ? 1U : 0U,
          .ip_sent = packets.sent,
          .ip_dropped = packets.dropped,
          .ip_foreign = packets.foreign,
          .ip_delivered = packets.delivered,
          .ip_broken = packets.broken,
          .ip_refused = packets.refused};
}

std::vector<telemetry::FlowRecord> OwnedPort::flows() const {
  std::vector<telemetry::FlowRecord> records;
  if (scheduler_ == nullptr) return records;
  for (const port::StationScheduling::Flow& flow : scheduler_->flows())
    records.push_back({.user = flow.user,
                       .down = flow.direction == frame::Direction::Downlink ? 1U : 0U,
                       .blocks = flow.counters.blocks,
                       .resource_blocks = flow.counters.resource_blocks,
                       .mcs_sum = flow.counters.mcs_sum,
                       .good = flow.counters.good,
                       .failed = flow.counters.failed,
                       .late = flow.counters.late,
                       .snr_db = flow.snr_db.value_or(0),
                       .offset_db = flow.offset_db,
                       .measured = flow.snr_db.has_value() ? 1U : 0U});
  return records;
}

}  // namespace carillon::app
