#include "port/socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "port/options.hpp"

namespace carillon::port {
namespace {

// The cell's threads make no system call, so that nothing wakes this one: it looks.
constexpr timespec kLook{0, 500'000};
constexpr timespec kIdle{0, 20'000'000};
constexpr int kMostHeard = 64;  // messages in a row
constexpr int kPatienceMs = 100, kNoRoomMs = 100;
// That the kernel keeps for a client that is busy for a moment.
constexpr int kKept = 1 << 20;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(address.sun_path) == kLongestPath + 1);
  if (path.empty() || path.size() > kLongestPath)
    throw std::runtime_error(path + ": is no name for a socket: choose one of at most " +
                             std::to_string(kLongestPath) + " bytes");
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

const sockaddr* as_address(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// One that was left by a process that was killed.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode))
    throw std::runtime_error(path + ": is no socket, and is left as it is: choose another name");
  const Descriptor probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int result = ::connect(probe.number(), as_address(address), sizeof(address));
  if (result == 0 || errno == EAGAIN || errno == EACCES || errno == EPROTOTYPE)
    throw std::runtime_error(path + ": another process listens there: choose another name");
  ::unlink(path.c_str());
}

// Device and number of what has this name.
std::pair<dev_t, ino_t> identity_of(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

Descriptor listen_at(const std::string& path) {
  const sockaddr_un address = address_of(path);
  remove_stale(path, address);
  Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) dataflow::fail_by_system("a Unix socket", errno);
  // The mode takes effect with the name, so that nobody is quicker.
  if (::fchmod(listener.number(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(listener.number(), as_address(address), sizeof(address)) != 0 ||
      ::listen(listener.number(), 4) != 0)
    dataflow::fail_by_system(path, errno);
  return listener;
}

}  // namespace

SocketPort::SocketPort(const std::string& path, const frame::Frame& frame, Exchange& exchange)
    : path_(path),
      frame_(frame),
      exchange_(exchange),
      rows_(rows_of(frame)),
      listener_(listen_at(path)),
      identity_(identity_of(path)),
      received_(sizeof(Message) + kPiece + 1),
      sent_(sizeof(Message) + kPiece) {
  thread_.start("data port", [this](const dataflow::Stop& stop) { serve(stop); });
}

SocketPort::~SocketPort() { finish(); }

void SocketPort::finish() {
  thread_.stop(kPatienceMs);
  if (!listener_.is_open()) return;
  while (speak()) {
  }
  part();
  while (exchange_.front() != nullptr) {
    exchange_.pop();
    unheard_.fetch_add(1, std::memory_order_relaxed);
  }
  exchange_.close();
  listener_ = Descriptor();
  if (identity_of(path_) == identity_) ::unlink(path_.c_str());
}

SocketCounters SocketPort::counters() const noexcept {
  SocketCounters counters{.clients = clients_.load(std::memory_order_relaxed),
                          .sent = blocks_sent_.load(std::memory_order_relaxed),
                          .unheard = unheard_.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < refused_.size(); ++i)
    counters.refused[i] = refused_[i].load(std::memory_order_relaxed);
  return counters;
}

void SocketPort::serve(const dataflow::Stop& stop) {
  while (!stop.is_asked()) {
    wait(stop);
    if (!welcome()) stop.sleep(kNoRoomMs);
    full_ = false;
    while (speak()) {
    }
    if (client_.is_open()) hear();
  }
}

// Until a client wants something, or there may be something for it.
void SocketPort::wait(const dataflow::Stop& stop) {
  const auto wanted = static_cast<short>(full_ ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 3> files{pollfd{stop.file(), POLLIN, 0}, pollfd{listener_.number(), POLLIN, 0},
                              pollfd{client_.number(), wanted, 0}};
  // A client that takes nothing is not asked all the time.
  const timespec* const longest = client_.is_open() && !full_ ? &kLook : &kIdle;
  ::ppoll(files.data(), client_.is_open() ? 3 : 2, longest, nullptr);
}

// Of several clients the first is served. False: there is no room for another file.
bool SocketPort::welcome() {
  Descriptor caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller.is_open()) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  if (client_.is_open()) {
    Message busy{.type = MessageType::Refused,
                 .verdict = static_cast<std::uint8_t>(Refusal::Busy),
                 .cell = static_cast<std::uint16_t>(frame_.format().cell_id)};
    refused_[static_cast<std::size_t>(Refusal::Busy)].fetch_add(1, std::memory_order_relaxed);
    (void)::send(caller.number(), &busy, sizeof(busy), MSG_NOSIGNAL);
    return true;
  }
  client_ = std::move(caller);
  ::setsockopt(client_.number(), SOL_SOCKET, SO_SNDBUF, &kKept, sizeof(kKept));
  clients_.fetch_add(1, std::memory_order_relaxed);
  greet();
  return true;
}

void SocketPort::greet() {
  carrier_ = {
      {.type = MessageType::Carrier,
       .verdict = static_cast<std::uint8_t>(exchange_.sends()),
       .cell = static_cast<std::uint16_t>(frame_.format().cell_id),
       .frame = Exchange::kAhead,
       .block = static_cast<std::uint32_t>(rows_.size()),
       .user = static_cast<std::uint16_t>(frame::slots_of(frame_.format())),
       .slot =
           static_cast<std::uint16_t>(frame_.scheduled_by_port() ? 0 : frame_.programs().size()),
       .time = frame_.duration()},
      {reinterpret_cast<const std::uint8_t*>(rows_.data()), rows_.size() * sizeof(BlockRow)},
      false};
  // It is told of frames that begin from now on, and has whole blocks only.
  (void)exchange_.newest();
  begun_.reset();
  while (exchange_.front() != nullptr) {
    exchange_.pop();
    unheard_.fetch_add(1, std::memory_order_relaxed);
  }
  block_ = {};
}

void SocketPort::hear() {
  // Until the answer to Work is whole, no more is heard.
  for (int i = 0; i < kMostHeard && client_.is_open() && work_.done; ++i) {
    const ssize_t length = ::recv(client_.number(), received_.data(), received_.size(), 0);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (length <= 0) return part();  // it has gone
    answer({received_.data(), static_cast<std::size_t>(length)});
  }
}

void SocketPort::answer(std::span<const std::uint8_t> datagram) {
  const Parsed parsed = parse(datagram, frame_.format().cell_id);
  const auto take = [&] {
    return parsed.message.type == MessageType::Work ? schedule(parsed.message, parsed.piece)
                                                    : exchange_.offer(parsed.message, parsed.piece);
  };
  const Refusal why = parsed.why != Refusal::None ? parsed.why : take();
  if (why != Refusal::None) refuse(parsed.message, why);
}

Refusal SocketPort::schedule(const Message& message, std::span<const std::uint8_t> rows) {
  if (rows.size() != std::size_t{message.block} * sizeof(GrantRow)) return Refusal::Format;
  std::vector<Problem> problems;
  const auto grants = list_of(rows);
  const Refusal why = exchange_.schedule(message.frame, grants, problems);
  if (why != Refusal::None) return why;
  for (const Problem& problem : problems) {
    Message refused = message;
    refused.block = static_cast<std::uint32_t>(frame::grant_of(problem));
    const std::uint32_t* const grant = &grants[refused.block * frame::kGrantNumbers];
    refused.user = static_cast<std::uint16_t>(grant[0]);
    refused.slot = static_cast<std::uint16_t>(grant[1]);
    refuse(refused, Refusal::Grant, frame::reason_of(problem));
  }
  answer_work(message.frame);
  return Refusal::None;
}

// The blocks that the frame has now.
void SocketPort::answer_work(std::uint32_t frame) {
  work_rows_ = rows_of(frame_, exchange_.program(frame));
  work_ = {{.type = MessageType::Work,
            .cell = static_cast<std::uint16_t>(frame_.format().cell_id),
            .frame = frame,
            .block = static_cast<std::uint32_t>(work_rows_.size())},
           {reinterpret_cast<const std::uint8_t*>(work_rows_.data()),
            work_rows_.size() * sizeof(BlockRow)},
           false};
  while (client_.is_open() && !work_.done && send_piece(work_)) {
  }
}

// A client that does not listen is not told.
void SocketPort::refuse(Message message, Refusal why, std::string_view because) {
  refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  message.magic = Message::kMagic;
  message.type = MessageType::Refused;
  message.verdict = static_cast<std::uint8_t>(why);
  const std::size_t length = std::min(because.size(), kPiece);
  std::memcpy(sent_.data(), &message, sizeof(message));
  if (length > 0) std::memcpy(sent_.data() + sizeof(message), because.data(), length);
  (void)::send(client_.number(), sent_.data(), sizeof(message) + length, MSG_NOSIGNAL);
}

// Says one thing; false: there is nothing to say, or the client does not take it.
bool SocketPort::speak() {
  if (!client_.is_open()) {
    if (exchange_.front() == nullptr) return false;
    exchange_.pop();
    unheard_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (!carrier_.done) return send_piece(carrier_);
  if (!work_.done) return send_piece(work_);
  if (block_.done) {
    if (const auto newest = exchange_.newest()) begun_ = newest;
    if (begun_) return tell_frame();
    if (exchange_.front() == nullptr) return false;
  }
  if (block_.done) block_ = {*exchange_.front(), exchange_.bits(), false};
  if (!send_piece(block_)) return false;
  if (!block_.done) return true;
  exchange_.pop();
  blocks_sent_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Before the blocks that wait: who comes behind with these is to know all the same.
bool SocketPort::tell_frame() {
  Outgoing frame{{.type = MessageType::Frame,
                  .cell = static_cast<std::uint16_t>(frame_.format().cell_id),
                  .frame = begun_->frame,
                  .time = begun_->air_start},
                 {},
                 false};
  if (!send_piece(frame)) return false;
  begun_.reset();
  return true;
}

bool SocketPort::send_piece(Outgoing& outgoing) {
  Message& message = outgoing.message;
  const auto piece = outgoing.bytes.subspan(message.offset);
  const std::size_t length = std::min(piece.size(), kPiece);
  std::memcpy(sent_.data(), &message, sizeof(message));
  if (length > 0) std::memcpy(sent_.data() + sizeof(message), piece.data(), length);
  if (::send(client_.number(), sent_.data(), sizeof(message) + length, MSG_NOSIGNAL) < 0) {
    if (errno == EAGAIN || errno == EINTR)
      full_ = true;
    else
      part();
    return false;
  }
  message.offset += static_cast<std::uint32_t>(length);
  outgoing.done = message.offset == outgoing.bytes.size();
  return true;
}

void SocketPort::part() noexcept {
  client_ = Descriptor();
  carrier_ = block_ = work_ = {};
  begun_.reset();
  full_ = false;
}

}  // namespace carillon::port
