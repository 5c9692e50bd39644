#include "support/fake_verbs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>

#include "fronthaul/gpu/verbs_abi.hpp"

// Names are <infiniband/verbs.h>'s, types those of our own layout.
using namespace carillon::fronthaul::gpu::verbs;
using carillon::test::FakeCard;

namespace {

constexpr int kProtection = 4, kRemoteAccess = 10, kFlushed = 5, kRetriesExceeded = 12;
constexpr std::uint32_t kNumber = 77;

FakeCard card;
std::map<std::uint32_t, std::pair<Region, int>> regions;  // by key, with their rights

struct Queue : CompletionQueue {
  int room = 0, empty_polls = 0;
};
struct Pair : QueuePair {
  Capacity capacity{};
  int state = 0;
  int access = 0, reads_out = 0;
  bool failed = false;
  std::deque<Request> requests;
  std::deque<Piece> pieces;
  std::uint64_t done_blocks = 0;
};
Pair* connected = nullptr;

Device* the_device() { return reinterpret_cast<Device*>(&card); }

template <typename T>
T* made(T* object) {
  ++card.alive;
  return object;
}
template <typename T>
int gone(T* object) {
  --card.alive;
  delete object;
  return 0;
}

// Whether a key allows all of a range, and what.
bool allows(std::uint32_t key, std::uint64_t address, std::uint32_t bytes, int access) {
  const auto found = regions.find(key);
  if (found == regions.end()) return false;
  const auto& [region, rights] = found->second;
  const auto first = reinterpret_cast<std::uint64_t>(region.address);
  return address >= first && address + bytes <= first + region.length &&
         (rights & access) == access;
}

int carried_out(Pair& pair, const Request& request, const Piece& piece) {
  const bool write = request.opcode == kRdmaWrite;
  if (!allows(piece.key, piece.address, piece.length, write ? 0 : kLocalWrite)) return kProtection;
  const int right = write ? kRemoteWrite : kRemoteRead;
  if ((pair.access & right) == 0 ||
      !allows(request.remote_key, request.remote_address, piece.length, right))
    return kRemoteAccess;
  if (!write && pair.reads_out < 1) return kRemoteAccess;
  auto* const here = reinterpret_cast<std::byte*>(piece.address);
  auto* const there = reinterpret_cast<std::byte*>(request.remote_address);
  std::memmove(write ? there : here, write ? here : there, piece.length);
  if (write && card.writes == card.damage_at) there[piece.length / 2] ^= std::byte{1};
  ++(write ? card.writes : card.reads_done);
  return 0;
}

int status_of(Pair& pair, const Request& request, const Piece& piece) {
  if (pair.failed) return kFlushed;
  if (request.opcode == kRdmaWrite && card.writes == card.fail_at) return card.fail_with;
  if (card.writes >= card.port_down_at) return kRetriesExceeded;
  return carried_out(pair, request, piece);
}

int poll_queue(CompletionQueue* raw, int most, Completion* found) {
  auto* const queue = static_cast<Queue*>(raw);
  if (connected == nullptr || connected->requests.empty()) return 0;
  if (queue->empty_polls++ < card.empty_polls) return 0;
  queue->empty_polls = 0;
  Pair& pair = *connected;
  while (!pair.requests.empty()) {
    if (card.writes >= card.silent_at) return 0;
    const Request request = pair.requests.front();
    const Piece piece = pair.pieces.front();
    pair.requests.pop_front();
    pair.pieces.pop_front();
    const int status = status_of(pair, request, piece);
    if (status == 0 && (request.flags & kSignaled) == 0) continue;
    pair.failed = pair.failed || status != 0;
    *found = {};
    found->id = request.id;
    found->status = status;
    found->vendor_error = status != 0 ? 0x81 : 0;
    found->opcode = -1;       // means nothing to who does not look at the status first
    return most > 0 ? 1 : 0;  // one at a time: who polls comes again
  }
  return 0;
}

int post(QueuePair* raw, Request* request, Request** bad) {
  auto* const pair = static_cast<Pair*>(raw);
  if (card.posts++ == card.refuse_post) {
    *bad = request;
    return EINVAL;
  }
  for (; request != nullptr; request = request->next) {
    if (pair->state != kReadyToSend || request->count != 1 ||
        pair->requests.size() == pair->capacity.sends) {
      *bad = request;
      return pair->state != kReadyToSend ? EINVAL : ENOMEM;
    }
    pair->requests.push_back(*request);
    pair->pieces.push_back(request->pieces[0]);  // as a card, which copies them at once
  }
  card.most_in_flight = std::max<std::uint64_t>(card.most_in_flight, pair->requests.size() / 2);
  return 0;
}

Region* registered(Domain* domain, void* memory, std::size_t bytes, int access) {
  static std::uint32_t key = 1000;
  if (card.registrations++ == card.refuse_registration) {
    errno = card.registration_error;
    return nullptr;
  }
  auto* const region = made(new Region{});
  region->domain = domain;
  region->address = memory;
  region->length = bytes;
  region->local_key = region->remote_key = key++;
  regions[region->local_key] = {*region, access};
  return region;
}

bool has(int mask, int wanted) { return (mask & wanted) == wanted; }

// A transition with all that it demands, and nothing out of turn.
int moved(Pair& pair, const QueuePairState& to, int mask) {
  constexpr int kToInit = kState | kPkeyIndex | kPort | kAccess;
  constexpr int kToReceive =
      kState | kAddress | kMtu | kDestination | kReceiveNumber | kReadsIn | kNotReadyTimer;
  constexpr int kToSend = kState | kTimeout | kRetries | kNotReadyRetries | kSendNumber | kReadsOut;
  if (to.state == card.refuse_state || to.state != pair.state + 1) return EINVAL;
  if (to.state == kInit && (!has(mask, kToInit) || to.port != 2)) return EINVAL;
  if (to.state == kReadyToReceive) {
    const bool addressed = card.ethernet ? to.address.global == 1 && to.address.own_gid == 3 &&
                                               to.address.gid.bytes[15] == 3
                                         : to.address.global == 0 && to.address.lid == 9;
    if (!has(mask, kToReceive) || !addressed || to.destination != kNumber || to.mtu != 5 ||
        to.address.port != 2 || to.reads_in > card.reads)
      return EINVAL;
  }
  if (to.state == kReadyToSend) {
    if (!has(mask, kToSend) || to.reads_out > card.reads || to.timeout == 0) return EINVAL;
    pair.reads_out = to.reads_out;
  }
  if (to.state == kInit) pair.access = static_cast<int>(to.access);
  pair.state = to.state;
  return 0;
}

}  // namespace

