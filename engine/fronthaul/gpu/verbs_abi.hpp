// What of <infiniband/verbs.h> we lay out ourselves, so that neither its header nor its library is
// needed to build. These layouts are the stable ABI of libibverbs.so.1 (rdma-core; IBVERBS_1.1 and
// its additions) on 64-bit Linux: structures only ever grow at their end, and the one around a
// context at its beginning. Posting, polling and rules are no functions of the library but pointers
// in and before the opened device's context.
// tests/fronthaul/gpu/verbs_abi_test.cpp holds all of it against the header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::fronthaul::gpu::verbs {

// IBV_ACCESS_…
inline constexpr int kLocalWrite = 1, kRemoteWrite = 1 << 1, kRemoteRead = 1 << 2;
// IBV_PORT_…, IBV_LINK_LAYER_…, IBV_QPF_GRH_REQUIRED
inline constexpr int kPortActive = 4;
inline constexpr std::uint8_t kEthernet = 2, kNeedsGid = 1;
// IBV_QPT_RC, IBV_QPT_RAW_PACKET, IBV_QPS_…
inline constexpr int kReliable = 2, kRawPacket = 8;
inline constexpr int kInit = 1, kReadyToReceive = 2, kReadyToSend = 3;
// IBV_WR_…, IBV_SEND_SIGNALED
inline constexpr int kRdmaWrite = 0, kRdmaRead = 4;
inline constexpr unsigned kSignaled = 1 << 1;
// IBV_WC_LOC_LEN_ERR, IBV_WC_IP_CSUM_OK, IBV_DEVICE_RAW_IP_CSUM
inline constexpr int kTooLong = 1;
inline constexpr unsigned kChecksumsGood = 1 << 2, kLooksAtChecksums = 1 << 26;
// IBV_FLOW_ATTR_NORMAL, IBV_FLOW_SPEC_…
inline constexpr int kByRule = 0;
inline constexpr std::uint32_t kOfEthernet = 0x20, kOfIpv4 = 0x30, kOfUdp = 0x41;

// IBV_QP_…: which of QueuePairState's fields a transition sets.
inline constexpr int kState = 1 << 0, kAccess = 1 << 3, kPkeyIndex = 1 << 4, kPort = 1 << 5,
                     kAddress = 1 << 7, kMtu = 1 << 8, kTimeout = 1 << 9, kRetries = 1 << 10,
                     kNotReadyRetries = 1 << 11, kReceiveNumber = 1 << 12, kReadsOut = 1 << 13,
                     kNotReadyTimer = 1 << 15, kSendNumber = 1 << 16, kReadsIn = 1 << 17,
                     kDestination = 1 << 20;

struct Context;
struct Domain;   ///< ibv_pd, never looked into
struct Device;   ///< ibv_device, the same
struct Channel;  ///< ibv_comp_channel, the same

/// ibv_sge
struct Piece {
  std::uint64_t address;
  std::uint32_t length, key;
};
static_assert(sizeof(Piece) == 16);

/// ibv_send_wr, of which RDMA uses the first half.
struct Request {
  std::uint64_t id;
  Request* next;
  Piece* pieces;
  int count;
  int opcode;
  unsigned flags;
  std::uint32_t immediate;
  std::uint64_t remote_address;
  std::uint32_t remote_key;
  std::uint32_t unused[19];
};
static_assert(offsetof(Request, pieces) == 16 && offsetof(Request, opcode) == 28);
static_assert(offsetof(Request, remote_address) == 40 && offsetof(Request, remote_key) == 48);
static_assert(sizeof(Request) == 128);

/// ibv_recv_wr
struct ReceiveRequest {
  std::uint64_t id;
  ReceiveRequest* next;
  Piece* pieces;
  int count;
};
static_assert(offsetof(ReceiveRequest, count) == 24 && sizeof(ReceiveRequest) == 32);

