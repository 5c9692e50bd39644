// The receiving side: every packet is checked before it is believed, and handed on by frame, symbol
// and antenna. Owns no thread; one thread per receiver polls it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "fronthaul/frame_clock.hpp"
#include "fronthaul/layout.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

/// What the layers above make of the packets. Called from the polling threads; must not block.
struct SymbolSink {
  virtual ~SymbolSink() = default;
  /// A frame's first packet came (each receiver may say so once, at the same time). False refuses
  /// the frame: its packets are dropped from now on.
  virtual bool open(std::uint64_t frame, Tick air_start) = 0;
  /// Once for each symbol and antenna. `samples` (prefix included) stay where they are until
  /// UplinkIngest::release(frame).
  virtual void arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
                      const std::int16_t* samples, Tick when) = 0;
  /// What the radio unit put on air up to this frame, as in a report (kReportSymbol).
  virtual void reported(std::uint64_t /*frame*/, std::uint32_t /*replaced*/) {}
};

struct IngestCounters {
  std::uint64_t received = 0;                      // datagrams, good or not
  std::uint64_t accepted = 0;                      // handed to the sink
  std::array<std::uint64_t, kRejects> rejected{};  // by Reject
  std::uint64_t refused = 0;                       // good, but the frame had no place
  std::uint64_t reports = 0;                       // of what went on air; not in `accepted`
  std::uint64_t rejected_reports = 0;              // of `rejected`
  std::uint64_t missing = 0;                       // of released frames
  std::uint64_t resynchronisations = 0;            // the radio restarted
  /// Between the newest frame that was heard and the one with which reception began anew, where the
  /// radio's numbers went on: whether it sent them is not known.
  std::uint64_t passed_over = 0;

  std::uint64_t operator[](Reject why) const { return rejected[static_cast<std::size_t>(why)]; }
};

/// What came of one frame so far. Instants are absolute, 0 when nothing came.
struct FrameArrivals {
  Tick first_packet = 0, last_packet = 0;
  std::uint32_t packets = 0, expected = 0;
};

class UplinkIngest {
 public:
  struct Options {
    std::uint32_t ring = 8;  // frames held at once; a few more than the layers above have in flight
    std::uint32_t ahead = 1;  // frames beyond the one on air that are not yet `Early`
    bool paced = true;        // the radio sends in real time: its clock says what is early
  };

  /// Layout, transport and sink outlive this.
  UplinkIngest(const Layout& layout, Transport& transport, SymbolSink& sink, Options options);

  /// The radio unit is in this process: its frames are numbered from 0, which is on air from then
  /// on, and it does not begin anew. Before any packet.
  void follow(Tick air_start) noexcept;

  /// Takes a batch of packets from one receiver; returns how many came. One thread at a time per
  /// receiver.
  std::size_t poll(std::uint32_t receiver) noexcept;
  /// Throws away what waits in every receiver, uncounted: what came before we were ready. Before
  /// polling begins.
  void drain() noexcept;

  /// The frame is over, complete or not: its buffers go back, its later packets are `Old`, those
  /// that never came are `missing`. Any thread; once for each frame, also for one of which nothing
  /// came. Nothing may read the frame's samples any more.
  void release(std::uint64_t frame) noexcept;

  /// Before release(frame).
  FrameArrivals arrivals(std::uint64_t frame) const noexcept;
  /// When the last packet so far of a symbol came; 0 if none did. Before release(frame).
  Tick last_packet(std::uint64_t frame, std::uint32_t symbol) const noexcept;
  /// When a packet so far of a symbol had certainly not come yet: a receiver that took all there
  /// was got it later. What nobody looked for may have lain there for long. 0 if none came. Before
  /// release(frame).
  Tick awaited(std::uint64_t frame, std::uint32_t symbol) const noexcept;
  /// Until when all receivers have taken what had come.
  Tick caught_up() const noexcept;
  bool complete(std::uint64_t frame, std::uint32_t symbol) const noexcept;
  /// What the sink was given, null before; a moment later than the sink. Before release(frame).
  const std::int16_t* samples(std::uint64_t frame, std::uint32_t symbol,
                              std::uint32_t antenna) const noexcept;

  const FrameClock& clock() const noexcept { return clock_; }
  /// The newest frame of which a packet was accepted.
  std::uint64_t newest() const noexcept { return newest_.load(std::memory_order_acquire); }
  /// The newest frame of which any believable packet came, in time or not.
  std::uint64_t heard() const noexcept { return heard_.load(std::memory_order_acquire); }
  /// The first frame of the radio's present numbering; grows when it restarts. Its clock is not
  /// newer than this.
  std::uint64_t first() const noexcept {
    const std::uint64_t floor = floor_.load(std::memory_order_acquire);
    return floor == kUnset ? 0 : floor;
  }
  /// Our frame numbers only grow; the radio's start again when it restarts. What the radio calls
  /// this frame, for what is sent back to it.
  std::uint32_t wire_frame(std::uint64_t frame) const noexcept {
    return static_cast<std::uint32_t>(frame) - offset_.load(std::memory_order_acquire);
  }
  IngestCounters counters() const noexcept;

