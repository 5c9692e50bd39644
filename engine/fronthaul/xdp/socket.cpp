#include "fronthaul/xdp/socket.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "base/thread.hpp"
#include "fronthaul/udp_socket.hpp"

namespace carillon::fronthaul::xdp {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  fail_system("fronthaul.io: af-xdp cannot " + what +
              "; it takes Linux 5.11 with CONFIG_XDP_SOCKETS and CAP_NET_RAW: run it as root, or "
              "use fronthaul.io: socket");
}

template <typename T>
void set(int fd, int option, const T& value, const char* what) {
  if (setsockopt(fd, SOL_XDP, option, &value, sizeof value) != 0) refuse(what);
}

// Makes a ring before it is mapped.
int sized(int fd, int option, std::uint32_t size) {
  set(fd, option, static_cast<int>(size), "have rings of that size");
  return fd;
}

xdp_mmap_offsets offsets_of(int fd) {
  xdp_mmap_offsets offsets{};
  socklen_t size = sizeof offsets;
  if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0) refuse("find its rings");
  return offsets;
}

int with_memory(int fd, std::byte* memory, std::uint32_t chunks, std::uint32_t headroom) {
  xdp_umem_reg memory_of{};
  memory_of.addr = reinterpret_cast<std::uint64_t>(memory);
  memory_of.len = std::uint64_t{chunks} * kChunkBytes;
  memory_of.chunk_size = kChunkBytes;
  memory_of.headroom = headroom;
  set(fd, XDP_UMEM_REG, memory_of, "register memory");
  return fd;
}

sockaddr_xdp first_queue(const Interface& interface) {
  sockaddr_xdp at{};
  at.sxdp_family = AF_XDP;
  at.sxdp_ifindex = interface.index;
  return at;
}

// The kernel frees the queue of a socket that was closed a little later.
void bind_to(int fd, const sockaddr_xdp& at, const Interface& interface) {
  for (const Tick until = now() + kSecond;;) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return;
    if (errno != EBUSY || now() > until) break;
    sleep_until(now() + 10 * kMillisecond);
  }
  if (errno == EBUSY)
    fail_link("another AF_XDP socket has the first queue of " + interface.name +
              ": the ends of a link need an interface each, and so do cells");
  refuse("receive from " + interface.name);
}

}  // namespace

Pages::Pages(std::size_t bytes, int fd, std::uint64_t offset) : bytes_(bytes) {
  const int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_POPULATE, fd,
                        static_cast<off_t>(offset));
  if (at == MAP_FAILED) refuse("map memory");
  data_ = static_cast<std::byte*>(at);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

XdpFile::XdpFile() : file(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  if (!file.is_open()) refuse("make a socket");
}

Owner::Owner(std::byte* memory, std::uint32_t chunks, std::uint32_t headroom, std::uint32_t filled,
             std::uint32_t sending)
    : fill(sized(with_memory(file.number(), memory, chunks, headroom), XDP_UMEM_FILL_RING, filled),
           XDP_UMEM_PGOFF_FILL_RING, offsets_of(file.number()).fr, filled),
      completion(sized(file.number(), XDP_UMEM_COMPLETION_RING, sending),
                 XDP_UMEM_PGOFF_COMPLETION_RING, offsets_of(file.number()).cr, sending),
      send(sized(file.number(), XDP_TX_RING, sending), XDP_PGOFF_TX_RING,
           offsets_of(file.number()).tx, sending) {}

Receiver::Receiver(int fd, std::uint32_t size)
    : ring(sized(fd, XDP_RX_RING, size), XDP_PGOFF_RX_RING, offsets_of(fd).rx, size) {}

bool bind_owner(int fd, const Interface& interface) {
  sockaddr_xdp at = first_queue(interface);
  at.sxdp_flags = XDP_USE_NEED_WAKEUP;  // neither copy nor not: the kernel knows what can be
  bind_to(fd, at, interface);
  xdp_options options{};
  socklen_t size = sizeof options;
  return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &size) == 0 &&
         (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

void bind_beside(int fd, const Interface& interface, int owner) {
  sockaddr_xdp at = first_queue(interface);
  at.sxdp_flags = XDP_SHARED_UMEM;
  at.sxdp_shared_umem_fd = static_cast<std::uint32_t>(owner);
  bind_to(fd, at, interface);
}

}  // namespace carillon::fronthaul::xdp
