#include "fronthaul/gpu/packet_queue.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace carillon::fronthaul::gpu {

using namespace verbs;

namespace {

UdpRule rule_for(const Destination& to, std::uint8_t port) {
  constexpr std::uint32_t kWord = 0xffff'ffff;
  constexpr std::uint16_t kHalf = 0xffff;
  UdpRule rule{};
  rule.head = {0, kByRule, sizeof rule, 0, 3, port, 0};
  rule.ethernet.part = kOfEthernet;
  rule.ethernet.bytes = sizeof rule.ethernet;
  std::memcpy(rule.ethernet.value.to, to.ethernet.data(), to.ethernet.size());
  std::memset(rule.ethernet.mask.to, 0xff, to.ethernet.size());
  rule.ipv4 = {
      kOfIpv4, sizeof rule.ipv4, {htonl(to.peer_address), htonl(to.address)}, {kWord, kWord}};
  rule.udp = {kOfUdp, sizeof rule.udp, {htons(to.port), htons(to.peer_port)}, {kHalf, kHalf}};
  return rule;
}

}  // namespace

PacketQueue::PacketQueue(OpenCard& card, const Places& places, std::uint32_t requests)
    : card_(card), places_(places) {
  if (make_pair(requests)) (void)begin();
}

bool PacketQueue::make_pair(std::uint32_t requests) {
  const Limits& limits = card_.limits();
  if (card_.state().link_layer != kEthernet || limits.pieces < 2) {
    why_ = card_.name() + (limits.pieces < 2 ? " does not divide what it receives"
                                             : "'s port is not one of Ethernet");
    return false;
  }
  looks_ = (limits.capabilities & kLooksAtChecksums) != 0;
  const int most = std::max(std::min(limits.requests, limits.completions), 1);
  depth_ = std::min(requests, static_cast<std::uint32_t>(most));
  completions_ = card_.make_queue(depth_, why_);
  if (completions_ == nullptr) return false;
  QueuePairPlan plan{};
  plan.sends = plan.receives = completions_.get();
  plan.capacity = {1, depth_, 1, 2, 0};
  plan.type = kRawPacket;
  pair_ = card_.make_pair(plan, why_);
  return pair_ != nullptr;
}

// It receives as soon as it is ready to; it never sends.
bool PacketQueue::begin() {
  QueuePairState state{};
  state.state = kInit;
  state.port = card_.port();
  why_ = card_.modify(pair_.get(), "be set up for packets", state, kState | kPort);
  if (!why_.empty()) return false;
  state = {};
  state.state = kReadyToReceive;
  why_ = card_.modify(pair_.get(), "receive packets", state, kState);
  return why_.empty();
}

std::string PacketQueue::steer(const Destination& to) {
  ExtendedContext* const operations = around(card_.context());
  if (operations == nullptr) return "the driver of " + card_.name() + " knows no rules for flows";
  UdpRule rule = rule_for(to, card_.port());
  errno = 0;
  rule_ = {operations->create_flow(pair_.get(), &rule.head), operations->destroy_flow};
  if (rule_ != nullptr) return {};
  return failed("a rule of " + card_.name() + " for UDP port " + std::to_string(to.port), errno);
}

std::string PacketQueue::post(std::span<const std::uint32_t> places) noexcept {
  std::array<ReceiveRequest, kBatch> requests;
  std::array<std::array<Piece, 2>, kBatch> pieces;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint32_t place = places[i];
    pieces[i] = {
        Piece{address_of(places_.header(place)), kBeforeSamples, places_.headers_key},
        Piece{address_of(places_.sample(place)), places_.sample_bytes, places_.samples_key}};
    requests[i] = {place, i + 1 < places.size() ? &requests[i + 1] : nullptr, pieces[i].data(), 2};
  }
  ReceiveRequest* bad = nullptr;
  const int error = pair_->context->post_receive(pair_.get(), requests.data(), &bad);
  if (error == 0) return {};
  return failed(card_.name() + " takes no request to receive", error > 0 ? error : errno);
}

std::string PacketQueue::poll(std::span<Completion> found, std::size_t& count) noexcept {
  const int got =
      completions_->context->poll(completions_.get(), static_cast<int>(found.size()), found.data());
  count = got < 0 ? 0 : static_cast<std::size_t>(got);
  if (got < 0) return card_.name() + "'s queue of received packets has failed";
  for (std::size_t i = 0; i < count; ++i)
    if (found[i].status != 0 && found[i].status != kTooLong)
      return card_.name() + " ended a packet with '" +
             card_.library().status_text(found[i].status) + "' (status " +
             std::to_string(found[i].status) + ", vendor's " +
             std::to_string(found[i].vendor_error) + ")";
  return {};
}

}  // namespace carillon::fronthaul::gpu
