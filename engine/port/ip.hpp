// Each user is an IPv4 address behind a TUN device: packets to be sent go into its blocks, and what
// its blocks bring comes out of the device. A thread of ordinary priority does it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "dataflow/io/thread.hpp"
#include "port/exchange.hpp"
#include "port/packer.hpp"
#include "port/scheduling.hpp"
#include "port/sequencer.hpp"

namespace carillon::port {

/// Opens a TUN device of this name, which is made if it is not there. Throws std::runtime_error
/// saying what to do.
Descriptor open_tun(const std::string& name);

/// Packets, each in one class: from the device sent, dropped, foreign or waiting; to it delivered,
/// foreign or refused.
struct IpCounters {
  std::uint64_t sent = 0;     // all of it went into blocks, which the cell took
  std::uint64_t dropped = 0;  // the user's queue was full
  std::uint64_t foreign = 0;  // for no user, or no IPv4; and from blocks of another user's address
  std::uint64_t delivered = 0;  // out of blocks
  std::uint64_t broken = 0;     // out of blocks, their end lost with a later one
  std::uint64_t refused = 0;    // by the device
};

class IpPort {
 public:
  /// Bytes of packets that wait for a user's blocks.
  static constexpr std::size_t kQueue = 256 * 1024;
  /// So far ahead of the newest frame blocks are filled.
  static constexpr std::uint32_t kAhead = 3;

  /// `device`: of open_tun, or whatever passes one packet at a time. `first`: user 0's address, as
  /// a number; user u has the u-th after it. `scheduling`: of a cell whose frames are scheduled
  /// while they come, in this exchange; of others null. Frame and exchange outlive this.
  IpPort(Descriptor device, std::uint32_t first, const frame::Frame& frame, Exchange& exchange,
         std::unique_ptr<Scheduling> scheduling = nullptr);
  ~IpPort() { finish(); }

  /// Looks again and again, on a thread of its own, until finish().
  void start();
  void finish();
  /// Once: what the device has, what frames that begin have room for, what has been received.
  void look();
  /// Any thread: the packets, and the received blocks that they were looked for in.
  IpCounters counters() const noexcept;
  std::uint64_t blocks() const noexcept { return blocks_.load(std::memory_order_relaxed); }
  /// Or null.
  const Scheduling* scheduling() const noexcept { return scheduling_.get(); }

 private:
  struct User {
    explicit User(std::size_t room) : packer(room) {}
    Packer packer;
    Unpacker unpacker;
    bool sends = false;       // in some frame
    std::uint32_t frame = 0;  // … and the next of its blocks that may be filled
    std::size_t k = 0;
  };

  void serve(const dataflow::Stop& stop);
  void take_packets();
  void fill_blocks();
  void fill(std::uint32_t number);
  void fill_scheduled(std::uint32_t frame);
  bool give(User& user, std::uint32_t frame, std::uint32_t block);
  void deliver_blocks();
  void deliver(std::uint32_t user, std::span<const std::uint8_t> packet);

  const frame::Frame& frame_;
  Exchange& exchange_;
  Descriptor device_;
  const std::uint32_t first_;
  Sequencer sequencer_;
  const std::unique_ptr<Scheduling> scheduling_;
  std::vector<User> users_;
  // [program][user] the blocks that it sends in a frame, in order
  std::vector<std::vector<std::vector<std::uint32_t>>> blocks_by_user_;
  std::vector<std::uint8_t> packet_, block_;
  bool begun_ = false;
  std::uint32_t newest_ = 0;
  enum Counter : std::uint8_t { Sent, Dropped, Foreign, Delivered, Broken, Refused, kAll };
  std::array<std::atomic<std::uint64_t>, kAll> counters_{};
  void count(Counter counter, std::uint64_t number = 1) noexcept {
    counters_[counter].fetch_add(number, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> blocks_{0};
  dataflow::IoThread thread_;
};

}  // namespace carillon::port
