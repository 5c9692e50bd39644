#include "fronthaul/shm.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "fronthaul/network_meter.hpp"
#include "fronthaul/ring.hpp"
#include "fronthaul/shm_file.hpp"

namespace carillon::fronthaul {
namespace {

constexpr std::uint64_t kLayout = 0x32304d4853524143;  // "CARSHM02"

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("fronthaul: " + what); }

// Of a way's buffers. In between they are in a ring.
enum Holder : std::uint32_t { kSender, kRing, kReceiver };

// What travels through a ring. The header is here, so that samples can be sent again untouched.
struct Descriptor {
  PacketIds ids;
  std::uint32_t bytes = 0;
  std::uint32_t buffer = kNoBuffer;
  std::uint32_t resident = 0;
};

struct SegmentHead {
  std::uint64_t layout = kLayout;
  ShmOptions options;
  std::array<std::atomic<std::int32_t>, ShmFile::kPlaces> owner{};  // of each Side, the last
};
constexpr std::size_t kHeadBytes = 4096;
static_assert(sizeof(SegmentHead) <= kHeadBytes);

std::size_t way_bytes(const ShmWay& way, std::uint32_t buffer_bytes) {
  return way.receivers * Ring<Descriptor>::bytes(way.descriptors) +
         BufferStock::bytes(way.buffers, buffer_bytes);
}

std::size_t segment_bytes(const ShmOptions& options) {
  return kHeadBytes + way_bytes(options.uplink, options.buffer_bytes) +
         way_bytes(options.downlink, options.buffer_bytes);
}

// One direction: the sender's stock and a ring to each receiver.
struct Way {
  Way(std::byte* memory, const ShmWay& way, std::uint32_t buffer_bytes, bool initialise) {
    for (std::uint32_t r = 0; r < way.receivers; ++r) {
      rings.emplace_back(memory, way.descriptors, initialise);
      memory += Ring<Descriptor>::bytes(way.descriptors);
    }
    stock = BufferStock(memory, way.buffers, buffer_bytes, initialise);
  }
  std::vector<Ring<Descriptor>> rings;
  BufferStock stock;
};

std::string megabytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// A file, mapped.
class Segment {
 public:
  Segment(ShmFile file, const ShmOptions& options)
      : bytes_(segment_bytes(options)), file_(std::move(file)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), 0);
    if (memory == MAP_FAILED)
      fail("cannot map " + megabytes(bytes_) + " of shared memory: " + std::strerror(errno));
    memory_ = static_cast<std::byte*>(memory);
    madvise(memory_, bytes_, MADV_HUGEPAGE);  // where the system allows it for shared memory
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { munmap(memory_, bytes_); }

  SegmentHead& head() { return *reinterpret_cast<SegmentHead*>(memory_); }
  std::byte* uplink() { return memory_ + kHeadBytes; }
  std::byte* downlink(const ShmOptions& options) {
    return uplink() + way_bytes(options.uplink, options.buffer_bytes);
  }
  ShmFile& file() { return file_; }

  // Makes everything and touches every page, before real time starts.
  void initialise(const ShmOptions& options) {
    std::memset(memory_, 0, bytes_);
    auto* head = new (memory_) SegmentHead;
    head->options = options;
    Way(uplink(), options.uplink, options.buffer_bytes, true);
    Way(downlink(options), options.downlink, options.buffer_bytes, true);
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
  ShmFile file_;
};

class Shm final : public Transport {
 public:
  Shm(std::shared_ptr<Segment> segment, Side side, const ShmOptions& options)
      : segment_(std::move(segment)),
        uplink_(segment_->uplink(), options.uplink, options.buffer_bytes, false),
        downlink_(segment_->downlink(options), options.downlink, options.buffer_bytes, false),
        in_(side == Side::Baseband ? uplink_ : downlink_),
        out_(side == Side::Baseband ? downlink_ : uplink_),
        meters_(in_.rings.size()) {}