/// ibv_wc
struct Completion {
  std::uint64_t id;
  int status;  ///< 0: well; without that, only id, status, vendor's and the queue pair mean
               ///< anything
  int opcode;
  std::uint32_t vendor_error;
  std::uint32_t bytes;
  std::uint32_t immediate;
  std::uint32_t queue_pair, from;
  unsigned flags;
  std::uint16_t pkey_index, lid;
  std::uint8_t level, path_bits;
};
static_assert(offsetof(Completion, status) == 8 && offsetof(Completion, vendor_error) == 16);
static_assert(offsetof(Completion, queue_pair) == 28 && sizeof(Completion) == 48);

/// ibv_mr
struct Region {
  Context* context;
  Domain* domain;
  void* address;
  std::size_t length;
  std::uint32_t handle, local_key, remote_key;
};
static_assert(offsetof(Region, local_key) == 36 && offsetof(Region, remote_key) == 40);

/// ibv_cq, as far as we look.
struct CompletionQueue {
  Context* context;
};

/// ibv_qp, as far as we look.
struct QueuePair {
  Context* context;
  void* owner;
  Domain* domain;
  CompletionQueue *sends, *receives;
  void* shared_receives;
  std::uint32_t handle, number;
};
static_assert(offsetof(QueuePair, number) == 52);

/// ibv_context: its operations (ibv_context_ops) begin at 8.
struct Context {
  Device* device;
  void* operations_before[11];
  int (*poll)(CompletionQueue*, int most, Completion*);
  void* operations_between[13];
  int (*post_send)(QueuePair*, Request*, Request** bad);
  int (*post_receive)(QueuePair*, ReceiveRequest*, ReceiveRequest** bad);
  void* operations_after[5];
  int commands, events, vectors;
  alignas(8) unsigned char mutex[40];
  std::uintptr_t kind;  ///< kExtended, or the library is older than 2013
};
static_assert(offsetof(Context, poll) == 8 + 88 && offsetof(Context, post_send) == 8 + 200);
static_assert(offsetof(Context, commands) == 264 && offsetof(Context, kind) == 320);
static_assert(sizeof(Context) == 328);

/// ibv_flow_attr, then what a datagram has to have: ibv_flow_spec_eth, …_ipv4, …_tcp_udp, each with
/// a mask of the bits that count. Numbers are in the network's order.
struct UdpRule {
  struct Head {
    std::uint32_t extensions;
    int kind;
    std::uint16_t bytes, priority;
    std::uint8_t parts, port;
    std::uint32_t flags;
  } head;
  struct Ethernet {
    std::uint32_t part;
    std::uint16_t bytes;
    struct Filter {
      std::uint8_t to[6], from[6];
      std::uint16_t protocol, vlan;
    } value, mask;
  } ethernet;
  struct Ipv4 {
    std::uint32_t part;
    std::uint16_t bytes;
    struct Filter {
      std::uint32_t from, to;
    } value, mask;
  } ipv4;
  struct Udp {
    std::uint32_t part;
    std::uint16_t bytes;
    struct Filter {
      std::uint16_t to, from;
    } value, mask;
  } udp;
};
static_assert(sizeof(UdpRule::Head) == 20 && sizeof(UdpRule::Ethernet) == 40);
static_assert(sizeof(UdpRule::Ipv4) == 24 && sizeof(UdpRule::Udp) == 16);
static_assert(sizeof(UdpRule) == 100);

/// ibv_flow: a rule that is in force.
struct Flow {
  std::uint32_t extensions;
  Context* context;
  std::uint32_t handle;
};

/// The end of verbs_context, which grows at its beginning.
struct ExtendedContext {
  int (*destroy_flow)(Flow*);
  void* unused_2;
  Flow* (*create_flow)(QueuePair*, UdpRule::Head*);
  void* unused_1;
  void* operations[6];
  std::uint64_t unused_3;
  std::size_t bytes;  ///< of the whole, which may begin later than this
  Context context;
};
static_assert(offsetof(ExtendedContext, context) == 96);
inline constexpr std::uintptr_t kExtended = ~std::uintptr_t{0};

