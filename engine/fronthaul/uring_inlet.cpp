#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "fronthaul/inlet.hpp"

#ifdef IORING_RECV_MULTISHOT  // headers of Linux 6.0

namespace carillon::fronthaul {
namespace {

constexpr unsigned kReady = 128;  // buffers that lie ready for datagrams
constexpr unsigned kRequests = 4;
static_assert(sizeof(io_uring_recvmsg_out) + sizeof(sockaddr_in) < kUringPrefix);
constexpr std::uint32_t kPadding =
    kUringPrefix - sizeof(io_uring_recvmsg_out) - sizeof(sockaddr_in);

[[noreturn]] void refuse(const std::string& what) {
  fail_link("io_uring: " + what + ", or use fronthaul.io: socket");
}

std::string disabled() {
  std::string value = "0";
  std::getline(std::ifstream("/proc/sys/kernel/io_uring_disabled"), value);
  return value == "0" ? "a seccomp filter, as containers have, forbids it: allow io_uring_setup"
                      : "sysctl kernel.io_uring_disabled is " + value +
                            ": allow it with sysctl -w kernel.io_uring_disabled=0";
}

// Memory that the kernel shares.
class Shared {
 public:
  Shared(std::size_t bytes, int fd, std::uint64_t offset)
      : bytes_(bytes),
        at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE, fd,
                 static_cast<off_t>(offset))) {
    if (at_ == MAP_FAILED) fail_system("cannot map memory of io_uring");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(at_, bytes_); }

  template <typename T>
  T* at(std::uint32_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(at_) + offset);
  }

 private:
  std::size_t bytes_;
  void* at_;
};

// The kernel runs what has come when we ask it to (COOP_TASKRUN), and a flag says when there is
// something to ask for.
struct Uring {
  Uring() {
    parameters.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE;
    parameters.cq_entries = 2 * kReady;
    file = Descriptor(static_cast<int>(syscall(SYS_io_uring_setup, kRequests, &parameters)));
    if (file.is_open()) return;
    const int error = errno;
    if (error == EPERM || error == EACCES) refuse("not permitted: " + disabled());
    if (error == ENOSYS) refuse("this kernel was built without it: take one with CONFIG_IO_URING");
    if (error == EINVAL) refuse("this kernel is too old: take Linux 6.0 or newer");
    errno = error;
    fail_system("cannot make an io_uring; try fronthaul.io: socket");
  }

  io_uring_params parameters{};
  Descriptor file;
};

// Whether it knows IORING_OP_SEND_ZC, which came with the receiving of many messages by one
// request, for which there is no question to ask.
bool receives_many(int fd) {
  constexpr unsigned kOperations = 256;
  std::vector<std::byte> room(sizeof(io_uring_probe) + kOperations * sizeof(io_uring_probe_op));
  auto* const probe = reinterpret_cast<io_uring_probe*>(room.data());
  return syscall(SYS_io_uring_register, fd, IORING_REGISTER_PROBE, probe, kOperations) == 0 &&
         probe->last_op >= IORING_OP_SEND_ZC;
}

std::atomic_ref<unsigned> shared(unsigned* word) { return std::atomic_ref<unsigned>(*word); }

class UringInlet final : public Inlet {
 public:
  UringInlet(Socket&& own, BufferStock& stock)
      : Inlet(std::move(own)),
        stock_(stock),
        rings_(std::max(ring_.parameters.sq_off.array + kRequests * sizeof(unsigned),
                        ring_.parameters.cq_off.cqes +
                            ring_.parameters.cq_entries * sizeof(io_uring_cqe)),
               ring_.file.number(), IORING_OFF_SQ_RING),
        requests_(kRequests * sizeof(io_uring_sqe), ring_.file.number(), IORING_OFF_SQES),
        ready_(kReady * sizeof(io_uring_buf), -1, 0) {
    if (!receives_many(ring_.file.number()))
      refuse("this kernel is too old: take Linux 6.0 or newer");
    io_uring_buf_reg buffers{};
    buffers.ring_addr = reinterpret_cast<std::uint64_t>(ready_.at<void>());
    buffers.ring_entries = kReady;
    if (syscall(SYS_io_uring_register, ring_.file.number(), IORING_REGISTER_PBUF_RING, &buffers,
                1) != 0)
      fail_system("cannot give io_uring buffers; try fronthaul.io: socket");
    message_.msg_namelen = sizeof(sockaddr_in);
    message_.msg_controllen = kPadding;
    for (std::uint16_t place = 0; place < kReady; ++place) free_[place] = place;
  }

