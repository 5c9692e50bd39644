// One card as several devices: partitions with SMs of their own, by the driver's green contexts
// (CUDA 13.0 Driver API, "Green Contexts"). Only SMs are divided: partitions share the L2 cache,
// device memory and its bandwidth, the copy engines, the bus, and the card's clock and power.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/cuda/words.hpp"

namespace carillon::cuda {

/// In what units a card's SMs can be divided, as its driver says.
struct SmUnits {
  std::uint32_t sms = 0;
  std::uint32_t least = 1;  ///< of a partition (minSmPartitionSize)
  std::uint32_t step = 1;   ///< a partition has a multiple of it (smCoscheduledAlignment)
};

/// Partitions of as many SMs each.
struct Split {
  std::uint32_t parts = 0;
  std::uint32_t sms = 0;   ///< of each
  std::uint32_t rest = 0;  ///< in none of them
  std::string why;         ///< there is no such split: in words; else empty
};

/// The largest ones that the units allow: 132 SMs in units of 8 are 2×64, 4×32 or 8×16, and 4 more.
Split split(const SmUnits& card, std::uint32_t parts);

/// What a driver makes of it. It rounds a number of SMs up, by units that need not be those that it
/// tells, and a partition does not straddle what the chip keeps together. So it is asked:
/// groups_of(n) is how many partitions of at least n SMs it would make. The most SMs for which
/// these are enough; 0: for none.
std::uint32_t most_sms(const Split& wanted, const SmUnits& card,
                       const std::function<std::uint32_t(std::uint32_t)>& groups_of);

/// What kernels in each partition saw, the SMs that they ran on, beside the SMs that each was
/// promised: in words what is not as it should be; else empty. Partitions have no SM in common, and
/// none runs on more SMs than it has.
std::string compare(std::span<const std::vector<std::uint32_t>> seen,
                    std::span<const std::uint32_t> promised);

/// For this process as many hardware queues of a device as there can be (32): streams that share
/// one wait for each other, whatever partition they are of. To be called before anything asks for a
/// device; CUDA_DEVICE_MAX_CONNECTIONS, where it is set, is left as it is.
void use_all_queues();

/// Partitions of a card, each with two streams. Whoever has one launches as on any stream, with
/// kernel<<<…, stream>>> too: a stream knows its context, the context its SMs, and the kernels are
/// those of the device's primary context, of which a green context is a part. So is all device
/// memory, which every partition reaches. A captured graph's kernels run on the SMs of the stream
/// that they were captured on, wherever the graph is launched: Graph's second parameter.
/// What is launched on other streams runs on all SMs, those of partitions too.
class Partitions {
 public:
  Partitions();
  /// `device` is the current one (use()).
  Partitions(const Device& device, std::uint32_t parts);
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;
  Partitions(Partitions&& other) noexcept;
  Partitions& operator=(Partitions&& other) noexcept;
  /// Waits for what runs on the streams.
  ~Partitions();

  /// There are none: in words, and what would be possible; else empty.
  const std::string& why() const { return why_; }
  std::uint32_t parts() const;
  /// What the driver gave, which is never more than split() says. part < parts(), here and below.
  std::uint32_t sms(std::uint32_t part) const;
  /// Urgent work goes before the other, where both wait. It interrupts nothing.
  Stream stream(std::uint32_t part, bool urgent = false) const;
  /// One more, of that priority (cudaDeviceGetStreamPriorityRange), for whoever asks to destroy
  /// (cudaStreamDestroy) before these partitions go.
  Status make_stream(std::uint32_t part, int priority, Stream& stream) const;

 private:
  struct State;

  std::unique_ptr<State> state_;
  std::string why_;
};

/// Tells on which SMs a stream's kernels run (%smid): by blocks that need a whole SM and stay for
/// a while, so that they go to as many SMs as there are.
class SmProbe {
 public:
  explicit SmProbe(std::uint32_t blocks);

  const Status& status() const { return seen_.status(); }
  Status launch(Stream stream);
  /// Where the blocks were, in rising order: once what was launched has ended.
  std::vector<std::uint32_t> sms() const;
  /// All at once; waits for this stream alone.
  Status see(Stream stream, std::vector<std::uint32_t>& sms);

 private:
  Words seen_;
};

}  // namespace carillon::cuda
