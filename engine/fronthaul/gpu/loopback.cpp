#include "fronthaul/gpu/loopback.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace carillon::fronthaul::gpu {

using namespace verbs;

namespace {

constexpr int kMostReads = 16;
constexpr int kPolled = 16;

// RDMA's time-out is 4.096 µs × 2^14 = 67 ms, seven times: a port that goes down is told in half a
// second or some more.
constexpr std::uint8_t kTimeoutExponent = 14, kMostRetries = 7;
constexpr std::uint8_t kHops = 64;  // of a RoCE v2 packet, which does not leave the card

std::string failed(const std::string& what, int error) {
  std::string why = what + ": " + (error != 0 ? std::strerror(error) : "no reason given");
  if (error == EACCES || error == EPERM) why += "; may you read and write /dev/infiniband/uverbs*?";
  return why;
}

bool is_zero(const Gid& gid) {
  return std::ranges::all_of(gid.bytes, [](std::uint8_t byte) { return byte == 0; });
}

std::uint64_t address_of(const void* memory) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
}

}  // namespace

Loopback::Loopback(const Card& card, std::uint32_t blocks)
    : library_(card.library), name_(card.name), why_(library_.why()) {
  if (!why_.empty()) return;
  open(card);
  if (context_ == nullptr) return;
  if (!find_port() || !find_gid() || !make_pair(blocks)) return;
  (void)connect();
}

bool Loopback::fail(std::string why) {
  why_ = std::move(why);
  return false;
}

void Loopback::open(const Card& card) {
  int count = 0;
  Device** const list = library_.list(&count);
  why_ = "no RDMA device is called " + card.name;
  for (int i = 0; list != nullptr && i < count; ++i) {
    if (card.name != library_.name(list[i])) continue;
    errno = 0;
    context_ = {library_.open(list[i]), library_.close};
    why_ = context_ == nullptr ? failed("opening " + card.name, errno) : "";
    break;
  }
  if (list != nullptr) library_.free_list(list);
}

bool Loopback::find_port() {
  if (const int error = library_.query_device(context_.get(), &limits_); error != 0)
    return fail(failed("asking " + name_ + " for its limits", error));
  for (std::uint8_t number = 1; number <= limits_.ports; ++number) {
    PortState state{};
    if (library_.query_port(context_.get(), number, &state) != 0 || state.state != kPortActive)
      continue;
    port_.number = number;
    port_.state = state;
    most_bytes_ = state.message_bytes;
    return true;
  }
  return fail("no port of " + name_ + " is active; plug in a cable and set its link up (ip link)");
}

// With Ethernet a queue pair is found by a GID, which a port has of its addresses; with InfiniBand
// by the LID that a subnet manager has given to the port.
bool Loopback::find_gid() {
  const std::string port = "port " + std::to_string(port_.number) + " of " + name_;
  const bool ethernet = port_.state.link_layer == kEthernet;
  if (!ethernet && (port_.state.flags & kNeedsGid) == 0)
    return port_.state.lid != 0 ? true
                                : fail(port + " has no LID; start a subnet manager (opensm)");
  for (int i = 0; i < port_.state.gids; ++i) {
    if (library_.query_gid(context_.get(), port_.number, i, &port_.gid_bytes) != 0 ||
        is_zero(port_.gid_bytes))
      continue;
    port_.gid = i;
    return true;
  }
  return fail(port + " has no GID; set its link up and give it an IP address");
}

// A block takes two requests: its samples, and an echo.
bool Loopback::make_pair(std::uint32_t blocks) {
  const int most = std::min(limits_.requests, limits_.completions) / 2;
  depth_ = std::min(blocks, static_cast<std::uint32_t>(std::max(most, 1)));
  reads_ = std::clamp(std::min(limits_.reads_in, limits_.reads_out), 1, kMostReads);
  errno = 0;
  domain_ = {library_.protect(context_.get()), library_.unprotect};
  if (domain_ == nullptr) return fail(failed("a protection domain on " + name_, errno));
  echoes_ = {register_host(echo_.data(), kEcho, kLocalWrite), library_.unregister};
  if (echoes_ == nullptr) return false;
  errno = 0;
  completions_ = {
      library_.make_queue(context_.get(), static_cast<int>(2 * depth_), nullptr, nullptr, 0),
      library_.destroy_queue};
  if (completions_ == nullptr) return fail(failed("a completion queue on " + name_, errno));
  QueuePairPlan plan{};
  plan.sends = plan.receives = completions_.get();
  plan.capacity = {2 * depth_, 1, 1, 1, 0};
  plan.type = kReliable;
  errno = 0;
  pair_ = {library_.make_pair(domain_.get(), &plan), library_.destroy_pair};
  return pair_ != nullptr ? true : fail(failed("a queue pair on " + name_, errno));
}

