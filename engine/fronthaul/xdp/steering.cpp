#include "fronthaul/xdp/steering.hpp"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "fronthaul/udp_socket.hpp"

namespace carillon::fronthaul::xdp {
namespace {

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

bpf_attr no_attributes() {
  bpf_attr none;
  std::memset(&none, 0, sizeof none);
  return none;
}

[[noreturn]] void refuse(const std::string& what) {
  fail_system("fronthaul.io: af-xdp cannot " + what +
              ", which takes CAP_BPF and CAP_NET_ADMIN: run it as root, or use fronthaul.io: "
              "socket");
}

#ifdef BPF_F_XDP_HAS_FRAGS  // headers of Linux 5.18
constexpr std::uint32_t kAnyMtu = BPF_F_XDP_HAS_FRAGS;
#else
constexpr std::uint32_t kAnyMtu = 0;
#endif

// Registers: 2 and 3 are the packet's begin and end, 5 what was read of it, 7 the port's number.
bpf_insn operation(int code, int to, int from, int offset, std::int32_t value) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(to) & 0xf;
  made.src_reg = static_cast<std::uint8_t>(from) & 0xf;
  made.off = static_cast<std::int16_t>(offset);
  made.imm = value;
  return made;
}

bpf_insn read(int size, int at) { return operation(BPF_LDX | BPF_MEM | size, 5, 2, at, 0); }

class Program {
 public:
  Program(in_addr address, const std::vector<std::uint16_t>& ports, int map) {
    add(BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(xdp_md, data), 0);
    add(BPF_LDX | BPF_MEM | BPF_W, 3, 1, offsetof(xdp_md, data_end), 0);
    add(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0);
    add(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, kUdpEnd);
    pass_if(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 0);
    require(BPF_H, kEthernetType, htons(ETH_P_IP));
    require(BPF_B, kIp, 0x45);  // version 4, no options
    code_.push_back(read(BPF_H, kIp + 6));
    add(BPF_ALU64 | BPF_AND | BPF_K, 5, 0, 0, htons(0x3fff));  // more fragments, or not the first
    pass_if(BPF_JMP | BPF_JNE | BPF_K, 5, 0, 0);
    require(BPF_B, kIp + 9, IPPROTO_UDP);
    require(BPF_W, kIp + 16, static_cast<std::int32_t>(address.s_addr));
    code_.push_back(read(BPF_H, kUdpEnd - 6));
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      add(BPF_JMP | BPF_JNE | BPF_K, 5, 0, 2, htons(ports[i]));
      add(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, static_cast<std::int32_t>(i));
      found.push_back(code_.size());
      add(BPF_JMP | BPF_JA, 0, 0, 0, 0);
    }
    land(passing_);
    add(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS);
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    land(found);
    add(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
    add(0, 0, 0, 0, 0);
    add(BPF_ALU64 | BPF_MOV | BPF_X, 2, 7, 0, 0);
    add(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS);  // where there is no socket
    add(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map);
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  }
  const std::vector<bpf_insn>& code() const { return code_; }

 private:
  static constexpr int kEthernetType = 12, kIp = 14, kUdpEnd = 42;

  void add(int code, int to, int from, std::size_t offset, std::int32_t value) {
    code_.push_back(operation(code, to, from, static_cast<int>(offset), value));
  }
  void pass_if(int code, int to, int from, std::int32_t value) {
    passing_.push_back(code_.size());
    add(code, to, from, 0, value);
  }
  void require(int size, int at, std::int32_t value) {
    code_.push_back(read(size, at));
    pass_if(BPF_JMP32 | BPF_JNE | BPF_K, 5, 0, value);
  }
  // Jumps come here.
  void land(const std::vector<std::size_t>& jumps) {
    for (const std::size_t jump : jumps)
      code_[jump].off = static_cast<std::int16_t>(code_.size() - jump - 1);
  }

  std::vector<bpf_insn> code_;
  std::vector<std::size_t> passing_;  // jumps
};

Descriptor make_map(std::size_t sockets) {
  bpf_attr attributes = no_attributes();
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = attributes.value_size = sizeof(std::uint32_t);
  attributes.max_entries = static_cast<std::uint32_t>(sockets);
  Descriptor map(bpf(BPF_MAP_CREATE, attributes));
  if (!map.is_open()) refuse("make a map of sockets");
  return map;
}

Descriptor load(const std::vector<bpf_insn>& code) {
  bpf_attr attributes = no_attributes();
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = reinterpret_cast<std::uint64_t>(code.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(code.size());
  attributes.license = reinterpret_cast<std::uint64_t>("Dual MIT/GPL");
  attributes.prog_flags = kAnyMtu;
  Descriptor program(bpf(BPF_PROG_LOAD, attributes));
  if (!program.is_open() && errno == EINVAL) {  // before Linux 5.18
    attributes.prog_flags = 0;
    program = Descriptor(bpf(BPF_PROG_LOAD, attributes));
  }
  if (!program.is_open()) refuse("load its program");
  return program;
}

}  // namespace

Steering::Steering(const Interface& interface, in_addr address,
                   const std::vector<std::uint16_t>& ports)
    : interface_(interface),
      map_(make_map(ports.size())),
      program_(load(Program(address, ports, map_.number()).code())) {}

void Steering::set(std::uint32_t port, int socket) {
  bpf_attr attributes = no_attributes();
  attributes.map_fd = static_cast<std::uint32_t>(map_.number());
  attributes.key = reinterpret_cast<std::uint64_t>(&port);
  attributes.value = reinterpret_cast<std::uint64_t>(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, attributes) != 0) refuse("name its sockets to its program");
}

void Steering::attach() {
  for (const std::uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    bpf_attr attributes = no_attributes();
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program_.number());
    attributes.link_create.target_ifindex = interface_.index;
    attributes.link_create.attach_type = BPF_XDP;
    attributes.link_create.flags = mode;
    link_ = Descriptor(bpf(BPF_LINK_CREATE, attributes));
    native_ = mode == XDP_FLAGS_DRV_MODE;
    if (link_.is_open()) return;
    if (errno == EBUSY || errno == EEXIST)
      fail_link("another XDP program is attached to " + interface_.name +
                ": end it, or see `ip link show dev " + interface_.name + "`");
  }
  refuse("attach its program to " + interface_.name);
}

}  // namespace carillon::fronthaul::xdp
