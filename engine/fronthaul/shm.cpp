#include "fronthaul/shm.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "fronthaul/network_meter.hpp"
#include "fronthaul/ring.hpp"

namespace carillon::fronthaul {
namespace {

constexpr std::uint64_t kReady = 0x31304d4853524143;  // "CARSHM01"

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("fronthaul: " + what); }

// What travels through a ring. The header is here, so that samples can be sent again untouched.
struct Descriptor {
  PacketIds ids;
  std::uint32_t bytes = 0;
  std::uint32_t buffer = kNoBuffer;
  std::uint32_t resident = 0;
};

struct SegmentHead {
  std::atomic<std::uint64_t> ready{0};
  ShmOptions options;
  std::array<std::atomic<std::int32_t>, 2> owner{};  // process of each Side; 0 before and after
};
constexpr std::size_t kHeadBytes = 4096;
static_assert(sizeof(SegmentHead) <= kHeadBytes);

std::size_t way_bytes(const ShmWay& way, std::uint32_t buffer_bytes) {
  return way.receivers * Ring<Descriptor>::bytes(way.descriptors) +
         BufferPool::bytes(way.buffers, buffer_bytes);
}

std::size_t segment_bytes(const ShmOptions& options) {
  return kHeadBytes + way_bytes(options.uplink, options.buffer_bytes) +
         way_bytes(options.downlink, options.buffer_bytes);
}

// One direction: the sender's pool and a ring to each receiver.
struct Way {
  Way(std::byte* memory, const ShmWay& way, std::uint32_t buffer_bytes, bool initialise) {
    for (std::uint32_t r = 0; r < way.receivers; ++r) {
      rings.emplace_back(memory, way.descriptors, initialise);
      memory += Ring<Descriptor>::bytes(way.descriptors);
    }
    pool = BufferPool(memory, way.buffers, buffer_bytes, initialise);
  }
  std::vector<Ring<Descriptor>> rings;
  BufferPool pool;
};

bool alive(std::int32_t process) {
  return process != 0 && (kill(process, 0) == 0 || errno == EPERM);
}

// The mapped memory, and its name if it has one.
class Segment {
 public:
  Segment(int fd, const ShmOptions& options, std::string name)
      : bytes_(segment_bytes(options)), name_(std::move(name)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
      fail("cannot map " + std::to_string(bytes_ >> 20) +
           " MiB of shared memory: " + std::strerror(errno));
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

  // Makes everything and touches every page, before real time starts.
  void initialise(const ShmOptions& options, Side first) {
    std::memset(memory_, 0, bytes_);
    auto* head = new (memory_) SegmentHead;
    head->options = options;
    head->owner[static_cast<std::size_t>(first)] = getpid();
    Way(uplink(), options.uplink, options.buffer_bytes, true);
    Way(downlink(options), options.downlink, options.buffer_bytes, true);
    head->ready.store(kReady, std::memory_order_release);
  }

  void leave(Side side) {
    auto& owner = head().owner;
    owner[static_cast<std::size_t>(side)].store(0, std::memory_order_release);
    const bool last = !alive(owner[0].load()) && !alive(owner[1].load());  // a peer may have died
    if (last && !name_.empty()) shm_unlink(name_.c_str());
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
  std::string name_;
};

class Shm final : public Transport {
 public:
  Shm(std::shared_ptr<Segment> segment, Side side, const ShmOptions& options)
      : segment_(std::move(segment)),
        side_(side),
        uplink_(segment_->uplink(), options.uplink, options.buffer_bytes, false),
        downlink_(segment_->downlink(options), options.downlink, options.buffer_bytes, false),
        in_(side == Side::Baseband ? uplink_ : downlink_),
        out_(side == Side::Baseband ? downlink_ : uplink_),
        meters_(in_.rings.size()) {}
  ~Shm() override { segment_->leave(side_); }

  std::uint32_t receivers() const override { return static_cast<std::uint32_t>(in_.rings.size()); }
  std::uint32_t peer_receivers() const override {
    return static_cast<std::uint32_t>(out_.rings.size());
  }

  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    Descriptor d;
    while (count < out.size() && in_.rings[receiver].pop(d)) {
      // The peer is another program: what it says about memory is checked here.
      if (d.buffer >= in_.pool.count()) {
        out[count++] = {d.ids, 0, kNoBuffer, nullptr};
        continue;
      }
      out[count++] = {d.ids, d.bytes, d.resident != 0 ? kNoBuffer : d.buffer,
                      reinterpret_cast<const std::int16_t*>(in_.pool[d.buffer] + kHeaderBytes)};
      bytes += d.bytes;
    }
    if (count > 0) meters_[receiver].count(0, count, bytes);
    return count;
  }

  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    in_.pool.release(buffers);
  }
  ReceivedMemory received_memory() noexcept override { return {in_.pool.all(), {}}; }
  std::uint32_t acquire() noexcept override { return out_.pool.acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    out_.pool.release(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return out_.pool[buffer]; }

  std::size_t send(std::span<Outgoing> packets) noexcept override {
    std::size_t sent = 0;
    std::uint64_t bytes = 0;
    for (; sent < packets.size(); ++sent) {
      Outgoing& packet = packets[sent];
      // The sent buffer is the receiver's from now on; the caller goes on with another one.
      const std::uint32_t next = packet.resident ? packet.buffer : out_.pool.acquire();
      if (next == kNoBuffer) break;
      const Descriptor d{packet.ids, packet.bytes, packet.buffer, packet.resident ? 1U : 0U};
      if (!out_.rings[packet.receiver % out_.rings.size()].push(d)) {
        if (!packet.resident) out_.pool.release({&next, 1});
        break;
      }
      packet.buffer = next;
      bytes += packet.bytes;
    }
    if (sent > 0) send_meter_.count(0, sent, bytes);
    return sent;
  }

  // There are no system calls to measure: only packets and bytes are counted.
  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return meters_[receiver].read();
  }
  NetworkTime send_time() const noexcept override { return send_meter_.read(); }
  std::uint32_t available() const noexcept override { return out_.pool.available(); }
  std::uint32_t buffers() const noexcept override { return out_.pool.count(); }
  std::vector<std::string> notes() const override { return {}; }