bool Loopback::connect() {
  QueuePairState state{};
  state.state = kInit;
  state.port = port_.number;
  state.access = kRemoteWrite | kRemoteRead;
  if (!modify("be set up", state, kState | kPkeyIndex | kPort | kAccess)) return false;

  state = {};
  state.state = kReadyToReceive;
  state.mtu = port_.state.mtu;
  state.destination = pair_->number;  // itself
  state.reads_in = static_cast<std::uint8_t>(reads_);
  state.not_ready_timer = 12;  // 0.64 ms; nothing that we send needs a receive
  state.address.lid = port_.state.lid;
  state.address.port = port_.number;
  if (port_.gid >= 0) {
    state.address.global = 1;
    state.address.gid = port_.gid_bytes;
    state.address.own_gid = static_cast<std::uint8_t>(port_.gid);
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
  const int error = library_.modify_pair(pair_.get(), &state, mask);
  return error == 0 ? true
                    : fail(failed("a queue pair of " + name_ + " cannot " + to,
                                  error > 0 ? error : errno));
}

Region* Loopback::register_host(void* memory, std::size_t bytes, int access) {
  errno = 0;
  Region* const region = library_.by_address(domain_.get(), memory, bytes, access);
  if (region != nullptr) return region;
  const int error = errno;
  why_ = failed("registering host memory with " + name_, error);
  if (error == ENOMEM) why_ += "; raise the limit of locked memory (ulimit -l)";
  return nullptr;
}

std::string Loopback::land_in(void* memory, std::size_t bytes, int dma_buf) {
  constexpr int kAccess = kLocalWrite | kRemoteWrite | kRemoteRead;
  if (dma_buf >= 0 && library_.by_dma_buf == nullptr)
    return "this libibverbs knows no dma-buf; version 34 (rdma-core) or newer does";
  errno = 0;
  landing_ = {dma_buf >= 0 ? library_.by_dma_buf(domain_.get(), 0, bytes, address_of(memory),
                                                 dma_buf, kAccess)
                           : library_.by_address(domain_.get(), memory, bytes, kAccess),
              library_.unregister};
  return landing_ != nullptr
             ? ""
             : failed("registering the memory where blocks go with " + name_, errno);
}

std::string Loopback::send_from(const void* memory, std::size_t bytes) {
  // What is only read on this side needs no right; the verbs take no pointer to const.
  sent_ = {register_host(const_cast<void*>(memory), bytes, 0), library_.unregister};
  return sent_ != nullptr ? "" : why_;
}

// A completed write has been acknowledged by the card, but may still be on its way over the bus. A
// read of its last bytes over the same queue pair cannot overtake it, and when that has come back
// the block is there: what NCCL does before it lets a GPU look.
std::string Loopback::write(std::uint64_t id, const void* from, void* to, std::uint32_t bytes) {
  Piece block{address_of(from), bytes, sent_->local_key};
  Piece back{address_of(echo_.data()), kEcho, echoes_->local_key};
  Request echo{};
  echo.id = id;
  echo.pieces = &back;
  echo.count = 1;
  echo.opcode = kRdmaRead;
  echo.flags = kSignaled;
  echo.remote_address = address_of(to) + bytes - kEcho;
  echo.remote_key = landing_->remote_key;
  Request send{};
  send.id = id;
  send.next = &echo;
  send.pieces = &block;
  send.count = 1;
  send.opcode = kRdmaWrite;
  send.remote_address = address_of(to);
  send.remote_key = landing_->remote_key;
  Request* bad = nullptr;
  const int error = pair_->context->post_send(pair_.get(), &send, &bad);
  if (error == 0) return "";
  return failed(name_ + " takes no request for block " + std::to_string(id),
                error > 0 ? error : errno);
}

std::string Loopback::arrived(std::uint32_t& blocks) {
  blocks = 0;
  Completion found[kPolled];
  const int count = completions_->context->poll(completions_.get(), kPolled, found);
  if (count < 0) return name_ + "'s completion queue has failed";
  for (int i = 0; i < count; ++i) {
    if (found[i].status != 0)
      return name_ + " ended block " + std::to_string(found[i].id) + " with '" +
             library_.status_text(found[i].status) + "' (status " +
             std::to_string(found[i].status) + ", vendor's " +
             std::to_string(found[i].vendor_error) + ")";
    ++blocks;
  }
  return "";
}

}  // namespace carillon::fronthaul::gpu