extern "C" {

FakeCard* carillon_fake_card() { return &card; }

Device** ibv_get_device_list(int* count) {
  *count = card.present ? 1 : 0;
  return made(new Device* [2] { the_device(), nullptr });
}
void ibv_free_device_list(Device** list) {
  --card.alive;
  delete[] list;
}
const char* ibv_get_device_name(Device*) { return "fake_0"; }

Context* ibv_open_device(Device* device) {
  if (!card.opens) {
    errno = EACCES;
    return nullptr;
  }
  auto* const context = made(new Context{});
  context->device = device;
  context->poll = poll_queue;
  context->post_send = post;
  return context;
}
int ibv_close_device(Context* context) { return gone(context); }

int ibv_query_device(Context*, Limits* limits) {
  *limits = {};
  limits->requests = card.requests;
  limits->completions = 1 << 20;
  limits->reads_in = limits->reads_out = card.reads;
  limits->ports = 2;
  return 0;
}
int ibv_query_port(Context*, std::uint8_t port, PortState* state) {
  *state = {};
  state->state = port == 2 && card.active_ports > 0 ? kPortActive : 1;
  state->mtu = 5;
  state->gids = 4;
  state->message_bytes = card.message_bytes;
  state->lid = !card.ethernet && card.has_lid ? 9 : 0;
  state->link_layer = card.ethernet ? kEthernet : 1;
  return 0;
}
int ibv_query_gid(Context*, std::uint8_t, int index, Gid* gid) {
  *gid = {};
  if (index == 3 && card.has_gid) gid->bytes[15] = 3;
  return 0;
}

Domain* ibv_alloc_pd(Context*) { return reinterpret_cast<Domain*>(made(new int)); }
int ibv_dealloc_pd(Domain* domain) { return gone(reinterpret_cast<int*>(domain)); }

Region* ibv_reg_mr(Domain* domain, void* memory, std::size_t bytes, int access) {
  return registered(domain, memory, bytes, access);
}
Region* ibv_reg_dmabuf_mr(Domain* domain, std::uint64_t, std::size_t bytes, std::uint64_t address,
                          int, int access) {
  if (!card.dma_buf) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return registered(domain, reinterpret_cast<void*>(address), bytes, access);
}
int ibv_dereg_mr(Region* region) {
  regions.erase(region->local_key);
  return gone(region);
}

CompletionQueue* ibv_create_cq(Context* context, int room, void*, Channel*, int) {
  auto* const queue = made(new Queue{});
  queue->context = context;
  queue->room = room;
  return queue;
}
int ibv_destroy_cq(CompletionQueue* queue) { return gone(static_cast<Queue*>(queue)); }

QueuePair* ibv_create_qp(Domain*, QueuePairPlan* plan) {
  const int room = static_cast<Queue*>(plan->sends)->room;
  if (plan->type != kReliable || plan->capacity.sends > static_cast<std::uint32_t>(card.requests) ||
      plan->capacity.sends > static_cast<std::uint32_t>(room)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const pair = made(new Pair{});
  pair->context = plan->sends->context;
  pair->number = kNumber;
  pair->capacity = plan->capacity;
  return connected = pair;
}
int ibv_modify_qp(QueuePair* pair, QueuePairState* to, int mask) {
  return moved(*static_cast<Pair*>(pair), *to, mask);
}
int ibv_destroy_qp(QueuePair* pair) {
  connected = nullptr;
  return gone(static_cast<Pair*>(pair));
}

const char* ibv_wc_status_str(int status) {
  switch (status) {
    case kProtection: return "local protection error";
    case kFlushed: return "Work Request Flushed Error";
    case kRemoteAccess: return "remote access error";
    case kRetriesExceeded: return "transport retry counter exceeded";
    default: return "unknown";
  }
}

}  // extern "C"
