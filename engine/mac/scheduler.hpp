// What a cell's frames do, a few ahead of the air: who has which resource blocks of which slot, and
// which MCS row. Pure and deterministic: no sockets, no threads, no clock, and no allocation once
// it is made. Without HARQ: what a block carried that failed is lost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame/data_port.hpp"
#include "frame/frame.hpp"
#include "mac/link_adaptation.hpp"
#include "mac/policy.hpp"

namespace carillon::mac {

/// One direction of one slot of a frame, in which something can be sent.
struct Part {
  std::uint32_t slot = 0;
  frame::Direction direction = frame::Direction::Uplink;
  std::uint32_t elements = 0;  // of a resource block
};
std::vector<Part> parts_of(const frame::Frame& frame);

/// What a user was granted in a direction, and what is known of it.
struct FlowCounters {
  std::uint64_t blocks = 0;                      // transport blocks
  std::uint64_t resource_blocks = 0;             // of these
  std::uint64_t mcs_sum = 0;                     // their MCS rows, added up
  std::uint64_t good = 0, failed = 0, late = 0;  // of the transport blocks, whose end is known
};

class Scheduler {
 public:
  /// So far before the frame that is being scheduled one may be whose queues are reported.
  static constexpr std::uint32_t kFrames = 32;

  /// Of a cell of grants.kind scheduler. `overhead`: bytes of each transport block that carry
  /// nothing of what waits.
  explicit Scheduler(const frame::Frame& frame, std::uint32_t overhead = 0);

  /// Bytes that wait for a user in a direction when all frames up to `settled` had taken theirs.
  /// What later ones were granted is on its way out of that queue.
  void report(frame::Direction direction, std::uint32_t user, std::uint64_t bytes,
              std::uint32_t settled) noexcept;
  /// Decides what a frame does, each later than the one before: grants as in Grants::list, of slots
  /// within the frame, until the next call.
  std::span<const std::uint32_t> schedule(std::uint32_t frame) noexcept;
  /// The frame that was just scheduled does nothing instead.
  void withdraw() noexcept;
  /// A block came; Late: it was given up or not sent, and says nothing of the channel. Its ratio of
  /// signal to noise in dB where that was measured.
  void heard(frame::Direction direction, std::uint32_t user, frame::Verdict verdict,
             std::optional<double> snr_db) noexcept;

  const FlowCounters& counters(frame::Direction direction, std::uint32_t user) const {
    return flow(direction, user).counters;
  }
  const LinkAdaptation& link(frame::Direction direction, std::uint32_t user) const {
    return flow(direction, user).link;
  }
  /// Whether a direction has any slot.
  bool has(frame::Direction direction) const;

 private:
  static constexpr double kWindow = 100;  // slots, see averaged()

  struct Granted {
    std::uint32_t frame = 0;
    std::uint64_t bytes = 0;
  };
  struct Flow {
    explicit Flow(LinkAdaptation adaptation) : link(std::move(adaptation)) {}
    LinkAdaptation link;
    std::uint64_t waiting = 0;               // that no frame was granted
    double average = 0;                      // bits of a slot that were granted
    std::array<Granted, kFrames> granted{};  // [frame mod kFrames]
    FlowCounters counters, before;           // now, and before the last frame
    std::uint64_t waiting_before = 0;
    double average_before = 0;
  };

  Flow& flow(frame::Direction direction, std::uint32_t user) {
    return flows_[static_cast<std::size_t>(direction) * users_ + user];
  }
  const Flow& flow(frame::Direction direction, std::uint32_t user) const {
    return flows_[static_cast<std::size_t>(direction) * users_ + user];
  }
  void divide(const Part& part, std::uint32_t frame) noexcept;
  Demand demand_of(const Part& part, std::uint32_t user) const noexcept;
  void grant(const Part& part, std::uint32_t user, std::uint32_t frame, std::uint32_t first,
             std::uint32_t blocks) noexcept;
  void write(const Part& part, std::uint32_t user, const Row& row, std::uint32_t first,
             std::uint32_t blocks) noexcept;

  const std::uint32_t users_, blocks_, overhead_;  // resource blocks, bytes
  const std::vector<Part> parts_;
  std::array<bool, 2> by_table_{};                   // [Direction] rows are named
  std::array<std::unique_ptr<Policy>, 2> policies_;  // [Direction]
  std::vector<Flow> flows_;                          // [Direction][user]
  std::vector<Demand> demands_;                      // of users who want something
  std::vector<std::uint32_t> shares_;                // [demand]
  std::vector<std::uint32_t> grants_;
  std::uint32_t last_ = 0;  // frame
};

}  // namespace carillon::mac