 private:
  static constexpr std::size_t kBatch = 32;
  static constexpr std::uint64_t kUnset = ~std::uint64_t{0};

  // A place in the ring: which frame, whether it is open, and how many receivers are at it.
  struct alignas(kCacheLine) Slot {
    std::atomic<std::uint64_t> state{0};
    std::atomic<bool> opened{false};  // the sink has agreed
    std::atomic<std::uint32_t> packets{0};
    std::atomic<Tick> first{0}, last{0};
  };
  struct SymbolState {
    std::atomic<std::uint32_t> packets{0};
    std::atomic<Tick> first{0}, last{0}, awaited{0};
  };
  // A run of packets whose frames are impossible but agree with one another.
  struct Strange {
    std::uint32_t wire_frame = 0, offset = 0, count = 0;
    Tick since = 0;
  };
  struct Sighting {
    std::uint32_t wire_frame, offset;
    std::uint64_t floor;
    std::int64_t latest, number;  // the latest frame that may be; this one's, by the old numbering
    bool behind;                  // by the clock it should have come a frame ago or more
    bool early;                   // or should not have come yet
  };
  // One receiver's own: what it counts, and the frame numbers it could not place.
  struct alignas(kCacheLine) Receiver {
    std::array<std::atomic<std::uint64_t>, kRejects> rejected{};
    std::atomic<std::uint64_t> received{0}, accepted{0}, refused{0}, reports{0},
        rejected_reports{0};
    Strange strange;
    std::atomic<Tick> caught_up{0};  // when it last found no more than it could take
    Tick awaited = 0;                // the same, before this batch
    bool current = false;            // its batch came within the last frame
    std::array<Received, kBatch> batch{};
    std::array<std::uint32_t, kBatch> returned{};
    std::size_t returning = 0;
  };
  enum class Entry : std::uint8_t { Held, Over, Busy };
  struct Hold;

  Slot& slot(std::uint64_t frame) noexcept { return slots_[frame % ring_]; }
  const Slot& slot(std::uint64_t frame) const noexcept { return slots_[frame % ring_]; }
  std::size_t cell(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna) const noexcept;
  SymbolState& symbol_state(std::uint64_t frame, std::uint32_t symbol) const noexcept;

  bool take(Receiver& receiver, const Received& packet, Tick when, Hold& hold) noexcept;
  Reject take_report(const Received& packet) noexcept;
  Reject place(Receiver& receiver, const PacketIds& ids, Tick when, Sighting& sighting) noexcept;
  bool differs(const Received& packet, std::size_t index) const noexcept;
  bool passed(std::uint64_t frame) const noexcept;
  void doubt(Receiver& receiver, const Sighting& sighting, Tick symbol_end, Tick when) noexcept;
  bool strange(Receiver& receiver, const Sighting& sighting, Tick when) noexcept;
  void resynchronise(const Sighting& seen, Tick symbol_end, Tick when) noexcept;
  Entry enter(std::uint64_t frame) noexcept;
  void leave(std::uint64_t frame) noexcept;
  void clean(std::uint64_t frame) noexcept;
  Tick epoch_of(std::uint64_t frame) const noexcept;
  bool holds(std::uint64_t frame) const noexcept;
  void note(std::uint64_t frame, std::uint32_t symbol, Tick when, Tick awaited) noexcept;

  const Layout& layout_;
  Transport& transport_;
  const ReceivedMemory memory_;
  SymbolSink& sink_;
  const std::uint32_t ring_, ahead_;
  const bool paced_;
  const std::uint32_t packets_;  // of a frame
  FrameClock clock_;
  std::vector<Slot> slots_;
  std::unique_ptr<SymbolState[]> symbol_states_;         // [slot][ordinal]
  std::unique_ptr<std::atomic<std::uint64_t>[]> cells_;  // [slot][ordinal][antenna]: frame | buffer
  std::unique_ptr<std::atomic<const std::int16_t*>[]> samples_;  // of those that a frame has here
  std::vector<Receiver> receivers_;
  std::atomic<std::uint32_t> offset_{0};  // our frame number - the wire's
  std::atomic<std::uint64_t> newest_{0}, heard_{0};
  std::atomic<std::uint64_t> floor_{kUnset};  // the first frame seen from its start
  std::atomic<std::uint64_t> missing_{0}, resynchronisations_{0}, passed_over_{0};
};

}  // namespace carillon::fronthaul