 private:
  std::shared_ptr<Segment> segment_;
  Side side_;
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

// `name`: to be removed again when there is no room; empty: it has none.
void resize(int fd, const ShmOptions& options, const std::string& name) {
  // fallocate, not ftruncate alone: a page that does not exist later would be a bus error.
  const auto bytes = static_cast<off_t>(segment_bytes(options));
  if (const int error = posix_fallocate(fd, 0, bytes); error != 0) {
    close(fd);
    if (!name.empty()) shm_unlink(name.c_str());
    fail("cannot have " + std::to_string(bytes >> 20) + " MiB of shared memory (" +
         std::strerror(error) + "): make room in /dev/shm or use a smaller cell or replay");
  }
}

// Its owner could read and change every sample.
[[noreturn]] void fail_foreign(const std::string& path) {
  fail("/dev/shm" + path + " belongs to another user: choose another fronthaul.shm_name");
}

// Whoever makes a segment holds its lock until it is ready; the system releases that of a process
// that was killed. False when the maker still has it after some seconds.
bool wait_for_maker(int fd) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (flock(fd, LOCK_SH | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// The segment of that name if it is there and in use; null if it is not, or is left over from
// processes that are gone (then it is removed).
std::shared_ptr<Segment> attach(const std::string& path, const ShmOptions& options) {
  const int fd = shm_open(path.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EACCES) fail_foreign(path);
  if (fd < 0) return nullptr;
  const bool made = wait_for_maker(fd);
  struct stat status {};
  fstat(fd, &status);
  if (status.st_uid != geteuid()) {
    close(fd);
    fail_foreign(path);
  }
  if (made && status.st_size == 0) {  // its maker was killed before it had any size
    close(fd);
    shm_unlink(path.c_str());
    return nullptr;
  }
  if (static_cast<std::size_t>(status.st_size) != segment_bytes(options)) {
    close(fd);
    fail("/dev/shm" + path + " was made for a cell of another size: give both sides the same " +
         "cell, or remove it if no run uses it");
  }
  auto segment = std::make_shared<Segment>(fd, options, path);
  SegmentHead& head = segment->head();
  const bool ready = head.ready.load(std::memory_order_acquire) == kReady;
  if (!ready || (!alive(head.owner[0].load()) && !alive(head.owner[1].load()))) {
    shm_unlink(path.c_str());
    return nullptr;
  }
  if (!(head.options == options))
    fail("/dev/shm" + path + " was made for another cell: give both sides the same cell");
  return segment;
}

// A new segment of that name; null when the peer was faster: attach.
std::shared_ptr<Segment> make(const std::string& path, Side side, const ShmOptions& options) {
  const int fd = shm_open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  const int lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);  // outlives `fd`, which the segment closes
  const std::unique_ptr<const int, void (*)(const int*)> unlock(&lock, [](const int* it) {
    flock(*it, LOCK_UN);  // the mapping would hold it
    close(*it);
  });
  flock(lock, LOCK_EX);
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_nlink == 0) {  // taken for left over before the lock
    close(fd);
    return nullptr;
  }
  resize(fd, options, path);
  auto segment = std::make_shared<Segment>(fd, options, path);
  segment->initialise(options, side);
  return segment;
}

void claim(Segment& segment, Side side, const std::string& path) {
  auto& owner = segment.head().owner[static_cast<std::size_t>(side)];
  std::int32_t nobody = 0;
  if (owner.compare_exchange_strong(nobody, getpid())) return;
  fail("/dev/shm" + path + " already has a " +
       (side == Side::Baseband ? "baseband unit" : "radio unit") + " (process " +
       std::to_string(nobody) + "): choose another fronthaul.shm_name, or end both sides first");
}

}  // namespace

ShmPair make_shm_pair(const ShmOptions& options) {
  check(options);
  const int fd = memfd_create("carillon-fronthaul", MFD_CLOEXEC);
  if (fd < 0) fail(std::string("cannot make shared memory: ") + std::strerror(errno));
  resize(fd, options, "");
  auto segment = std::make_shared<Segment>(fd, options, "");
  segment->initialise(options, Side::Baseband);
  return {std::make_unique<Shm>(segment, Side::Baseband, options),
          std::make_unique<Shm>(segment, Side::Radio, options)};
}

std::unique_ptr<Transport> open_shm(const std::string& name, Side side, const ShmOptions& options) {
  check(options);
  const std::string path = "/" + name;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (auto segment = attach(path, options)) {
      claim(*segment, side, path);
      return std::make_unique<Shm>(segment, side, options);
    }
    if (auto segment = make(path, side, options))
      return std::make_unique<Shm>(segment, side, options);
  }
  fail("cannot open shared memory " + path + ": " + std::strerror(errno));
}

}  // namespace carillon::fronthaul
