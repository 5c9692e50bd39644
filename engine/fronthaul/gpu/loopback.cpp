#include "fronthaul/gpu/loopback.hpp"

#include <algorithm>
#include <cerrno>

namespace carillon::fronthaul::gpu {

using namespace verbs;

namespace {

constexpr int kMostReads = 16;
constexpr int kPolled = 16;

// RDMA's time-out is 4.096 µs × 2^14 = 67 ms, seven times: a port that goes down is told in half a
// second or some more.
constexpr std::uint8_t kTimeoutExponent = 14, kMostRetries = 7;
constexpr std::uint8_t kHops = 64;  // of a RoCE v2 packet, which does not leave the card

bool is_zero(const Gid& gid) {
  return std::ranges::all_of(gid.bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

Loopback::Loopback(OpenCard& card, std::uint32_t blocks) : card_(card) {
  if (find_gid() && make_pair(blocks)) (void)connect();
}

bool Loopback::fail(std::string why) {
  why_ = std::move(why);
  return false;
}

// With Ethernet a queue pair is found by a GID, which a port has of its addresses; with InfiniBand
// by the LID that a subnet manager has given to the port.
bool Loopback::find_gid() {
  const PortState& state = card_.state();
  const std::string port = "port " + std::to_string(card_.port()) + " of " + card_.name();
  if (state.link_layer != kEthernet && (state.flags & kNeedsGid) == 0)
    return state.lid != 0 ? true : fail(port + " has no LID; start a subnet manager (opensm)");
  for (int i = 0; i < state.gids; ++i) {
    if (card_.library().query_gid(card_.context(), card_.port(), i, &gid_bytes_) != 0 ||
        is_zero(gid_bytes_))
      continue;
    gid_ = i;
    return true;
  }
  return fail(port + " has no GID; set its link up and give it an IP address");
}

// A block takes two requests: its samples, and an echo.
bool Loopback::make_pair(std::uint32_t blocks) {
  const Limits& limits = card_.limits();
  const int most = std::min(limits.requests, limits.completions) / 2;
  depth_ = std::min(blocks, static_cast<std::uint32_t>(std::max(most, 1)));
  reads_ = std::clamp(std::min(limits.reads_in, limits.reads_out), 1, kMostReads);
  echoes_ = card_.give("host memory", echo_.data(), kEcho, kLocalWrite, -1, why_);
  if (echoes_ == nullptr) return false;
  completions_ = card_.make_queue(2 * depth_, why_);
  if (completions_ == nullptr) return false;
  QueuePairPlan plan{};
  plan.sends = plan.receives = completions_.get();
  plan.capacity = {2 * depth_, 1, 1, 1, 0};
  plan.type = kReliable;
  pair_ = card_.make_pair(plan, why_);
  return pair_ != nullptr;
}

bool Loopback::connect() {
  QueuePairState state{};
  state.state = kInit;
  state.port = card_.port();
  state.access = kRemoteWrite | kRemoteRead;
  if (!modify("be set up", state, kState | kPkeyIndex | kPort | kAccess)) return false;

  state = {};
  state.state = kReadyToReceive;
  state.mtu = card_.state().mtu;
  state.destination = pair_->number;  // itself
  state.reads_in = static_cast<std::uint8_t>(reads_);
  state.not_ready_timer = 12;  // 0.64 ms; nothing that we send needs a receive
  state.address.lid = card_.state().lid;
  state.address.port = card_.port();
  if (gid_ >= 0) {
    state.address.global = 1;
    state.address.gid = gid_bytes_;
    state.address.own_gid = static_cast<std::uint8_t>(gid_);
    state.address.hops = kHops;
  }
  if (!modify("find itself", state,
              kState | kAddress | kMtu | kDestination | kReceiveNumber | kReadsIn | kNotReadyTimer))
    return false;

  state = {};
  state.state = kReadyToSend;
  state.timeout = kTimeoutExponent;
  state.retries = state.not_ready_retries = kMostRetries;
  state.reads_out = static_cast<std::uint8_t>(reads_);
  return modify("send", state,
                kState | kTimeout | kRetries | kNotReadyRetries | kSendNumber | kReadsOut);
}

bool Loopback::modify(const char* to, QueuePairState& state, int mask) {
  why_ = card_.modify(pair_.get(), to, state, mask);
  return why_.empty();
}

// A completed write has been acknowledged by the card, but may still be on its way over the bus. A
// read of its last bytes over the same queue pair cannot overtake it, and when that has come back
// the block is there: what NCCL does before it lets a GPU look.
std::string Loopback::write(std::uint64_t id, const void* from, void* to, std::uint32_t bytes) {
  Piece back;
  Request then = echo(id, address_of(to) + bytes - kEcho, back);
  Piece block{address_of(from), bytes, sent_key_};
  Request send{};
  send.id = id;
  send.next = &then;
  send.pieces = &block;
  send.count = 1;
  send.opcode = kRdmaWrite;
  send.remote_address = address_of(to);
  send.remote_key = landing_key_;
  return post(send);
}

// On the bus it is the card that reads what it has written, whichever of its queue pairs did; and a
// read there overtakes no write.
std::string Loopback::flush(std::uint64_t id, const void* at) {
  Piece back;
  Request read = echo(id, address_of(at), back);
  return post(read);
}

Request Loopback::echo(std::uint64_t id, std::uint64_t from, Piece& back) const {
  back = {address_of(echo_.data()), kEcho, echoes_->local_key};
  Request request{};
  request.id = id;
  request.pieces = &back;
  request.count = 1;
  request.opcode = kRdmaRead;
  request.flags = kSignaled;
  request.remote_address = from;
  request.remote_key = landing_key_;
  return request;
}

std::string Loopback::post(Request& request) {
  Request* bad = nullptr;
  const int error = pair_->context->post_send(pair_.get(), &request, &bad);
  if (error == 0) return {};
  return failed(card_.name() + " takes no request for block " + std::to_string(request.id),
                error > 0 ? error : errno);
}

std::string Loopback::arrived(std::uint32_t& blocks) {
  blocks = 0;
  Completion found[kPolled];
  const int count = completions_->context->poll(completions_.get(), kPolled, found);
  if (count < 0) return card_.name() + "'s completion queue has failed";
  for (int i = 0; i < count; ++i) {
    if (found[i].status != 0)
      return card_.name() + " ended block " + std::to_string(found[i].id) + " with '" +
             card_.library().status_text(found[i].status) + "' (status " +
             std::to_string(found[i].status) + ", vendor's " +
             std::to_string(found[i].vendor_error) + ")";
    ++blocks;
  }
  return {};
}

}  // namespace carillon::fronthaul::gpu
