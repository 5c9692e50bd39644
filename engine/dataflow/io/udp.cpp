#include "dataflow/io/udp.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace carillon::dataflow {
namespace {

constexpr std::uint64_t kFarBack = 1000, kFarAhead = 1'000'000'000;
constexpr std::size_t kNumberBytes = 8, kMostBytes = 1 << 16;
constexpr int kQueueBytes = 8 << 20;
constexpr int kAtOnce = 64;  // datagrams between looks at whether to end

std::string name_of(const UdpPlan& plan) {
  return "udp " + plan.address + " port " + std::to_string(plan.port);
}

// A UDP socket, or none.
class Socket {
 public:
  using Join = int (*)(int, const sockaddr*, socklen_t);

  explicit Socket(const UdpPlan& plan) : plan_(plan) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int number() const { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  /// `join`: ::bind or ::connect.
  void open(Join join) {
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_DGRAM;
    const std::string port = std::to_string(plan_.port);
    if (const int error = getaddrinfo(plan_.address.c_str(), port.c_str(), &wanted, &found))
      throw std::runtime_error(name_of(plan_) + ": " + gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> freed(found, &freeaddrinfo);
    number_ = socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (number_ < 0 || join(number_, found->ai_addr, found->ai_addrlen) != 0)
      fail_by_system(name_of(plan_), errno);
  }
  void set(int option, int value) const noexcept {
    setsockopt(number_, SOL_SOCKET, option, &value, sizeof value);
  }

 private:
  UdpPlan plan_;
  int number_ = -1;
};

class UdpReader final : public Reader {
 public:
  explicit UdpReader(const UdpPlan& plan) : plan_(plan), socket_(plan) {}

  void open() override {
    socket_.open(&::bind);
    socket_.set(SO_RCVBUF, kQueueBytes);  // or the most that the system allows
    socket_.set(SO_RXQ_OVFL, 1);
    bytes_.resize(kMostBytes);
  }
  void close() noexcept override { socket_.close(); }
  bool is_live() const noexcept override { return true; }

  bool read(Feed& feed, const Stop& stop) override {
    if (!stop.wait_for(socket_.number(), POLLIN)) return true;
    for (int i = 0; i < kAtOnce; ++i) {
      const ssize_t got = receive();
      if (got < 0 && errno == EAGAIN) return true;
      if (got < 0 && errno != EINTR && errno != ECONNREFUSED) fail_by_system(name_of(plan_), errno);
      if (got == 0) return false;
      if (got > 0) take(feed, std::span(bytes_).first(static_cast<std::size_t>(got)));
    }
    return true;
  }

  std::vector<Figure> figures() const override {
    return {{"datagrams", "", datagrams_.value()},
            {"lost datagrams", "", missing_.value()},
            {"late datagrams", "", late_.value()},
            {"uneven datagrams", "", uneven_.value()}};
  }

 private:
  // Also learns how many found no room in the socket's queue, of those before this one.
  ssize_t receive() {
    iovec piece{bytes_.data(), bytes_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> told;
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = told.data();
    message.msg_controllen = told.size();
    const ssize_t got = recvmsg(socket_.number(), &message, 0);
    const cmsghdr* const extra = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
    if (extra != nullptr && extra->cmsg_level == SOL_SOCKET && extra->cmsg_type == SO_RXQ_OVFL)
      std::memcpy(&overruns_, CMSG_DATA(extra), sizeof overruns_);
    return got;
  }

  void take(Feed& feed, std::span<const std::byte> datagram) {
    datagrams_.add(1);
    const std::size_t before = plan_.is_numbered ? kNumberBytes : 0;
    const std::size_t item = plan_.format.item_bytes();
    if (datagram.size() < before || (datagram.size() - before) % item != 0) return uneven_.add(1);
    const std::size_t samples = (datagram.size() - before) / item;
    const std::optional<std::uint64_t> missing = missing_before(datagram);
    if (!missing) return late_.add(1);
    missing_.add(*missing);
    // Those that are missing were as long as this one.
    if (*missing > 0) feed.lost(*missing * samples);
    const std::size_t put = feed.put(plan_.format, datagram.data() + before, samples);
    if (put < samples) feed.lost(samples - put);
  }

  std::optional<std::uint64_t> missing_before(std::span<const std::byte> datagram) {
    if (plan_.is_numbered) {
      std::uint64_t number = 0;
      std::memcpy(&number, datagram.data(), sizeof number);
      return sequence_.follow(number);
    }
    const std::uint32_t missing = overruns_ - seen_overruns_;
    seen_overruns_ = overruns_;
    return missing;
  }

  UdpPlan plan_;
  Socket socket_;
  Sequence sequence_;
  std::uint32_t overruns_ = 0, seen_overruns_ = 0;
  std::vector<std::byte> bytes_;
  Count datagrams_, missing_, late_, uneven_;
};

class UdpWriter final : public Writer {
 public:
  explicit UdpWriter(const UdpPlan& plan)
      : plan_(plan), socket_(plan), begin_(plan.is_numbered ? kNumberBytes : 0) {}

  std::string name() const override { return name_of(plan_); }
  void open() override {
    socket_.open(&::connect);
    socket_.set(SO_SNDBUF, kQueueBytes);
    bytes_.resize(plan_.payload_bytes);
    end_ = begin_;
  }

  std::size_t write(const float* from, std::size_t samples, const Stop& stop) override {
    const std::size_t item = plan_.format.item_bytes();
    const std::size_t takes = std::min(samples, (bytes_.size() - end_) / item);
    clipped_.add(
        encode(plan_.format, from, bytes_.data() + end_, takes * floats_of(plan_.format.items)));
    end_ += takes * item;
    if (bytes_.size() - end_ < item) send(stop);
    return takes;
  }

  void close(const Stop& stop) override {
    if (end_ > begin_) send(stop);
    if (socket_.number() >= 0) ::send(socket_.number(), nullptr, 0, 0);
    socket_.close();
  }

  std::vector<Figure> figures() const override {
    return {{"datagrams", "", datagrams_.value()},
            {"refused datagrams", "", refused_.value()},
            {"unsent datagrams", "", unsent_.value()},
            {"clipped", "numbers", clipped_.value()}};
  }

 private:
  void send(const Stop& stop) {
    ++number_;
    if (plan_.is_numbered) std::memcpy(bytes_.data(), &number_, sizeof number_);
    (sent(stop) ? datagrams_ : unsent_).add(1);
    end_ = begin_;
  }

  // Waits for room in the socket's queue. That nobody was there for the one before is told of once.
  bool sent(const Stop& stop) {
    while (::send(socket_.number(), bytes_.data(), end_, 0) < 0) {
      const int error = errno;
      if (error == ECONNREFUSED)
        refused_.add(1);
      else if (error == ENOBUFS)
        stop.sleep(kNap_ms);
      else if (error != EAGAIN && error != EINTR)
        fail_by_system(name(), error);
      else if (!stop.wait_for(socket_.number(), POLLOUT))
        return false;
    }
    return true;
  }

  UdpPlan plan_;
  Socket socket_;
  std::size_t begin_, end_ = 0;
  std::uint64_t number_ = 0;
  std::vector<std::byte> bytes_;
  Count datagrams_, refused_, unsent_, clipped_;
};

}  // namespace

std::optional<std::uint64_t> Sequence::follow(std::uint64_t number) noexcept {
  const std::uint64_t expected = next_.value_or(number);
  if (number < expected && expected - number < kFarBack) return std::nullopt;
  next_ = number + 1;
  const std::uint64_t missing = number < expected ? 0 : number - expected;
  return missing < kFarAhead ? missing : 0;
}

std::unique_ptr<Reader> udp_reader(const UdpPlan& plan) {
  return std::make_unique<UdpReader>(plan);
}
std::unique_ptr<Writer> udp_writer(const UdpPlan& plan) {
  return std::make_unique<UdpWriter>(plan);
}

}  // namespace carillon::dataflow
