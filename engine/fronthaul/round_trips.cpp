#include "fronthaul/round_trips.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "base/thread.hpp"
#include "fronthaul/packet.hpp"

namespace carillon::fronthaul {
namespace {

constexpr std::size_t kBatch = 64;
constexpr Tick kNap = 20 * kMillisecond;  // after which a sleeping echo sees that it is to stop
constexpr std::uint32_t kSampleBytes = 4;

}  // namespace

std::uint32_t RoundTripPlan::packet_bytes() const {
  return kHeaderBytes + kSampleBytes * std::min(samples, packet_samples);
}

RoundTrips::RoundTrips(Transport& transport, const RoundTripPlan& plan)
    : transport_(transport), plan_(plan) {
  if (!(plan.per_s > 0) || plan.samples == 0 || plan.packet_samples == 0 ||
      plan.packets() > kBatch || plan.exchanges == 0 || plan.exchanges > 0xffff'ffff)
    throw std::runtime_error(
        "round trips need a rate and samples, 64 packets at most for an exchange, and 1 to 2^32 - "
        "1 exchanges");
  samples_.resize(2 * std::size_t{plan.samples});
  for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i] = static_cast<std::int16_t>(i * 7);
  outgoing_.reserve(kBatch);
  sent_at_.resize(plan.exchanges);
  trips_.assign(plan.exchanges, kNotBack);
  pieces_.resize(plan.exchanges);
}

RoundTrips::~RoundTrips() {
  for (const Outgoing& packet : outgoing_) transport_.abandon({&packet.buffer, 1});
}

std::uint32_t RoundTrips::piece_samples(std::uint32_t piece) const {
  return std::min(plan_.packet_samples, plan_.samples - piece * plan_.packet_samples);
}

void RoundTrips::run() noexcept {
  const double period = 1e9 / plan_.per_s;
  const auto due_at = [&](std::uint64_t exchange) {
    return begin_ + static_cast<Tick>(static_cast<double>(exchange) * period);
  };
  begin_ = now();
  Tick last = begin_;
  while (!stop_.load(std::memory_order_relaxed)) {
    const Tick at = now();
    const std::uint64_t next = sent();
    if (next < plan_.exchanges && at >= due_at(next)) {
      const auto due = static_cast<std::uint64_t>(static_cast<double>(at - begin_) / period) + 1;
      prepare(std::min({due, plan_.exchanges, next + kBatch / plan_.packets()}) - next);
      if (send(at)) {
        last = at;
        behind_ = at - due_at(sent() - 1);
        most_behind_ = std::max(most_behind_, at - due_at(next));
      }
    }
    const std::size_t came = receive();
    if (sent() == plan_.exchanges && (returned_ == sent() || now() - last > plan_.patience)) break;
    if (came == 0) spin_pause();
  }
  took_ = last - begin_;
}

// Makes the packets of the next exchanges, unless there are some that have not gone.
void RoundTrips::prepare(std::uint64_t count) noexcept {
  if (!outgoing_.empty()) return;
  const auto next = static_cast<std::uint32_t>(sent());
  for (std::uint32_t exchange = 0; exchange < count; ++exchange)
    for (std::uint32_t piece = 0; piece < plan_.packets(); ++piece) {
      const std::uint32_t buffer = transport_.acquire();
      if (buffer == kNoBuffer) {  // whole exchanges only
        const std::size_t whole = outgoing_.size() - piece;
        for (std::size_t i = whole; i < outgoing_.size(); ++i)
          transport_.abandon({&outgoing_[i].buffer, 1});
        outgoing_.resize(whole);
        return;
      }
      const std::uint32_t bytes = kSampleBytes * piece_samples(piece);
      std::memcpy(transport_.samples(buffer),
                  samples_.data() + 2 * std::size_t{piece} * plan_.packet_samples, bytes);
      outgoing_.push_back({{next + exchange, 0, 0, piece}, kHeaderBytes + bytes, buffer, 0, false});
    }
}

// True when all that were made have gone.
bool RoundTrips::send(Tick now) noexcept {
  if (outgoing_.empty()) return false;
  for (std::size_t i = went_; i < outgoing_.size(); ++i)
    if (outgoing_[i].ids.antenna == 0) sent_at_[outgoing_[i].ids.frame] = now;
  went_ += transport_.send(std::span(outgoing_).subspan(went_));
  if (went_ < outgoing_.size()) return false;
  for (const Outgoing& packet : outgoing_) transport_.abandon({&packet.buffer, 1});
  sent_.store(sent() + outgoing_.size() / plan_.packets(), std::memory_order_relaxed);
  outgoing_.clear();
  went_ = 0;
  return true;
}

std::size_t RoundTrips::receive() noexcept {
  std::array<Received, kBatch> batch;
  const std::size_t count = transport_.receive(0, batch);
  const Tick at = count > 0 ? now() : 0;
  for (const Received& packet : std::span(batch).first(count)) {
    const std::uint64_t exchange = packet.ids.frame;
    const std::uint32_t piece = packet.ids.antenna;
    const bool ours =
        exchange < plan_.exchanges && piece < plan_.packets() &&
        packet.bytes == kHeaderBytes + kSampleBytes * piece_samples(piece) &&
        std::memcmp(packet.samples, samples_.data() + 2 * std::size_t{piece} * plan_.packet_samples,
                    kSampleBytes * std::size_t{piece_samples(piece)}) == 0;
    if (!ours) {
      ++damaged_;
    } else if (++pieces_[exchange] == plan_.packets()) {
      trips_[exchange] = at - sent_at_[exchange];
      ++returned_;
    }
    transport_.recycle({&packet.buffer, 1});
  }
  return count;
}

Echo::Echo(UdpTransport& transport, const Options& options)
    : transport_(transport), options_(options) {
  came_.resize(transport.buffers() + kBatch);
  thread_ = std::thread([this] { run(); });
}

void Echo::stop() noexcept {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void Echo::run() noexcept {
  name_thread("echo");
  if (options_.core >= 0) pin_thread(static_cast<std::uint32_t>(options_.core));
  const Tick begin = now(), cpu_begin = own_cpu_time();
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::size_t room = std::min(kBatch, came_.size() - count_);
    const std::size_t more = transport_.receive(0, {came_.data() + count_, room});
    if (count_ == 0 && more > 0) first_ = now();
    count_ += more;
    if (count_ > 0 && (options_.held == 0 || now() - first_ >= options_.held)) {
      send_back();
    } else if (more == 0 && count_ == 0 && options_.sleeping && !transport_.pending(0)) {
      transport_.wait(0, kNap);
    } else if (more == 0) {
      spin_pause();
    }
  }
  for (const Received& packet : std::span(came_).first(count_))
    transport_.recycle({&packet.buffer, 1});
  cpu_time_ = own_cpu_time() - cpu_begin;
  elapsed_ = now() - begin;
}

// What is left when it is to stop is not sent.
void Echo::send_back() noexcept {
  std::size_t done = 0;
  while (done < count_ && !stop_.load(std::memory_order_relaxed))
    done += send_batch(std::span(came_).subspan(done, std::min(kBatch, count_ - done)));
  packets_ += done;
  ++bursts_;
  for (const Received& packet : std::span(came_).first(count_))
    transport_.recycle({&packet.buffer, 1});
  count_ = 0;
}

std::size_t Echo::send_batch(std::span<const Received> came) noexcept {
  std::array<Outgoing, kBatch> packets;
  std::size_t made = 0, went = 0;
  for (const Received& packet : came) {
    const std::uint32_t buffer = transport_.acquire();
    if (buffer == kNoBuffer) break;
    const std::uint32_t bytes = std::max(packet.bytes, kHeaderBytes);
    std::memcpy(transport_.samples(buffer), packet.samples, bytes - kHeaderBytes);
    packets[made++] = {packet.ids, bytes, buffer, 0, false};
  }
  while (went < made && !stop_.load(std::memory_order_relaxed))
    went += transport_.send(std::span(packets).subspan(went, made - went));
  for (const Outgoing& packet : std::span(packets).first(made))
    transport_.abandon({&packet.buffer, 1});
  return went;
}

}  // namespace carillon::fronthaul
