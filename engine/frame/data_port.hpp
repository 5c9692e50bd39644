// Where a cell's bits come from and go to: between the baseband unit and whoever owns them. The
// baseband unit knows nothing else of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/tick.hpp"
#include "frame/frame.hpp"

namespace carillon::frame {

/// A frame by the number that both ends of the fronthaul know it by, and its place in the ring,
/// which no other frame has meanwhile; kNoPlace where that says nothing.
struct FramePlace {
  std::uint32_t radio_frame;
  std::uint32_t place;
};
inline constexpr std::uint32_t kNoPlace = 0xffff'ffff;

/// Gives the downlink's bits. Neither call may block.
class TransportSource {
 public:
  /// When a frame begins, one thread at a time: of each downlink transport block where its A bits
  /// lie (phy::TransportPlan), most significant first, spare bits zero. They stay until the frame's
  /// release.
  virtual void take(FramePlace frame, Tick air_start,
                    std::span<const std::uint8_t*> bits) noexcept = 0;
  /// Nobody reads them any more. The conductor.
  virtual void release(FramePlace frame) noexcept = 0;

 protected:
  ~TransportSource() = default;
};

/// Schedules frames while they come (FrameFormat::grants of kind port).
class WorkSource {
 public:
  struct Work {
    const FrameProgram* program = nullptr;  ///< null: nobody scheduled it, and it does nothing
    std::uint32_t place = kNoPlace;         ///< among places(); no other frame in flight has it
  };

  /// A frame begins, or is counted later: what it does stays what it is until it was released as
  /// often. Any thread.
  virtual Work hold(std::uint32_t radio_frame) noexcept = 0;
  /// Of a frame that nobody holds, such as one that was not scheduled, nothing happens.
  virtual void release(std::uint32_t radio_frame) noexcept = 0;
  /// Of a frame that is held.
  virtual Work find(std::uint32_t radio_frame) const noexcept = 0;

  virtual std::uint32_t places() const noexcept = 0;
  /// Set before the first frame: called with every program before a frame can have it, on a thread
  /// of ordinary priority.
  using Prepare = std::function<void(const Work&)>;
  virtual void prepare_by(Prepare prepare) = 0;

 protected:
  ~WorkSource() = default;
};

/// What became of an uplink transport block.
enum class Verdict : std::uint8_t {
  Good,    ///< its CRC holds; of a block without one every parity check, or it is what was sent
  Failed,  ///< it was decoded in vain
  Late,    ///< its frame was refused or discarded: there are no bits
};

struct ReceivedTransportBlock {
  std::uint32_t block;  ///< of Frame::transport_blocks(Direction::Uplink)
  Verdict verdict;
  Tick at;                             ///< when it was decoded, or the frame given up
  std::span<const std::uint8_t> bits;  ///< as of TransportSource; none of a late one
  /// Signal over noise and interference after equalization, as a ratio, where it was measured of
  /// the user's symbols; else 0.
  float snr = 0;
};

/// Takes the uplink's bits: each block of each frame once, in any order. Must not block.
class TransportSink {
 public:
  /// One thread. The bits stay until this returns.
  virtual void receive(FramePlace frame, const ReceivedTransportBlock& block) noexcept = 0;

 protected:
  ~TransportSink() = default;
};

/// What the users are known to send: errors before decoding are counted against it, and blocks
/// without a CRC compared with it.
class KnownBits {
 public:
  /// A frame's payload memory (TransportBlock::payload_offset).
  virtual const std::uint8_t* payload(std::uint32_t radio_frame) const = 0;
  /// The E coded bits of an uplink code block, least significant bit first; phy::kCodedPadding
  /// bytes are readable after them.
  virtual const std::uint8_t* coded(std::uint32_t radio_frame, std::uint32_t code_block) const = 0;

 protected:
  ~KnownBits() = default;
};

/// All of them that a cell has.
struct DataPort {
  TransportSource* source = nullptr;  ///< null: all bits of the downlink are zero
  TransportSink* sink = nullptr;      ///< null: nobody wants to have the uplink's
  const KnownBits* known = nullptr;   ///< null: only those who send it know what it is
  WorkSource* work = nullptr;         ///< null: frames do what their numbers say (Frame::program)

  /// What a frame that has begun does.
  const FrameProgram& program(const Frame& frame, std::uint32_t radio_frame) const noexcept {
    const FrameProgram* scheduled = work == nullptr ? nullptr : work->find(radio_frame).program;
    return scheduled == nullptr ? frame.program(radio_frame) : *scheduled;
  }
};

}  // namespace carillon::frame
