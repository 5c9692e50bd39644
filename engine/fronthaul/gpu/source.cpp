#include "fronthaul/gpu/source.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <stdexcept>
#include <system_error>

#include "fronthaul/gpu/check.hpp"

namespace carillon::fronthaul::gpu {
namespace {

constexpr int kSocketBytes = 1 << 20;
// Announcements are small, and what a socket holds of them the radio would hold: the least there
// is, which is room for six or so.
constexpr int kFewBytes = 1;

double seconds_of(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Moves all of two pieces through a call that may move less; false when the other end is gone.
template <typename Call>
bool move_all(int socket, iovec (&pieces)[2], int flags, Call&& call) noexcept {
  std::size_t at = 0;
  while (at < 2) {
    msghdr message{};
    message.msg_iov = pieces + at;
    message.msg_iovlen = 2 - at;
    const ssize_t moved = call(socket, &message, flags);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    auto left = static_cast<std::size_t>(moved);
    while (at < 2 && left >= pieces[at].iov_len) left -= pieces[at++].iov_len;
    if (at == 2) break;
    pieces[at].iov_base = static_cast<std::byte*>(pieces[at].iov_base) + left;
    pieces[at].iov_len -= left;
  }
  return true;
}

}  // namespace

double thread_cpu_seconds() noexcept { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

bool receive_block(int socket, BlockMeta* meta, std::byte* payload, std::size_t bytes) noexcept {
  iovec pieces[2] = {{meta, sizeof *meta}, {payload, bytes}};
  return move_all(socket, pieces, MSG_WAITALL, ::recvmsg);
}

Source::Source(const SourcePlan& plan) : plan_(plan) {
  if (plan.channels < 1 || plan.channels > kMostChannels)
    throw std::invalid_argument("channels must be 1 to 8");
  if (plan.samples == 0 || plan.samples % kSampleUnit != 0)
    throw std::invalid_argument("a block has a multiple of 16 samples");
  samples_ = AlignedArray<std::uint32_t>(plan.samples + kPatterns * kSampleUnit);
  std::minstd_rand random(plan.samples);  // known, and nobody's average is zero by chance
  for (std::uint32_t& word : samples_)
    word = static_cast<std::uint32_t>(random()) << 8 ^ static_cast<std::uint32_t>(random());
  for (std::uint32_t i = 0; i < kPatterns; ++i)
    sums_[i] = sums_of(samples_.span().subspan(i * kSampleUnit, plan.samples));
  for (std::uint32_t i = 0; i < plan.channels; ++i) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      const int error = errno;
      close();
      throw std::system_error(error, std::generic_category(), "a local socket");
    }
    const int bytes = plan.announce ? kFewBytes : kSocketBytes;
    (void)::setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    ends_.push_back({pair[0], pair[1]});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { send(stop); });
}

Source::~Source() {
  thread_.request_stop();
  for (const Ends& ends : ends_) (void)::shutdown(ends.sending, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  close();
}

void Source::close() noexcept {
  for (const Ends& ends : ends_) {
    ::close(ends.sending);
    ::close(ends.receiving);
  }
  ends_.clear();
}

void Source::send(const std::stop_token& stop) noexcept {
  const double start = seconds_of(CLOCK_MONOTONIC);
  for (std::uint64_t sequence = 0; !stop.stop_requested(); ++sequence) {
    if (plan_.msps > 0 && !wait_for(sequence, start, stop)) {
      dropped_.fetch_add(plan_.channels, std::memory_order_relaxed);
      continue;
    }
    if (!send_round(sequence)) return;
    cpu_seconds_.store(thread_cpu_seconds(), std::memory_order_relaxed);
  }
}

// Until the block's last sample would have been taken. False: that is so long ago that a radio
// would have had to write over it.
bool Source::wait_for(std::uint64_t sequence, double start, const std::stop_token& stop) noexcept {
  const double block = plan_.samples / (plan_.msps * 1e6);
  const double due = start + static_cast<double>(sequence + 1) * block;
  double now = seconds_of(CLOCK_MONOTONIC);
  while (now < due && !stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(due - now, 0.1)));
    now = seconds_of(CLOCK_MONOTONIC);
  }
  return now - due <= std::max(kHeldBlocks * block, kHeldSeconds);
}

bool Source::send_round(std::uint64_t sequence) noexcept {
  for (std::uint32_t channel = 0; channel < plan_.channels; ++channel) {
    BlockMeta meta;
    meta.sequence = sequence;
    meta.first_sample = sequence * plan_.samples;
    meta.channel = channel;
    meta.samples = plan_.samples;
    meta.gain = 1.0F / static_cast<float>(1 + sequence % 4);
    std::uint32_t* const from = &samples_[pattern(sequence, channel) * kSampleUnit];
    const std::size_t bytes = plan_.announce ? 0 : std::size_t{plan_.samples} * kSampleBytes;
    iovec pieces[2] = {{&meta, sizeof meta}, {from, bytes}};
    if (!move_all(ends_[channel].sending, pieces, MSG_NOSIGNAL, ::sendmsg)) return false;
  }
  return true;
}

}  // namespace carillon::fronthaul::gpu