  // The request keeps the socket open; the kernel ends it only when its thread next looks.
  ~UringInlet() override {
    io_uring_sync_cancel_reg all{};
    all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
    all.timeout = {-1, -1};
    syscall(SYS_io_uring_register, ring_.file.number(), IORING_REGISTER_SYNC_CANCEL, &all, 1);
  }

  std::size_t take(std::span<Datagram> out) noexcept override {
    provide();
    const Tick before = now();
    const bool called = ask();
    const Tick spent = called ? now() - before : 0;
    const std::uint64_t ends_before = ends_;
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    unsigned head = *completion_head();
    const unsigned tail = shared(completion_tail()).load(std::memory_order_acquire);
    const std::size_t room = std::min(out.size(), kBatch);
    for (; head != tail && count < room; ++head) {
      if (!take(completion(head), out[count])) continue;
      bytes += out[count++].bytes;
    }
    shared(completion_head()).store(head, std::memory_order_release);
    // A request that ran out of buffers has left what came after.
    more_ = head != tail || ends_ != ends_before || has_news();
    if (called || count > 0) meter.count(spent, count, bytes);
    return count;
  }
  bool more() const noexcept override { return more_; }
  void wait(Tick at_most) noexcept override {
    const __kernel_timespec most{at_most / kSecond, at_most % kSecond};
    io_uring_getevents_arg argument{};
    argument.ts = reinterpret_cast<std::uint64_t>(&most);
    syscall(SYS_io_uring_enter, ring_.file.number(), 0, 1,
            IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
  }
  std::uint32_t waiting() const noexcept override { return ready_count_; }

 private:
  // Lets the kernel have buffers for what comes.
  void provide() noexcept {
    auto* const entries = ready_.at<io_uring_buf>();
    const std::uint16_t before = tail_;
    while (ready_count_ < kReady) {
      const std::uint32_t buffer = stock_.acquire();
      if (buffer == kNoBuffer) break;
      const std::uint16_t place = free_[--free_count_];
      buffers_[place] = buffer;
      io_uring_buf& entry = entries[tail_++ % kReady];
      entry.addr = reinterpret_cast<std::uint64_t>(stock_[buffer]);
      entry.len = stock_.buffer_bytes();
      entry.bid = place;
      ++ready_count_;
    }
    if (tail_ != before)  // the ring's tail lies in its first entry (io_uring_buf_ring)
      std::atomic_ref<std::uint16_t>(entries[0].resv).store(tail_, std::memory_order_release);
  }

  // Whether that took a system call.
  bool ask() noexcept {
    if (ready_count_ > 0 && (!armed_ || thread_ != this_thread())) {
      if (requested_ == 0) arm();
      const long went = enter(requested_);
      requested_ -= static_cast<unsigned>(std::max(went, 0L));
      armed_ = requested_ == 0;
      return true;
    }
    if (!has_news()) return false;
    enter(0);
    return true;
  }

  // What a request receives its own thread copies: it must be the one that takes.
  void arm() noexcept {
    io_uring_sqe wanted{};
    if (armed_) {
      wanted.opcode = IORING_OP_ASYNC_CANCEL;
      wanted.addr = generation_;
      request(wanted);
    }
    wanted = {};
    wanted.opcode = IORING_OP_RECVMSG;
    wanted.fd = socket.fd();
    wanted.addr = reinterpret_cast<std::uint64_t>(&message_);
    wanted.ioprio = IORING_RECV_MULTISHOT;
    wanted.flags = IOSQE_BUFFER_SELECT;
    wanted.user_data = ++generation_;
    request(wanted);
    thread_ = this_thread();
  }
  void request(const io_uring_sqe& wanted) noexcept {
    unsigned* const tail = rings_.at<unsigned>(ring_.parameters.sq_off.tail);
    const unsigned place = *tail % kRequests;
    requests_.at<io_uring_sqe>()[place] = wanted;
    rings_.at<unsigned>(ring_.parameters.sq_off.array)[place] = place;
    shared(tail).store(*tail + 1, std::memory_order_release);
    ++requested_;
  }
  static const void* this_thread() noexcept {
    static thread_local const char here = 0;
    return &here;
  }

  bool has_news() const noexcept {
    const unsigned flags =
        shared(rings_.at<unsigned>(ring_.parameters.sq_off.flags)).load(std::memory_order_relaxed);
    return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }

  long enter(unsigned requests) noexcept {
    return syscall(SYS_io_uring_enter, ring_.file.number(), requests, 0, IORING_ENTER_GETEVENTS,
                   nullptr, 0);
  }

  // Whether a datagram came of it.
  bool take(const io_uring_cqe& done, Datagram& out) noexcept {
    if ((done.flags & IORING_CQE_F_MORE) == 0 && done.user_data == generation_) {
      armed_ = false;
      ++ends_;
    }
    if ((done.flags & IORING_CQE_F_BUFFER) == 0) return false;
    const auto place = static_cast<std::uint16_t>(done.flags >> IORING_CQE_BUFFER_SHIFT);
    free_[free_count_++] = place;
    --ready_count_;
    const std::uint32_t buffer = buffers_[place];
    if (done.res < 0) {
      stock_.release({&buffer, 1});
      return false;
    }
    const std::byte* const at = stock_[buffer];
    io_uring_recvmsg_out head;
    std::memcpy(&head, at, sizeof head);
    out.buffer = buffer;
    out.bytes = head.payloadlen;
    std::memcpy(&out.sender, at + sizeof head, sizeof out.sender);
    return true;
  }

  unsigned* completion_head() const { return rings_.at<unsigned>(ring_.parameters.cq_off.head); }
  unsigned* completion_tail() const { return rings_.at<unsigned>(ring_.parameters.cq_off.tail); }
  const io_uring_cqe& completion(unsigned at) const {
    return rings_.at<io_uring_cqe>(
        ring_.parameters.cq_off.cqes)[at & (ring_.parameters.cq_entries - 1)];
  }

  BufferStock& stock_;
  Uring ring_;
  Shared rings_, requests_;  // both queues lie in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4)
  Shared ready_;             // buffers for the kernel, which names them by their places
  std::array<std::uint32_t, kReady> buffers_{};  // by place
  std::array<std::uint16_t, kReady> free_{};     // places
  unsigned free_count_ = kReady, ready_count_ = 0;
  std::uint16_t tail_ = 0;
  msghdr message_{};
  const void* thread_ = nullptr;  // whose the request is
  std::uint64_t generation_ = 0;  // of requests
  std::uint64_t ends_ = 0;        // of requests, for want of buffers mostly
  unsigned requested_ = 0;        // that the kernel has not taken yet
  bool armed_ = false, more_ = false;
};

}  // namespace

std::unique_ptr<Inlet> make_uring_inlet(Socket&& socket, BufferStock& stock) {
  return std::make_unique<UringInlet>(std::move(socket), stock);
}

}  // namespace carillon::fronthaul

#else

namespace carillon::fronthaul {

std::unique_ptr<Inlet> make_uring_inlet(Socket&&, BufferStock&) {
  fail_link(
      "this Carillon was built with kernel headers older than Linux 6.0, without io_uring: build "
      "it with newer ones, or use fronthaul.io: socket");
}

}  // namespace carillon::fronthaul

#endif