  std::uint32_t receivers() const override { return static_cast<std::uint32_t>(in_.rings.size()); }
  std::uint32_t peer_receivers() const override {
    return static_cast<std::uint32_t>(out_.rings.size());
  }

  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    Descriptor d;
    while (count < out.size() && in_.rings[receiver].pop(d)) {
      if (d.buffer == kNoBuffer) continue;  // its sender was killed before it had put it there
      // The peer is another program: what it says about memory is checked here.
      if (d.buffer >= in_.stock.count()) {
        out[count++] = {d.ids, 0, kNoBuffer, nullptr};
        continue;
      }
      if (d.resident == 0) in_.stock.note(d.buffer, kReceiver);
      out[count++] = {d.ids, d.bytes, d.resident != 0 ? kNoBuffer : d.buffer,
                      reinterpret_cast<const std::int16_t*>(in_.stock[d.buffer] + kHeaderBytes)};
      bytes += d.bytes;
    }
    if (count > 0) meters_[receiver].count(0, count, bytes);
    return count;
  }

  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    in_.stock.release(buffers);
  }
  ReceivedMemory received_memory() noexcept override { return {in_.stock.all(), {}}; }
  std::uint32_t acquire() noexcept override {
    const std::uint32_t buffer = out_.stock.acquire();
    out_.stock.note(buffer, kSender);
    return buffer;
  }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    out_.stock.release(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return out_.stock[buffer]; }

  std::size_t send(std::span<Outgoing> packets) noexcept override {
    std::size_t sent = 0;
    std::uint64_t bytes = 0;
    for (; sent < packets.size(); ++sent) {
      Outgoing& packet = packets[sent];
      // The sent buffer is the receiver's from now on; the caller goes on with another one.
      const std::uint32_t next = packet.resident ? packet.buffer : acquire();
      if (next == kNoBuffer) break;
      if (!packet.resident) out_.stock.note(packet.buffer, kRing);
      const Descriptor d{packet.ids, packet.bytes, packet.buffer, packet.resident ? 1U : 0U};
      if (!out_.rings[packet.receiver % out_.rings.size()].push(d)) {
        if (packet.resident) break;
        out_.stock.note(packet.buffer, kSender);
        out_.stock.release({&next, 1});
        break;
      }
      packet.buffer = next;
      bytes += packet.bytes;
    }
    if (sent > 0) send_meter_.count(0, sent, bytes);
    return sent;
  }

  // Instead of a process that is gone, while the other side goes on: what it held is free again,
  // and what waited for it is thrown away, as with a socket. It may have been killed anywhere. Then
  // rings go on; buffers that were just changing hands are lost, of which there are some to spare.
  // The other side may still read what lay resident, in frames whose radio unit is gone.
  void take_over() noexcept {
    const auto give_back = [this](const Descriptor& d) {
      if (d.resident == 0) in_.stock.release({&d.buffer, 1});
    };
    for (auto& ring : in_.rings) {
      ring.free_claimed(give_back);
      Descriptor d;
      for (std::size_t i = ring.capacity(); i > 0 && ring.pop(d); --i) give_back(d);
    }
    in_.stock.reclaim(kReceiver);
    for (auto& ring : out_.rings) ring.fill_claimed({});
    out_.stock.reclaim(kSender);
  }

  // There are no system calls to measure: only packets and bytes are counted.
  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return meters_[receiver].read();
  }
  NetworkTime send_time() const noexcept override { return send_meter_.read(); }
  std::uint32_t available() const noexcept override { return out_.stock.available(); }
  std::uint32_t buffers() const noexcept override { return out_.stock.count(); }
  std::vector<std::string> notes() const override { return {}; }

 private:
  std::shared_ptr<Segment> segment_;
  Way uplink_, downlink_;
  Way& in_;
  Way& out_;
  std::vector<NetworkMeter> meters_;
  NetworkMeter send_meter_;
};

void check(const ShmOptions& options) {
  if (options.uplink.receivers == 0 || options.downlink.receivers == 0)
    fail("each direction needs at least one receiver");
}

// fallocate, not ftruncate alone: a page that does not exist later would be a bus error.
void reserve(const ShmFile& file, const ShmOptions& options) {
  const std::size_t bytes = segment_bytes(options);
  if (const int error = posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes)))
    fail("cannot have " + megabytes(bytes) + " of shared memory (" + std::strerror(error) +
         "): make room in /dev/shm or use a smaller cell or replay");
}

std::shared_ptr<Segment> make(ShmFile file, const ShmOptions& options) {
  reserve(file, options);
  auto segment = std::make_shared<Segment>(std::move(file), options);
  segment->initialise(options);
  return segment;
}

std::shared_ptr<Segment> attach(ShmFile file, const ShmOptions& options) {
  const std::string other = file.path() + " was made for ", both = "give both sides the same cell";
  if (file.bytes() != segment_bytes(options)) fail(other + "a cell of another size: " + both);
  auto segment = std::make_shared<Segment>(std::move(file), options);
  const SegmentHead& head = segment->head();
  if (head.layout != kLayout || !(head.options == options)) fail(other + "another cell: " + both);
  return segment;
}

// Whether somebody has had the place before.
bool claim(Segment& segment, Side side) {
  const auto place = static_cast<std::uint32_t>(side);
  auto& owner = segment.head().owner[place];
  if (!segment.file().claim(place))
    fail(segment.file().path() + " already has a " +
         (side == Side::Baseband ? "baseband unit" : "radio unit") + " (process " +
         std::to_string(owner.load()) +
         "): choose another fronthaul.shm_name, or end both sides first");
  return owner.exchange(getpid()) != 0;
}

}  // namespace

ShmPair make_shm_pair(const ShmOptions& options) {
  check(options);
  const auto segment = make(ShmFile(), options);
  return {std::make_unique<Shm>(segment, Side::Baseband, options),
          std::make_unique<Shm>(segment, Side::Radio, options)};
}

std::unique_ptr<Transport> open_shm(const std::string& name, Side side, const ShmOptions& options) {
  check(options);
  ShmFile file(name);
  const bool used = file.used();
  const auto segment = used ? attach(std::move(file), options) : make(std::move(file), options);
  const bool again = claim(*segment, side);
  auto end = std::make_unique<Shm>(segment, side, options);
  if (again) end->take_over();
  segment->file().open_door();
  return end;
}

}  // namespace carillon::fronthaul