/// What is around a context; null where it has no rules for flows.
inline ExtendedContext* around(Context* context) {
  if (context->kind != kExtended) return nullptr;
  auto* const all = reinterpret_cast<ExtendedContext*>(reinterpret_cast<std::byte*>(context) -
                                                       offsetof(ExtendedContext, context));
  const bool whole = all->bytes >= sizeof(ExtendedContext);
  return whole && all->create_flow != nullptr && all->destroy_flow != nullptr ? all : nullptr;
}

/// ibv_device_attr
struct Limits {
  char firmware[64];
  std::uint64_t node, image, region_bytes, page_sizes;
  std::uint32_t vendor, part, version;
  int queue_pairs, requests;  ///< requests: of one queue, in flight
  unsigned capabilities;
  int pieces, read_pieces, queues, completions, regions, domains;
  int reads_in;  ///< RDMA reads in flight that a queue pair answers …
  int ee_reads_in, all_reads_in;
  int reads_out;  ///< … and that it asks
  int rest[16];
  std::uint16_t pkeys;
  std::uint8_t ack_delay;
  std::uint8_t ports;
};
static_assert(offsetof(Limits, requests) == 112 && offsetof(Limits, completions) == 132);
static_assert(offsetof(Limits, reads_in) == 144 && offsetof(Limits, reads_out) == 156);
static_assert(offsetof(Limits, ports) == 227 && sizeof(Limits) == 232);

/// ibv_port_attr
struct PortState {
  int state, largest_mtu, mtu;
  int gids;
  std::uint32_t capabilities, message_bytes, bad_pkeys, bad_qkeys;
  std::uint16_t pkeys, lid, manager_lid;
  std::uint8_t lid_mask, lanes_most, manager_level, timeout, init_reply, width, speed, physical;
  std::uint8_t link_layer, flags;
  std::uint16_t more_capabilities;
};
static_assert(offsetof(PortState, gids) == 12 && offsetof(PortState, message_bytes) == 20);
static_assert(offsetof(PortState, lid) == 34 && offsetof(PortState, link_layer) == 46);
static_assert(offsetof(PortState, flags) == 47 && sizeof(PortState) == 52);

/// ibv_gid
struct alignas(8) Gid {
  std::uint8_t bytes[16];
};

/// ibv_ah_attr, with ibv_global_route first.
struct Address {
  Gid gid;
  std::uint32_t flow;
  std::uint8_t own_gid, hops, traffic_class;
  std::uint16_t lid;
  std::uint8_t level, path_bits, rate, global, port;
};
static_assert(offsetof(Address, own_gid) == 20 && offsetof(Address, lid) == 24);
static_assert(offsetof(Address, global) == 29 && offsetof(Address, port) == 30);
static_assert(sizeof(Address) == 32);

/// ibv_qp_cap
struct Capacity {
  std::uint32_t sends, receives, send_pieces, receive_pieces, inline_bytes;
};

/// ibv_qp_init_attr
struct QueuePairPlan {
  void* owner;
  CompletionQueue *sends, *receives;
  void* shared_receives;
  Capacity capacity;
  int type;
  int all_signaled;
};
static_assert(offsetof(QueuePairPlan, capacity) == 32 && offsetof(QueuePairPlan, type) == 52);
static_assert(sizeof(QueuePairPlan) == 64);

/// ibv_qp_attr
struct QueuePairState {
  int state, state_now, mtu, migration;
  std::uint32_t qkey, receive_number, send_number, destination;
  unsigned access;
  Capacity capacity;
  Address address, other_address;
  std::uint16_t pkey_index, other_pkey_index;
  std::uint8_t drain_notify, draining, reads_out, reads_in, not_ready_timer, port, timeout, retries,
      not_ready_retries, other_port, other_timeout;
  std::uint32_t rate;
};
static_assert(offsetof(QueuePairState, mtu) == 8 && offsetof(QueuePairState, destination) == 28);
static_assert(offsetof(QueuePairState, address) == 56 &&
              offsetof(QueuePairState, pkey_index) == 120);
static_assert(offsetof(QueuePairState, reads_out) == 126 && offsetof(QueuePairState, port) == 129);
static_assert(offsetof(QueuePairState, not_ready_retries) == 132 && sizeof(QueuePairState) == 144);

}  // namespace carillon::fronthaul::gpu::verbs
