#include "fronthaul/gpu/packets.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/aligned.hpp"
#include "fronthaul/gpu/loopback.hpp"
#include "fronthaul/gpu/packet_queue.hpp"
#include "fronthaul/network_meter.hpp"

namespace carillon::fronthaul::gpu {
namespace {

constexpr std::size_t kBatch = PacketQueue::kBatch;
constexpr std::uint32_t kFlushes = 8;    // in flight
constexpr Tick kPatience = 2 * kSecond;  // for a flush: longer than the card's own retries take

// What a receiver has of the card.
struct Line {
  Line(OpenCard& card, const Places& places, std::uint32_t requests)
      : queue(card, places, requests), flushes(card, kFlushes) {}
  PacketQueue queue;
  Loopback flushes;
};

// A receiver: its line, the places that it has lent to the card, and what has come but may still be
// on its way over the bus.
struct alignas(kCacheLine) Inlet {
  Inlet(const Destination& to, std::uint32_t places)
      : destination(to), lent(places), came(places) {}

  const Destination destination;
  std::optional<Line> line;         // none: the system receives
  std::vector<std::uint32_t> lent;  // ring
  std::uint64_t lent_begin = 0, lent_end = 0;
  std::vector<Received> came;  // ring: up to `flushed` it has arrived
  std::uint64_t handed = 0, flushed = 0, came_end = 0;
  std::array<std::uint64_t, kFlushes> flush_ends{};  // ring: what each flush in flight covers
  std::uint64_t flushes_posted = 0, flushes_done = 0;
  bool dry = false;      // the card had no place when it was last looked
  Tick flush_since = 0;  // when the oldest one in flight became that
  CardCounts counts;
  NetworkMeter meter;

  std::uint64_t lent_now() const { return lent_end - lent_begin; }
};

class PacketReceiver final : public CardTransport {
 public:
  PacketReceiver(const PacketPlan& plan, SampleRoom room)
      : plan_(plan),
        room_(std::move(room)),
        headers_(std::size_t{plan.places} * Places::kHeaderRoom),
        free_memory_(BufferStock::bytes(plan.places, 0)),
        free_(free_memory_.data(), plan.places, 0, true),
        card_(plan.card, plan.port) {
    places_ = {headers_.data(), room_.memory, plan.sample_bytes, plan.places, 0, 0};
  }

  // What a device that failed still uses is never freed: to do so might wait for it for ever.
  ~PacketReceiver() override {
    for (auto& inlet : inlets_) close(*inlet);
    static auto& left = *new std::vector<std::shared_ptr<void>>;
    if (device_failed_.load()) left.push_back(room_.owner);
  }

  std::string prepare(std::size_t receivers) {
    if (!card_.why().empty()) return card_.why();
    std::string why;
    header_region_ =
        card_.give("host memory", headers_.data(), headers_.size(), verbs::kLocalWrite, -1, why);
    if (header_region_ == nullptr) return why;
    sample_region_ =
        card_.give("the memory where samples go", room_.memory, room_.bytes,
                   verbs::kLocalWrite | verbs::kRemoteRead, room_.dma_buf.number(), why);
    room_.dma_buf = {};  // what is registered needs it no more
    if (sample_region_ == nullptr) return why;
    places_.headers_key = header_region_->local_key;
    places_.samples_key = sample_region_->local_key;
    for (std::size_t r = 0; r < receivers; ++r) {
      inlets_.push_back(std::make_unique<Inlet>(plan_.destinations[r], plan_.places));
      why = open(*inlets_.back(), static_cast<std::uint32_t>(plan_.places / receivers));
      if (!why.empty()) return why;
    }
    for (std::size_t r = 0; r < receivers; ++r) {
      PacketQueue& queue = inlets_[r]->line->queue;
      verifies_ = queue.looks_at_checksums();
      if (why = queue.steer(inlets_[r]->destination); !why.empty()) return why;
    }
    return {};
  }
  void take(std::unique_ptr<Transport> socket) {
    socket_ = std::move(socket);
    first_place_ = socket_->buffers();
  }

  std::uint32_t receivers() const override { return socket_->receivers(); }
  std::uint32_t peer_receivers() const override { return socket_->peer_receivers(); }

  // The card's first; then what it has not taken.
  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    Inlet& inlet = *inlets_[receiver];
    if (inlet.line && !on_.load(std::memory_order_relaxed)) close(inlet);
    if (inlet.line) {
      const Tick before = now();
      const std::size_t count = receive(inlet, out, before);
      std::uint64_t bytes = 0;
      for (const Received& packet : out.first(count)) bytes += packet.bytes;
      inlet.meter.count(now() - before, count, bytes);
      if (count != 0) return count;
    }
    return socket_->receive(receiver, out);
  }

  bool pending(std::uint32_t receiver) const noexcept override {
    const Inlet& inlet = *inlets_[receiver];
    return inlet.line && inlet.handed != inlet.came_end;
  }

  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    std::array<std::uint32_t, 64> theirs, ours;
    for (std::size_t at = 0; at < buffers.size(); at += ours.size()) {
      std::size_t their_count = 0, our_count = 0;
      for (const auto buffer : buffers.subspan(at, std::min(ours.size(), buffers.size() - at)))
        if (buffer < first_place_)
          theirs[their_count++] = buffer;
        else
          ours[our_count++] = buffer - first_place_;
      socket_->recycle({theirs.data(), their_count});
      free_.release({ours.data(), our_count});
    }
  }

