// Between the two ports of a cell whose frames mac/ schedules: grants to the users, and back what
// these have to send and what became of their downlink. It stands for the control channel of a
// radio (in NR: DCI, UCI, buffer status reports) and is never in error. Both ends are threads of
// ordinary priority, of one process; a lock guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "frame/data_port.hpp"

namespace carillon::port {

class ControlChannel {
 public:
  // Of an end that does not look any more the other one forgets the oldest.
  static constexpr std::size_t kMostGrants = 32, kMostHeard = 1 << 14;

  struct Grants {
    std::uint32_t frame = 0;
    std::vector<std::uint32_t> list;  // as frame::Grants::list
  };
  /// What the users know of themselves.
  struct Status {
    std::uint32_t newest = 0;            // frame that they have begun
    std::uint32_t settled = 0;           // all grants up to this frame have taken what they carry
    std::vector<std::uint64_t> waiting;  // bytes by user, as Packer::needed
  };
  /// What became of a downlink block.
  struct Heard {
    std::uint32_t user = 0;
    frame::Verdict verdict{};
    std::optional<double> snr_db;
  };

  // The base station's end.
  void grant(std::uint32_t frame, std::span<const std::uint32_t> list);
  /// The newest, once there is one.
  std::optional<Status> status() const;
  /// All that came since this was last asked; and the frames of which users had the grants too
  /// late or never, and sent nothing.
  std::vector<Heard> heard();
  std::vector<std::uint32_t> missed();

  // The users' end.
  std::vector<Grants> grants();
  void report(Status status);
  void hear(const Heard& heard);
  /// Before the status that says that it is settled.
  void miss(std::uint32_t frame);

 private:
  void remember_missed(std::uint32_t frame);

  mutable std::mutex mutex_;
  std::deque<Grants> grants_;
  std::optional<Status> status_;
  std::deque<Heard> heard_;
  std::deque<std::uint32_t> missed_;
};

}  // namespace carillon::port
