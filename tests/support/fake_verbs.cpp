#include "support/fake_verbs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "fronthaul/gpu/verbs_abi.hpp"

// Names are <infiniband/verbs.h>'s, types those of our own layout.
using namespace carillon::fronthaul::gpu::verbs;
using carillon::test::FakeCard;

namespace {

constexpr int kProtection = 4, kRemoteAccess = 10, kFlushed = 5, kRetriesExceeded = 12;
constexpr std::uint32_t kFirstNumber = 77;

std::recursive_mutex guard;  // of all that follows
FakeCard card;
std::map<std::uint32_t, std::pair<Region, int>> regions;  // by key, with their rights

struct Queue : CompletionQueue {
  int room = 0, empty_polls = 0;
  std::deque<Completion> received;
};
struct Pair : QueuePair {
  struct Order {
    Request request;
    Piece piece;
    std::uint64_t after;  // so many pieces of frames had been written before
  };
  struct Demand {
    std::uint64_t id;
    std::vector<Piece> pieces;
  };
  Capacity capacity{};
  int type = 0, state = 0;
  int access = 0, reads_out = 0;
  bool failed = false;
  std::deque<Order> orders;
  std::deque<Demand> demands;
};
std::list<Pair*> pairs;

struct Rule : Flow {
  UdpRule what{};
  Pair* to = nullptr;
};
std::list<Rule*> rules;

// A piece of a frame that is on its way over the bus: nobody sees it before something pushes it.
struct Late {
  std::uint64_t number;
  Piece piece;
  std::vector<std::byte> bytes;
};
std::deque<Late> late;
std::uint64_t pieces_written = 0;

Device* the_device() { return reinterpret_cast<Device*>(&card); }

template <typename T>
T* made(T* object) {
  const std::scoped_lock lock(guard);
  ++card.alive;
  return object;
}
template <typename T>
int gone(T* object) {
  const std::scoped_lock lock(guard);
  --card.alive;
  delete object;
  return 0;
}

// Whether a key allows all of a range, and what.
bool allows(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, int access) {
  const auto found = regions.find(key);
  if (found == regions.end()) return false;
  const auto& [region, rights] = found->second;
  const auto first = reinterpret_cast<std::uint64_t>(region.address);
  return address >= first && address + bytes <= first + region.length &&
         (rights & access) == access;
}

void put(const Piece& piece, const std::vector<std::byte>& bytes) {
  if (allows(piece.key, piece.address, bytes.size(), kLocalWrite))
    std::memcpy(reinterpret_cast<std::byte*>(piece.address), bytes.data(), bytes.size());
  else
    ++card.wild;
}

void push(std::uint64_t before) {
  for (; !late.empty() && late.front().number < before; late.pop_front())
    put(late.front().piece, late.front().bytes);
}

int carried_out(Pair& pair, const Pair::Order& order) {
  const auto& [request, piece, after] = order;
  const bool write = request.opcode == kRdmaWrite;
  if (!allows(piece.key, piece.address, piece.length, write ? 0 : kLocalWrite)) return kProtection;
  const int right = write ? kRemoteWrite : kRemoteRead;
  if ((pair.access & right) == 0 ||
      !allows(request.remote_key, request.remote_address, piece.length, right))
    return kRemoteAccess;
  if (!write && pair.reads_out < 1) return kRemoteAccess;
  if (!write) push(after);
  auto* const here = reinterpret_cast<std::byte*>(piece.address);
  auto* const there = reinterpret_cast<std::byte*>(request.remote_address);
  std::memmove(write ? there : here, write ? here : there, piece.length);
  if (write && card.writes == card.damage_at) there[piece.length / 2] ^= std::byte{1};
  ++(write ? card.writes : card.reads_done);
  return 0;
}

int status_of(Pair& pair, const Pair::Order& order) {
  if (pair.failed) return kFlushed;
  if (order.request.opcode == kRdmaWrite && card.writes == card.fail_at) return card.fail_with;
  if (card.writes >= card.port_down_at) return kRetriesExceeded;
  return carried_out(pair, order);
}

// One at a time: who polls comes again.
int poll_pair(Pair& pair, Completion* found) {
  while (!pair.orders.empty()) {
    if (card.writes >= card.silent_at || card.reads_nothing) return 0;
    const Pair::Order order = pair.orders.front();
    pair.orders.pop_front();
    const int status = status_of(pair, order);
    if (status == 0 && (order.request.flags & kSignaled) == 0) continue;
    pair.failed = pair.failed || status != 0;
    *found = {};
    found->id = order.request.id;
    found->status = status;
    found->vendor_error = status != 0 ? 0x81 : 0;
    found->opcode = -1;  // means nothing to who does not look at the status first
    return 1;
  }
  return 0;
}

int poll_queue(CompletionQueue* raw, int most, Completion* found) {
  const std::scoped_lock lock(guard);
  auto* const queue = static_cast<Queue*>(raw);
  const auto pair = std::ranges::find_if(
      pairs, [&](const Pair* each) { return each->sends == raw && !each->orders.empty(); });
  if (most < 1 || (pair == pairs.end() && queue->received.empty())) return 0;
  if (queue->empty_polls++ < card.empty_polls) return 0;
  queue->empty_polls = 0;
  if (pair != pairs.end()) return poll_pair(**pair, found);
  int count = 0;
  for (; count < most && !queue->received.empty(); queue->received.pop_front())
    found[count++] = queue->received.front();
  return count;
}

int post(QueuePair* raw, Request* request, Request** bad) {
  const std::scoped_lock lock(guard);
  auto* const pair = static_cast<Pair*>(raw);
  if (card.posts++ == card.refuse_post) {
    *bad = request;
    return EINVAL;
  }
  for (; request != nullptr; request = request->next) {
    if (pair->state != kReadyToSend || request->count != 1 ||
        pair->orders.size() == pair->capacity.sends) {
      *bad = request;
      return pair->state != kReadyToSend ? EINVAL : ENOMEM;
    }
    // As a card, which copies them at once.
    pair->orders.push_back({*request, request->pieces[0], pieces_written});
  }
  card.most_in_flight = std::max<std::uint64_t>(card.most_in_flight, pair->orders.size() / 2);
  return 0;
}

int post_receive(QueuePair* raw, ReceiveRequest* request, ReceiveRequest** bad) {
  const std::scoped_lock lock(guard);
  auto* const pair = static_cast<Pair*>(raw);
  for (; request != nullptr; request = request->next) {
    if (pair->state < kInit || request->count < 1 ||
        static_cast<std::uint32_t>(request->count) > pair->capacity.receive_pieces ||
        pair->demands.size() == pair->capacity.receives) {
      *bad = request;
      return pair->state < kInit ? EINVAL : ENOMEM;
    }
    pair->demands.push_back({request->id, {request->pieces, request->pieces + request->count}});
  }
  return 0;
}

std::uint32_t half(std::span<const std::byte> bytes, std::size_t at) {
  if (at + 2 > bytes.size()) return 0;
  return std::to_integer<std::uint32_t>(bytes[at]) << 8 |
         std::to_integer<std::uint32_t>(bytes[at + 1]);
}

// Where IPv4 begins: behind the addresses and at most one tag; 0 when it does not.
std::size_t ip_of(std::span<const std::byte> frame) {
  const std::size_t type = half(frame, 12) == 0x8100 ? 16 : 12;
  return half(frame, type) == 0x0800 && frame.size() >= type + 22 ? type + 2 : 0;
}

// Whether a frame is for the rule, as far as it has what the rule asks for: cards see through tags
// and options, and a datagram's first fragment has ports.
bool is_for(const UdpRule& rule, std::span<const std::byte> frame) {
  const std::size_t ip = ip_of(frame);
  if (ip == 0 || std::memcmp(frame.data(), rule.ethernet.value.to, 6) != 0) return false;
  if (std::memcmp(&frame[ip + 12], &rule.ipv4.value.from, 4) != 0 ||
      std::memcmp(&frame[ip + 16], &rule.ipv4.value.to, 4) != 0)
    return false;
  const std::size_t udp = ip + (std::to_integer<std::size_t>(frame[ip]) & 15) * 4;
  return frame[ip + 9] == std::byte{17} && (half(frame, ip + 6) & 0x1fff) == 0 &&
         udp + 4 <= frame.size() && std::memcmp(&frame[udp], &rule.udp.value.from, 2) == 0 &&
         std::memcmp(&frame[udp + 2], &rule.udp.value.to, 2) == 0;
}

std::uint32_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += half(bytes, at);
  if (bytes.size() % 2 != 0) sum += std::to_integer<std::uint32_t>(bytes.back()) << 8;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint32_t>(sum);
}