  ReceivedMemory received_memory() noexcept override {
    return {socket_->received_memory().host, {room_.memory, room_.bytes}};
  }
  void receive_in_host() noexcept override {
    device_failed_.store(true, std::memory_order_relaxed);
    on_.store(false, std::memory_order_relaxed);
  }

  std::uint32_t acquire() noexcept override { return socket_->acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    socket_->abandon(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return socket_->memory(buffer); }
  std::size_t send(std::span<Outgoing> packets) noexcept override { return socket_->send(packets); }

  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    NetworkTime sum = socket_->receive_time(receiver);
    const NetworkTime ours = inlets_[receiver]->meter.read();
    sum.busy += ours.busy;
    sum.empty += ours.empty;
    sum.calls += ours.calls;
    sum.packets += ours.packets;
    sum.bytes += ours.bytes;
    return sum;
  }
  NetworkTime send_time() const noexcept override { return socket_->send_time(); }
  std::uint64_t foreign() const noexcept override { return socket_->foreign(); }
  std::uint32_t available() const noexcept override {
    std::uint64_t lent = 0;
    for (const auto& inlet : inlets_) lent += inlet->lent_now();
    return socket_->available() + free_.available() + static_cast<std::uint32_t>(lent);
  }
  std::uint32_t buffers() const noexcept override { return first_place_ + plan_.places; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = socket_->notes();
    notes.push_back(card_.name() +
                    " receives samples into GPU memory, which the cores do not read"
                    ": what GPUs refuse or hand back is lost");
    if (!verifies_)
      notes.push_back(card_.name() +
                      " verifies no checksums: samples that were damaged on the way "
                      "are believed");
    return notes;
  }
  std::vector<std::string> findings() const override {
    std::vector<std::string> found = socket_->findings();
    if (!trouble_.empty())
      found.push_back(trouble_ + "; from then on packets were received in host memory");
    const CardCounts sum = counts();
    std::uint64_t misfits = 0;
    for (const auto count : sum.misfits) misfits += count;
    if (misfits + sum.damaged > 0)
      found.push_back("of " + std::to_string(sum.received) + " datagrams from " + card_.name() +
                      ", " + std::to_string(misfits) + " had other headers than expected (" +
                      std::to_string(sum[Misfit::NotIpv4]) + " with a VLAN tag or the like, " +
                      std::to_string(sum[Misfit::Fragment]) + " fragments), " +
                      std::to_string(sum.damaged) + " a wrong checksum");
    if (sum.dry > 0)
      found.push_back(card_.name() + " had been lent no place to receive into " +
                      std::to_string(sum.dry) + " times, and may have dropped packets");
    return found;
  }

  CardCounts counts() const override {
    CardCounts sum;
    for (const auto& inlet : inlets_) {
      sum.received += inlet->counts.received;
      sum.damaged += inlet->counts.damaged;
      sum.dry += inlet->counts.dry;
      for (std::size_t i = 0; i < kMisfits; ++i) sum.misfits[i] += inlet->counts.misfits[i];
    }
    return sum;
  }

 private:
  std::string open(Inlet& inlet, std::uint32_t requests) {
    inlet.line.emplace(card_, places_, requests);
    Line& line = *inlet.line;
    if (!line.queue.why().empty()) return line.queue.why();
    if (!line.flushes.why().empty()) return line.flushes.why();
    line.flushes.land_in(*sample_region_);
    std::uint64_t before;
    do {
      before = inlet.lent_end;
      if (std::string why = lend(inlet); !why.empty()) return why;
    } while (inlet.lent_end != before);
    return {};
  }

  // By its own thread, or when there is none. Then the system receives for this port, and what was
  // lent to the card is not needed any more.
  void close(Inlet& inlet) noexcept {
    inlet.line.reset();
    for (; inlet.handed != inlet.came_end; ++inlet.handed)
      recycle({&inlet.came[inlet.handed % inlet.came.size()].buffer, 1});
  }

