// Our layout of libibverbs' structures against its own header, where there is one.
#include "fronthaul/gpu/verbs_abi.hpp"

#include "support/test.hpp"

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

namespace {

namespace ours = carillon::fronthaul::gpu::verbs;

// Type and field of ours beside theirs: the same place and the same size.
#define EXPECT_SAME(own, field, type, member)                    \
  EXPECT_EQ(offsetof(ours::own, field), offsetof(type, member)); \
  EXPECT_EQ(sizeof(((ours::own*)nullptr)->field), sizeof(((type*)nullptr)->member))

TEST(VerbsAbi, WhatIsPostedAndPolledLiesWhereTheHeaderHasIt) {
  EXPECT_EQ(sizeof(ours::Piece), sizeof(ibv_sge));
  EXPECT_SAME(Piece, address, ibv_sge, addr);
  EXPECT_SAME(Piece, length, ibv_sge, length);
  EXPECT_SAME(Piece, key, ibv_sge, lkey);
  EXPECT_EQ(sizeof(ours::Request), sizeof(ibv_send_wr));
  EXPECT_SAME(Request, id, ibv_send_wr, wr_id);
  EXPECT_SAME(Request, next, ibv_send_wr, next);
  EXPECT_SAME(Request, pieces, ibv_send_wr, sg_list);
  EXPECT_SAME(Request, count, ibv_send_wr, num_sge);
  EXPECT_SAME(Request, opcode, ibv_send_wr, opcode);
  EXPECT_SAME(Request, flags, ibv_send_wr, send_flags);
  EXPECT_SAME(Request, remote_address, ibv_send_wr, wr.rdma.remote_addr);
  EXPECT_SAME(Request, remote_key, ibv_send_wr, wr.rdma.rkey);
  EXPECT_EQ(sizeof(ours::ReceiveRequest), sizeof(ibv_recv_wr));
  EXPECT_SAME(ReceiveRequest, id, ibv_recv_wr, wr_id);
  EXPECT_SAME(ReceiveRequest, next, ibv_recv_wr, next);
  EXPECT_SAME(ReceiveRequest, pieces, ibv_recv_wr, sg_list);
  EXPECT_SAME(ReceiveRequest, count, ibv_recv_wr, num_sge);
  EXPECT_EQ(sizeof(ours::Completion), sizeof(ibv_wc));
  EXPECT_SAME(Completion, id, ibv_wc, wr_id);
  EXPECT_SAME(Completion, status, ibv_wc, status);
  EXPECT_SAME(Completion, vendor_error, ibv_wc, vendor_err);
  EXPECT_SAME(Completion, bytes, ibv_wc, byte_len);
  EXPECT_SAME(Completion, flags, ibv_wc, wc_flags);
}

TEST(VerbsAbi, WhatTheLibraryMakesLiesWhereTheHeaderHasIt) {
  EXPECT_SAME(Region, local_key, ibv_mr, lkey);
  EXPECT_SAME(Region, remote_key, ibv_mr, rkey);
  EXPECT_SAME(CompletionQueue, context, ibv_cq, context);
  EXPECT_SAME(QueuePair, context, ibv_qp, context);
  EXPECT_SAME(QueuePair, number, ibv_qp, qp_num);
  EXPECT_SAME(Context, poll, ibv_context, ops.poll_cq);
  EXPECT_SAME(Context, post_send, ibv_context, ops.post_send);
  EXPECT_SAME(Context, post_receive, ibv_context, ops.post_recv);
  EXPECT_SAME(Context, kind, ibv_context, abi_compat);
  EXPECT_EQ(sizeof(ours::Context), sizeof(ibv_context));
}

// From its end, since that is where both are the same.
TEST(VerbsAbi, WhatIsAroundAContextLiesWhereTheHeaderHasIt) {
#define EXPECT_SAME_FROM_THE_END(field, member)                                     \
  EXPECT_EQ(sizeof(ours::ExtendedContext) - offsetof(ours::ExtendedContext, field), \
            sizeof(verbs_context) - offsetof(verbs_context, member))
  EXPECT_SAME_FROM_THE_END(destroy_flow, ibv_destroy_flow);
  EXPECT_SAME_FROM_THE_END(create_flow, ibv_create_flow);
  EXPECT_SAME_FROM_THE_END(bytes, sz);
  EXPECT_SAME_FROM_THE_END(context, context);
}

// Where the header's own inline function looks, ours does.
TEST(VerbsAbi, RulesAreFoundWhereTheHeaderFindsThem) {
  verbs_context theirs{};
  auto* const context = reinterpret_cast<ours::Context*>(&theirs.context);
  theirs.ibv_create_flow = [](ibv_qp*, ibv_flow_attr*) -> ibv_flow* { return nullptr; };
  theirs.ibv_destroy_flow = [](ibv_flow*) { return 0; };
  theirs.sz = sizeof theirs;
  EXPECT_EQ(ours::around(context), nullptr);
  theirs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  ASSERT_NE(ours::around(context), nullptr);
  EXPECT_EQ(reinterpret_cast<void*>(ours::around(context)->create_flow),
            reinterpret_cast<void*>(theirs.ibv_create_flow));
  theirs.sz = sizeof theirs - offsetof(verbs_context, ibv_create_flow);
  EXPECT_EQ(ours::around(context), nullptr) << "it has no way to end a rule";
  theirs.sz = sizeof theirs - offsetof(verbs_context, ibv_destroy_flow);
  EXPECT_NE(ours::around(context), nullptr);
  theirs.ibv_create_flow = nullptr;
  EXPECT_EQ(ours::around(context), nullptr);
}

TEST(VerbsAbi, ARuleLiesWhereTheHeaderHasIt) {
  EXPECT_EQ(sizeof(ours::UdpRule::Head), sizeof(ibv_flow_attr));
  EXPECT_SAME(UdpRule::Head, kind, ibv_flow_attr, type);
  EXPECT_SAME(UdpRule::Head, bytes, ibv_flow_attr, size);
  EXPECT_SAME(UdpRule::Head, parts, ibv_flow_attr, num_of_specs);
  EXPECT_SAME(UdpRule::Head, port, ibv_flow_attr, port);
  EXPECT_SAME(UdpRule::Head, flags, ibv_flow_attr, flags);
  EXPECT_EQ(sizeof(ours::UdpRule::Ethernet), sizeof(ibv_flow_spec_eth));
  EXPECT_SAME(UdpRule::Ethernet, part, ibv_flow_spec_eth, type);
  EXPECT_SAME(UdpRule::Ethernet, bytes, ibv_flow_spec_eth, size);
  EXPECT_SAME(UdpRule::Ethernet, value.to, ibv_flow_spec_eth, val.dst_mac);
  EXPECT_SAME(UdpRule::Ethernet, mask.to, ibv_flow_spec_eth, mask.dst_mac);
  EXPECT_EQ(sizeof(ours::UdpRule::Ipv4), sizeof(ibv_flow_spec_ipv4));
  EXPECT_SAME(UdpRule::Ipv4, value.to, ibv_flow_spec_ipv4, val.dst_ip);
  EXPECT_SAME(UdpRule::Ipv4, mask.to, ibv_flow_spec_ipv4, mask.dst_ip);
  EXPECT_EQ(sizeof(ours::UdpRule::Udp), sizeof(ibv_flow_spec_tcp_udp));
  EXPECT_SAME(UdpRule::Udp, value.to, ibv_flow_spec_tcp_udp, val.dst_port);
  EXPECT_SAME(UdpRule::Udp, mask.to, ibv_flow_spec_tcp_udp, mask.dst_port);
  EXPECT_EQ(offsetof(ours::UdpRule, ethernet), sizeof(ibv_flow_attr));
  EXPECT_SAME(Flow, context, ibv_flow, context);
}

TEST(VerbsAbi, WhatADeviceTellsLiesWhereTheHeaderHasIt) {
  EXPECT_EQ(sizeof(ours::Limits), sizeof(ibv_device_attr));
  EXPECT_SAME(Limits, requests, ibv_device_attr, max_qp_wr);
  EXPECT_SAME(Limits, capabilities, ibv_device_attr, device_cap_flags);
  EXPECT_SAME(Limits, pieces, ibv_device_attr, max_sge);
  EXPECT_SAME(Limits, completions, ibv_device_attr, max_cqe);
  EXPECT_SAME(Limits, reads_in, ibv_device_attr, max_qp_rd_atom);
  EXPECT_SAME(Limits, reads_out, ibv_device_attr, max_qp_init_rd_atom);
  EXPECT_SAME(Limits, ports, ibv_device_attr, phys_port_cnt);
  EXPECT_EQ(sizeof(ours::PortState), sizeof(ibv_port_attr));
  EXPECT_SAME(PortState, state, ibv_port_attr, state);
  EXPECT_SAME(PortState, mtu, ibv_port_attr, active_mtu);
  EXPECT_SAME(PortState, gids, ibv_port_attr, gid_tbl_len);
  EXPECT_SAME(PortState, message_bytes, ibv_port_attr, max_msg_sz);
  EXPECT_SAME(PortState, lid, ibv_port_attr, lid);
  EXPECT_SAME(PortState, link_layer, ibv_port_attr, link_layer);
  EXPECT_SAME(PortState, flags, ibv_port_attr, flags);
  EXPECT_EQ(sizeof(ours::Gid), sizeof(ibv_gid));
  EXPECT_EQ(alignof(ours::Gid), alignof(ibv_gid));
}

TEST(VerbsAbi, WhatAQueuePairIsToldLiesWhereTheHeaderHasIt) {
  EXPECT_EQ(sizeof(ours::QueuePairPlan), sizeof(ibv_qp_init_attr));
  EXPECT_SAME(QueuePairPlan, sends, ibv_qp_init_attr, send_cq);
  EXPECT_SAME(QueuePairPlan, receives, ibv_qp_init_attr, recv_cq);
  EXPECT_SAME(QueuePairPlan, capacity, ibv_qp_init_attr, cap);
  EXPECT_SAME(Capacity, sends, ibv_qp_cap, max_send_wr);
  EXPECT_SAME(Capacity, inline_bytes, ibv_qp_cap, max_inline_data);
  EXPECT_SAME(QueuePairPlan, type, ibv_qp_init_attr, qp_type);
  EXPECT_SAME(QueuePairPlan, all_signaled, ibv_qp_init_attr, sq_sig_all);
  EXPECT_EQ(sizeof(ours::QueuePairState), sizeof(ibv_qp_attr));
  EXPECT_SAME(QueuePairState, state, ibv_qp_attr, qp_state);
  EXPECT_SAME(QueuePairState, mtu, ibv_qp_attr, path_mtu);
  EXPECT_SAME(QueuePairState, receive_number, ibv_qp_attr, rq_psn);
  EXPECT_SAME(QueuePairState, send_number, ibv_qp_attr, sq_psn);
  EXPECT_SAME(QueuePairState, destination, ibv_qp_attr, dest_qp_num);
  EXPECT_SAME(QueuePairState, access, ibv_qp_attr, qp_access_flags);
  EXPECT_SAME(QueuePairState, pkey_index, ibv_qp_attr, pkey_index);
  EXPECT_SAME(QueuePairState, reads_out, ibv_qp_attr, max_rd_atomic);
  EXPECT_SAME(QueuePairState, reads_in, ibv_qp_attr, max_dest_rd_atomic);
  EXPECT_SAME(QueuePairState, not_ready_timer, ibv_qp_attr, min_rnr_timer);
  EXPECT_SAME(QueuePairState, port, ibv_qp_attr, port_num);
  EXPECT_SAME(QueuePairState, timeout, ibv_qp_attr, timeout);
  EXPECT_SAME(QueuePairState, retries, ibv_qp_attr, retry_cnt);
  EXPECT_SAME(QueuePairState, not_ready_retries, ibv_qp_attr, rnr_retry);
  EXPECT_SAME(QueuePairState, address, ibv_qp_attr, ah_attr);
  EXPECT_SAME(Address, gid, ibv_ah_attr, grh.dgid);
  EXPECT_SAME(Address, own_gid, ibv_ah_attr, grh.sgid_index);
  EXPECT_SAME(Address, hops, ibv_ah_attr, grh.hop_limit);
  EXPECT_SAME(Address, lid, ibv_ah_attr, dlid);
  EXPECT_SAME(Address, global, ibv_ah_attr, is_global);
  EXPECT_SAME(Address, port, ibv_ah_attr, port_num);
}

TEST(VerbsAbi, NumbersAreTheHeaders) {
  EXPECT_EQ(ours::kLocalWrite, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(ours::kRemoteWrite, IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(ours::kRemoteRead, IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(ours::kPortActive, IBV_PORT_ACTIVE);
  EXPECT_EQ(ours::kEthernet, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(ours::kNeedsGid, IBV_QPF_GRH_REQUIRED);
  EXPECT_EQ(ours::kReliable, IBV_QPT_RC);
  EXPECT_EQ(ours::kRawPacket, IBV_QPT_RAW_PACKET);
  EXPECT_EQ(ours::kTooLong, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(ours::kChecksumsGood, static_cast<unsigned>(IBV_WC_IP_CSUM_OK));
  EXPECT_EQ(ours::kLooksAtChecksums, static_cast<unsigned>(IBV_DEVICE_RAW_IP_CSUM));
  EXPECT_EQ(ours::kByRule, IBV_FLOW_ATTR_NORMAL);
  EXPECT_EQ(ours::kOfEthernet, static_cast<unsigned>(IBV_FLOW_SPEC_ETH));
  EXPECT_EQ(ours::kOfIpv4, static_cast<unsigned>(IBV_FLOW_SPEC_IPV4));
  EXPECT_EQ(ours::kOfUdp, static_cast<unsigned>(IBV_FLOW_SPEC_UDP));
  EXPECT_EQ(ours::kExtended, reinterpret_cast<std::uintptr_t>(__VERBS_ABI_IS_EXTENDED));
  EXPECT_EQ(ours::kInit, IBV_QPS_INIT);
  EXPECT_EQ(ours::kReadyToReceive, IBV_QPS_RTR);
  EXPECT_EQ(ours::kReadyToSend, IBV_QPS_RTS);
  EXPECT_EQ(ours::kRdmaWrite, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(ours::kRdmaRead, IBV_WR_RDMA_READ);
  EXPECT_EQ(ours::kSignaled, static_cast<unsigned>(IBV_SEND_SIGNALED));
  EXPECT_EQ(ours::kState, IBV_QP_STATE);
  EXPECT_EQ(ours::kAccess, IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(ours::kPkeyIndex, IBV_QP_PKEY_INDEX);
  EXPECT_EQ(ours::kPort, IBV_QP_PORT);
  EXPECT_EQ(ours::kAddress, IBV_QP_AV);
  EXPECT_EQ(ours::kMtu, IBV_QP_PATH_MTU);
  EXPECT_EQ(ours::kTimeout, IBV_QP_TIMEOUT);
  EXPECT_EQ(ours::kRetries, IBV_QP_RETRY_CNT);
  EXPECT_EQ(ours::kNotReadyRetries, IBV_QP_RNR_RETRY);
  EXPECT_EQ(ours::kReceiveNumber, IBV_QP_RQ_PSN);
  EXPECT_EQ(ours::kReadsOut, IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_EQ(ours::kNotReadyTimer, IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(ours::kSendNumber, IBV_QP_SQ_PSN);
  EXPECT_EQ(ours::kReadsIn, IBV_QP_MAX_DEST_RD_ATOMIC);
  EXPECT_EQ(ours::kDestination, IBV_QP_DEST_QPN);
}

}  // namespace

#else

TEST(VerbsAbi, IsHeldAgainstTheHeaderWhereThereIsOne) {
  GTEST_SKIP() << "no <infiniband/verbs.h>; apt install libibverbs-dev";
}

#endif