bool checksums_good(std::span<const std::byte> frame) {
  const std::size_t ip = ip_of(frame);
  const std::size_t udp = ip + (std::to_integer<std::size_t>(frame[ip]) & 15) * 4;
  const std::size_t length = half(frame, udp + 4);
  if (udp + length > frame.size() || sum_of(frame.subspan(ip, udp - ip)) != 0xffff) return false;
  if (half(frame, udp + 6) == 0) return true;
  std::uint32_t sum = sum_of(frame.subspan(ip + 12, 8)) + 17 + half(frame, udp + 4) +
                      sum_of(frame.subspan(udp, length));
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

// The first piece at once, all others late.
void scatter(const Pair::Demand& demand, std::span<const std::byte> frame) {
  for (const Piece& piece : demand.pieces) {
    const auto part = frame.first(std::min<std::size_t>(piece.length, frame.size()));
    frame = frame.subspan(part.size());
    const std::vector<std::byte> bytes(part.begin(), part.end());
    if (&piece == demand.pieces.data())
      put(piece, bytes);
    else if (!bytes.empty())
      late.push_back({pieces_written++, piece, bytes});
  }
}

void receive(Pair& pair, std::span<const std::byte> frame) {
  if (pair.failed || pair.state < kReadyToReceive) return;
  if (pair.demands.empty()) {
    ++card.dropped;
    return;
  }
  const Pair::Demand demand = std::move(pair.demands.front());
  pair.demands.pop_front();
  std::size_t room = 0;
  for (const Piece& piece : demand.pieces) room += piece.length;
  Completion done{};
  done.id = demand.id;
  done.bytes = static_cast<std::uint32_t>(frame.size());
  if (card.taken - 1 == card.fail_receive_at) {
    done.status = card.fail_with;
    pair.failed = true;
  } else if (frame.size() > room) {
    done.status = kTooLong;
    done.bytes = 0xdead;
  } else {
    if (card.checksums && checksums_good(frame)) done.flags = kChecksumsGood;
    scatter(demand, frame);
  }
  static_cast<Queue*>(pair.receives)->received.push_back(done);
}

Flow* create_flow(QueuePair* pair, UdpRule::Head* head) {
  const std::scoped_lock lock(guard);
  const auto& rule = *reinterpret_cast<const UdpRule*>(head);
  constexpr UdpRule::Ethernet::Filter kTo{{255, 255, 255, 255, 255, 255}, {}, 0, 0};
  const bool understood =
      head->kind == kByRule && head->bytes == sizeof rule && head->parts == 3 && head->port == 2 &&
      head->flags == 0 && rule.ethernet.part == kOfEthernet && rule.ethernet.bytes == 40 &&
      std::memcmp(&rule.ethernet.mask, &kTo, sizeof kTo) == 0 && rule.ipv4.part == kOfIpv4 &&
      rule.ipv4.bytes == 24 && rule.ipv4.mask.to == ~0U && rule.ipv4.mask.from == ~0U &&
      rule.udp.part == kOfUdp && rule.udp.bytes == 16 && rule.udp.mask.to == 0xffff &&
      rule.udp.mask.from == 0xffff && static_cast<Pair*>(pair)->type == kRawPacket;
  if (!understood || card.refuse_rule) {
    errno = understood ? EOPNOTSUPP : EINVAL;
    return nullptr;
  }
  auto* const flow = made(new Rule{});
  flow->context = pair->context;
  flow->what = rule;
  flow->to = static_cast<Pair*>(pair);
  rules.push_back(flow);
  return flow;
}
int destroy_flow(Flow* flow) {
  const std::scoped_lock lock(guard);
  auto* const rule = static_cast<Rule*>(flow);
  rules.remove(rule);
  return gone(rule);
}

Region* registered(Domain* domain, void* memory, std::size_t bytes, int access) {
  const std::scoped_lock lock(guard);
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

// A queue pair to itself, with all that a transition demands.
bool demands_met(Pair& pair, const QueuePairState& to, int mask) {
  constexpr int kToInit = kState | kPkeyIndex | kPort | kAccess;
  constexpr int kToReceive =
      kState | kAddress | kMtu | kDestination | kReceiveNumber | kReadsIn | kNotReadyTimer;
  constexpr int kToSend = kState | kTimeout | kRetries | kNotReadyRetries | kSendNumber | kReadsOut;
  if (to.state == kInit && (!has(mask, kToInit) || to.port != 2)) return false;
  if (to.state == kReadyToReceive) {
    const bool addressed = card.ethernet ? to.address.global == 1 && to.address.own_gid == 3 &&
                                               to.address.gid.bytes[15] == 3
                                         : to.address.global == 0 && to.address.lid == 9;
    if (!has(mask, kToReceive) || !addressed || to.destination != pair.number || to.mtu != 5 ||
        to.address.port != 2 || to.reads_in > card.reads)
      return false;
  }
  if (to.state == kReadyToSend) {
    if (!has(mask, kToSend) || to.reads_out > card.reads || to.timeout == 0) return false;
    pair.reads_out = to.reads_out;
  }
  if (to.state == kInit) pair.access = static_cast<int>(to.access);
  return true;
}

// Of frames nothing else is asked, nor allowed.
bool demands_met_for_frames(const QueuePairState& to, int mask) {
  return to.state == kInit ? mask == (kState | kPort) && to.port == 2 : mask == kState;
}

// Nothing out of turn.
int moved(Pair& pair, const QueuePairState& to, int mask) {
  if (to.state == card.refuse_state || to.state != pair.state + 1) return EINVAL;
  if (!(pair.type == kReliable ? demands_met(pair, to, mask) : demands_met_for_frames(to, mask)))
    return EINVAL;
  pair.state = to.state;
  return 0;
}

}  // namespace

extern "C" {

FakeCard* carillon_fake_card() { return &card; }
void carillon_fake_change(void (*what)(FakeCard&)) {
  const std::scoped_lock lock(guard);
  what(card);
}
void carillon_fake_forget() {
  const std::scoped_lock lock(guard);
  late.clear();
}
bool carillon_fake_come(const std::byte* bytes, std::size_t count) {
  const std::scoped_lock lock(guard);
  const std::span<const std::byte> frame(bytes, count);
  const auto rule =
      std::ranges::find_if(rules, [&](const Rule* each) { return is_for(each->what, frame); });
  if (rule == rules.end()) return false;
  ++card.taken;
  receive(*(*rule)->to, frame);
  return true;
}

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
  auto* const all = made(new ExtendedContext{});
  all->create_flow = create_flow;
  all->destroy_flow = destroy_flow;
  all->bytes = sizeof *all;
  all->context.device = device;
  all->context.poll = poll_queue;
  all->context.post_send = post;
  all->context.post_receive = post_receive;
  all->context.kind = card.rules ? kExtended : 0;
  return &all->context;
}
int ibv_close_device(Context* context) {
  return gone(reinterpret_cast<ExtendedContext*>(reinterpret_cast<std::byte*>(context) -
                                                 offsetof(ExtendedContext, context)));
}

int ibv_query_device(Context*, Limits* limits) {
  *limits = {};
  limits->requests = card.requests;
  limits->completions = 1 << 20;
  limits->reads_in = limits->reads_out = card.reads;
  limits->ports = 2;
  limits->pieces = card.pieces;
  limits->capabilities = card.checksums ? kLooksAtChecksums : 0;
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
  const std::scoped_lock lock(guard);
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
  const std::scoped_lock lock(guard);
  static std::uint32_t number = kFirstNumber;
  const bool frames = plan->type == kRawPacket;
  const auto room =
      static_cast<std::uint32_t>(static_cast<Queue*>(frames ? plan->receives : plan->sends)->room);
  const std::uint32_t asked = frames ? plan->capacity.receives : plan->capacity.sends;
  if ((plan->type != kReliable && !frames) || asked > static_cast<std::uint32_t>(card.requests) ||
      asked > room || plan->capacity.receive_pieces > static_cast<std::uint32_t>(card.pieces)) {
    errno = EINVAL;
    return nullptr;
  }
  if (frames && !card.raw) {
    errno = EPERM;
    return nullptr;
  }
  auto* const pair = made(new Pair{});
  pair->context = plan->sends->context;
  pair->sends = plan->sends;
  pair->receives = plan->receives;
  pair->number = number++;
  pair->type = plan->type;
  pair->capacity = plan->capacity;
  pairs.push_back(pair);
  return pair;
}
int ibv_modify_qp(QueuePair* pair, QueuePairState* to, int mask) {
  const std::scoped_lock lock(guard);
  return moved(*static_cast<Pair*>(pair), *to, mask);
}
int ibv_destroy_qp(QueuePair* raw) {
  const std::scoped_lock lock(guard);
  auto* const pair = static_cast<Pair*>(raw);
  if (std::ranges::any_of(rules, [&](const Rule* rule) { return rule->to == pair; })) return EBUSY;
  pairs.remove(pair);
  push(pieces_written);  // no queue pair goes with its frames on their way
  return gone(pair);
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