  std::size_t receive(Inlet& inlet, std::span<Received> out, Tick instant) noexcept {
    std::string why = settle(inlet, instant);
    if (why.empty()) why = collect(inlet, instant);
    if (why.empty()) why = lend(inlet);
    if (!why.empty()) {
      fail(std::move(why));
      return 0;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), inlet.flushed - inlet.handed));
    for (std::size_t i = 0; i < count; ++i) out[i] = inlet.came[inlet.handed++ % inlet.came.size()];
    return count;
  }

  // Flushes that are over.
  std::string settle(Inlet& inlet, Tick instant) noexcept {
    if (inlet.flushes_posted == inlet.flushes_done) return {};
    std::uint32_t done = 0;
    if (std::string why = inlet.line->flushes.arrived(done); !why.empty()) return why;
    if (done == 0 && instant - inlet.flush_since > kPatience)
      return card_.name() + " does not read what it has written";
    if (done == 0) return {};
    inlet.flushes_done += done;
    inlet.flushed = inlet.flush_ends[(inlet.flushes_done - 1) % kFlushes];
    inlet.flush_since = instant;
    return {};
  }

  // What the card has written since, to be flushed together.
  std::string collect(Inlet& inlet, Tick instant) noexcept {
    Line& line = *inlet.line;
    if (inlet.flushes_posted - inlet.flushes_done == std::min(kFlushes, line.flushes.depth()))
      return {};
    const bool dry = inlet.lent_now() == 0;
    if (!std::exchange(inlet.dry, dry) && dry) ++inlet.counts.dry;
    std::array<verbs::Completion, kBatch> found;
    std::size_t count = 0;
    if (std::string why = line.queue.poll(found, count); !why.empty() || count == 0) return why;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t place = inlet.lent[inlet.lent_begin++ % inlet.lent.size()];
      if (found[i].id != place) return card_.name() + " receives out of turn";
      inlet.came[inlet.came_end++ % inlet.came.size()] = look_at(inlet, place, found[i]);
    }
    if (inlet.flushes_posted == inlet.flushes_done) inlet.flush_since = instant;
    inlet.flush_ends[inlet.flushes_posted % kFlushes] = inlet.came_end;
    const Received& last = inlet.came[(inlet.came_end - 1) % inlet.came.size()];
    return line.flushes.flush(inlet.flushes_posted++, end_of(last));
  }

  // The last of it that was written, whole.
  static const std::byte* end_of(const Received& packet) noexcept {
    const std::size_t bytes = packet.bytes > kHeaderBytes ? packet.bytes - kHeaderBytes : 1;
    return reinterpret_cast<const std::byte*>(packet.samples) +
           (bytes - 1) / Loopback::kEcho * Loopback::kEcho;
  }

  Received look_at(Inlet& inlet, std::uint32_t place, const verbs::Completion& found) noexcept {
    CardCounts& counts = inlet.counts;
    ++counts.received;
    Received packet;
    packet.buffer = first_place_ + place;
    packet.samples = reinterpret_cast<const std::int16_t*>(places_.sample(place));
    const std::span<const std::byte> first(places_.header(place), kBeforeSamples);
    const Headers headers =
        found.status == verbs::kTooLong
            ? Headers{Misfit::Length}
            : read_headers(first.first(std::min<std::size_t>(found.bytes, first.size())),
                           found.bytes, inlet.destination);
    if (headers.misfit != Misfit::None) {
      ++counts.misfits[static_cast<std::size_t>(headers.misfit)];
      return packet;
    }
    if (headers.summed && verifies_ && (found.flags & verbs::kChecksumsGood) == 0) {
      ++counts.damaged;
      return packet;
    }
    packet.bytes = headers.bytes;
    packet.ids =
        read_ids({places_.header(place) + kNetworkBytes, std::min(headers.bytes, kHeaderBytes)});
    return packet;
  }

  // A batch of free places to the card, once there is room for one.
  std::string lend(Inlet& inlet) noexcept {
    Line& line = *inlet.line;
    const std::size_t batch = std::min<std::size_t>(kBatch, line.queue.depth());
    if (inlet.lent_now() + batch > line.queue.depth()) return {};
    std::array<std::uint32_t, kBatch> places;
    std::size_t count = 0;
    while (count < batch && (places[count] = free_.acquire()) != kNoBuffer) ++count;
    if (count == 0) return {};
    for (std::size_t i = 0; i < count; ++i)
      inlet.lent[inlet.lent_end++ % inlet.lent.size()] = places[i];
    return line.queue.post({places.data(), count});
  }

  void fail(std::string why) noexcept {
    if (!told_.test_and_set()) trouble_ = std::move(why);
    on_.store(false, std::memory_order_relaxed);
  }

  const PacketPlan plan_;
  SampleRoom room_;
  AlignedArray<std::byte> headers_, free_memory_;
  BufferStock free_;  // places that neither the card nor anybody else has
  std::unique_ptr<Transport> socket_;
  std::uint32_t first_place_ = 0;  // its number as a buffer; those before are the socket's
  OpenCard card_;
  Places places_;
  Owned<verbs::Region> header_region_{nullptr, nullptr}, sample_region_{nullptr, nullptr};
  std::vector<std::unique_ptr<Inlet>> inlets_;
  bool verifies_ = false;  // the card does
  std::atomic<bool> on_{true}, device_failed_{false};
  std::atomic_flag told_ = ATOMIC_FLAG_INIT;
  std::string trouble_;
};

}  // namespace

std::unique_ptr<CardTransport> CardTransport::open(std::unique_ptr<Transport>& socket,
                                                   const PacketPlan& plan, SampleRoom room,
                                                   std::string& why) {
  auto made = std::make_unique<PacketReceiver>(plan, std::move(room));
  why = made->prepare(socket->receivers());
  if (!why.empty()) return nullptr;
  made->take(std::move(socket));
  return made;
}

}  // namespace carillon::fronthaul::gpu
