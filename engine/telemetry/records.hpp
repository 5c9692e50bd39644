// What a run leaves behind, record by record. Plain numbers only: the records are written in real
// time into a shared file and read by other processes (telemetry/store.hpp says how).
#pragma once

#include <array>
#include <cstdint>

#include "base/tick.hpp"

namespace carillon::telemetry {

/// Why a frame or block missed its deadline; None if it did not.
enum class LateCause : std::uint8_t {
  None,
  Lost,
  Fronthaul,
  Processing,
  OperatingSystem,
  MachineStall
};
inline constexpr std::size_t kLateCauses = 6;

/// One value for the whole run, updated while it lasts.
struct Counters {
  std::uint64_t phase = 0;  // 0 starting, 1 running, 2 draining, 3 done
  Tick started = 0, ended = 0;
  std::uint64_t frames_sent = 0;       // by the radio unit (0 when it runs elsewhere)
  std::uint64_t frames_skipped = 0;    // by the radio unit: the machine stood still through them
  std::uint64_t frames_seen = 0;       // of which at least one packet came, or the clock announced
  std::uint64_t frames_completed = 0;  // every task done before the deadline
  std::uint64_t frames_nacked = 0;     // refused or discarded: overload_nack
  std::uint64_t lates_lost = 0, lates_fronthaul = 0, lates_processing = 0;
  std::uint64_t lates_operating_system = 0, lates_machine_stall = 0;
  std::uint64_t uplink_blocks = 0, uplink_failed = 0;  // transport blocks
  std::uint64_t downlink_blocks = 0, downlink_failed = 0, downlink_unverified = 0;
  std::uint64_t downlink_symbols_sent = 0, downlink_symbols_substituted = 0;
  std::uint64_t packets_received = 0, packets_sent = 0;  // the radio's when it runs alone
  std::uint64_t rejected_length = 0, rejected_cell = 0, rejected_antenna = 0, rejected_symbol = 0;
  std::uint64_t rejected_old = 0, rejected_early = 0, rejected_duplicate = 0;
  std::uint64_t rejected_differing = 0;    // duplicates with other samples
  std::uint64_t rejected_foreign = 0;      // from elsewhere than the other side; not in _received
  std::uint64_t rejected_unauthentic = 0;  // not made with this side's key; not in _received
  std::uint64_t packets_missing = 0;       // had not come when their frame ended
  std::uint64_t saturated_samples = 0;
  Tick pacing_error_sum = 0;  // of the emulated radio's frame starts, and of its square in ns²
  std::uint64_t pacing_error_square = 0, pacing_frames = 0;
  std::uint64_t overload_nacks = 0, harq_nacks = 0;  // NackRecords of either kind
  std::uint64_t ill_conditioned = 0;  // of frames without missing packets; see frame::Combiners
  std::uint64_t frames_sent_away = 0, frames_handed_back = 0;  // to GPUs, and by them
  std::uint64_t frames_substituted = 0;  // late: their downlink left in time, but came too late
  std::uint64_t frames_unreported = 0;   // with downlink, of which the radio unit said nothing
  std::uint64_t frames_passed_over = 0;  // see fronthaul::IngestCounters
  Tick ghost_busy = 0;  // kernels' time on frames that were announced but never sent; at the end
                        // that of all cells, whose threads are the same

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("phase", self.phase);
    visit("started", self.started);
    visit("ended", self.ended);
    visit("frames_sent", self.frames_sent);
    visit("frames_skipped", self.frames_skipped);
    visit("frames_seen", self.frames_seen);
    visit("frames_completed", self.frames_completed);
    visit("frames_nacked", self.frames_nacked);
    visit("lates_lost", self.lates_lost);
    visit("lates_fronthaul", self.lates_fronthaul);
    visit("lates_processing", self.lates_processing);
    visit("lates_operating_system", self.lates_operating_system);
    visit("lates_machine_stall", self.lates_machine_stall);
    visit("uplink_blocks", self.uplink_blocks);
    visit("uplink_failed", self.uplink_failed);
    visit("downlink_blocks", self.downlink_blocks);
    visit("downlink_failed", self.downlink_failed);
    visit("downlink_unverified", self.downlink_unverified);
    visit("downlink_symbols_sent", self.downlink_symbols_sent);
    visit("downlink_symbols_substituted", self.downlink_symbols_substituted);
    visit("packets_received", self.packets_received);
    visit("packets_sent", self.packets_sent);
    visit("rejected_length", self.rejected_length);
    visit("rejected_cell", self.rejected_cell);
    visit("rejected_antenna", self.rejected_antenna);
    visit("rejected_symbol", self.rejected_symbol);
    visit("rejected_old", self.rejected_old);
    visit("rejected_early", self.rejected_early);
    visit("rejected_duplicate", self.rejected_duplicate);
    visit("rejected_differing", self.rejected_differing);
    visit("rejected_foreign", self.rejected_foreign);
    visit("rejected_unauthentic", self.rejected_unauthentic);
    visit("packets_missing", self.packets_missing);
    visit("saturated_samples", self.saturated_samples);
    visit("pacing_error_sum", self.pacing_error_sum);
    visit("pacing_error_square", self.pacing_error_square);
    visit("pacing_frames", self.pacing_frames);
    visit("overload_nacks", self.overload_nacks);
    visit("harq_nacks", self.harq_nacks);
    visit("ill_conditioned", self.ill_conditioned);
    visit("frames_sent_away", self.frames_sent_away);
    visit("frames_handed_back", self.frames_handed_back);
    visit("frames_substituted", self.frames_substituted);
    visit("frames_unreported", self.frames_unreported);
    visit("frames_passed_over", self.frames_passed_over);
    visit("ghost_busy", self.ghost_busy);
  }
};

inline constexpr std::uint32_t kRefused = 1, kDiscarded = 2;  // FrameRecord::nack

/// One frame. Instants are ticks relative to `air_start`; 0 where the frame has no such milestone.
struct FrameRecord {
  std::uint64_t frame = 0;
  Tick air_start = 0;     // absolute
  Tick first_packet = 0;  // arrival of its first packet
  Tick last_packet = 0;
  Tick pilots_done = 0;          // all PilotFft committed (T_pilot ends)
  Tick combiner_done = 0;        // ZeroForce committed (T_ZF ends)
  Tick started = 0;              // first task began (D_start = started - first_packet)
  Tick uplink_done = 0;          // last uplink task committed (T_data ends)
  Tick downlink_first = 0;       // first downlink symbol ready to send
  Tick downlink_done = 0;        // last downlink symbol ready to send
  Tick ended = 0;                // over: done, discarded or refused
  std::uint32_t completed = 0;   // 1 if everything was done in time
  std::uint32_t nack = 0;        // overload_nack: kRefused or kDiscarded
  std::uint32_t late_cause = 0;  // LateCause
  std::uint32_t missing_packets = 0;
  std::uint32_t uplink_blocks = 0, uplink_failed = 0;
  std::uint32_t downlink_late_symbols = 0;
  std::uint32_t iterations = 0;  // LDPC, summed over code blocks
  std::uint32_t code_blocks = 0;
  std::uint32_t gap = 0;          // that made it late: its number in the run, from 1; 0: none
  std::uint32_t substituted = 0;  // 1: late for this alone, something else went on air
  std::uint32_t clock_mhz = 0;    // that was emulated or set when it ended; 0: none
  Tick kernels = 0;               // time of its tasks on cores, in all
  Tick stood_still = 0;           // threads, from the end of its last uplink symbol until it ended
  Tick lead = 0;  // so long before its units' air start the downlink had to leave; 0: it has none

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("frame", self.frame);
    visit("air_start", self.air_start);
    visit("first_packet", self.first_packet);
    visit("last_packet", self.last_packet);
    visit("pilots_done", self.pilots_done);
    visit("combiner_done", self.combiner_done);
    visit("started", self.started);
    visit("uplink_done", self.uplink_done);
    visit("downlink_first", self.downlink_first);
    visit("downlink_done", self.downlink_done);
    visit("ended", self.ended);
    visit("completed", self.completed);
    visit("nack", self.nack);
    visit("late_cause", self.late_cause);
    visit("missing_packets", self.missing_packets);
    visit("uplink_blocks", self.uplink_blocks);
    visit("uplink_failed", self.uplink_failed);
    visit("downlink_late_symbols", self.downlink_late_symbols);
    visit("iterations", self.iterations);
    visit("code_blocks", self.code_blocks);
    visit("gap", self.gap);
    visit("substituted", self.substituted);
    visit("clock_mhz", self.clock_mhz);
    visit("kernels", self.kernels);
    visit("stood_still", self.stood_still);
    visit("lead", self.lead);
  }
};

/// What one opcode cost over the run (index: opcode).
struct StageRecord {
  std::uint64_t tasks = 0, chunks = 0;
  Tick busy = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("tasks", self.tasks);
    visit("chunks", self.chunks);
    visit("busy", self.busy);
  }
};

/// Where one thread's time went. overhead: neither in a kernel, nor in the network, nor idle.
struct ThreadRecord {
  std::uint64_t core = 0,
                roles = 0;  // roles: bits worker 1, receiver 2, sender 4, radio 8, users 16
  Tick busy = 0, overhead = 0, network = 0, spinning = 0, sleeping = 0, emulating = 0;
  std::uint64_t realtime = 0;  // 1 when SCHED_FIFO was granted

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("core", self.core);
    visit("roles", self.roles);
    visit("busy", self.busy);
    visit("overhead", self.overhead);
    visit("network", self.network);
    visit("spinning", self.spinning);
    visit("sleeping", self.sleeping);
    visit("emulating", self.emulating);
    visit("realtime", self.realtime);
  }
};

/// One user (index: user). Sums over the run; divide to get means.
struct UserRecord {
  std::uint64_t uplink_blocks = 0, uplink_failed = 0;
  std::uint64_t downlink_blocks = 0, downlink_failed = 0;
  std::uint64_t raw_bits = 0, raw_errors = 0;  // signs of soft bits, against what was sent
  std::uint64_t iterations = 0, code_blocks = 0;
  double error_power = 0;  // Σ|s - nearest|² of sampled symbols, unit-energy constellation
  double noise_power = 0;  // Σ post-equalization variance predicted for the same symbols
  std::uint64_t symbols = 0;
  double downlink_error_power = 0;
  std::uint64_t downlink_symbols = 0;
  std::uint64_t uplink_bits = 0, downlink_bits = 0;  // of payload, in blocks that were right

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("uplink_blocks", self.uplink_blocks);
    visit("uplink_failed", self.uplink_failed);
    visit("downlink_blocks", self.downlink_blocks);
    visit("downlink_failed", self.downlink_failed);
    visit("raw_bits", self.raw_bits);
    visit("raw_errors", self.raw_errors);
    visit("iterations", self.iterations);
    visit("code_blocks", self.code_blocks);
    visit("error_power", self.error_power);
    visit("noise_power", self.noise_power);
    visit("symbols", self.symbols);
    visit("downlink_error_power", self.downlink_error_power);
    visit("downlink_symbols", self.downlink_symbols);
    visit("uplink_bits", self.uplink_bits);
    visit("downlink_bits", self.downlink_bits);
  }
};

/// What went through a data port (port/exchange.hpp, port/socket.hpp).
struct PortRecord {
  std::uint64_t users = 0;  // 0: the baseband unit's, 1: the emulated users'
  std::uint64_t clients = 0;
  std::uint64_t good = 0, failed = 0, late = 0, sent = 0, dropped = 0, unheard = 0;  // received
  std::uint64_t accepted = 0, used = 0, unused = 0, padded = 0;                      // to be sent
  std::uint64_t refused_no_frame = 0, refused_late = 0, refused_early = 0, refused_block = 0;
  std::uint64_t refused_bits = 0, refused_order = 0, refused_format = 0, refused_busy = 0;
  std::uint64_t refused_grant = 0;                                       // grants
  std::array<std::uint64_t, 4> harq_blocks{}, harq_good{}, harq_bits{};  // by attempt
  Tick harq_again = 0, harq_again_most = 0;                              // port::HarqCounters
  std::uint64_t ip = 0;  // 1: packets to and from a TUN device are its bits
  std::uint64_t ip_sent = 0, ip_dropped = 0, ip_foreign = 0;
  std::uint64_t ip_delivered = 0, ip_broken = 0, ip_refused = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("users", self.users);
    visit("clients", self.clients);
    visit("good", self.good);
    visit("failed", self.failed);
    visit("late", self.late);
    visit("sent", self.sent);
    visit("dropped", self.dropped);
    visit("unheard", self.unheard);
    visit("accepted", self.accepted);
    visit("used", self.used);
    visit("unused", self.unused);
    visit("padded", self.padded);
    visit("refused_no_frame", self.refused_no_frame);
    visit("refused_late", self.refused_late);
    visit("refused_early", self.refused_early);
    visit("refused_block", self.refused_block);
    visit("refused_bits", self.refused_bits);
    visit("refused_order", self.refused_order);
    visit("refused_format", self.refused_format);
    visit("refused_busy", self.refused_busy);
    visit("refused_grant", self.refused_grant);
    visit("harq_blocks_1", self.harq_blocks[0]);
    visit("harq_blocks_2", self.harq_blocks[1]);
    visit("harq_blocks_3", self.harq_blocks[2]);
    visit("harq_blocks_4", self.harq_blocks[3]);
    visit("harq_good_1", self.harq_good[0]);
    visit("harq_good_2", self.harq_good[1]);
    visit("harq_good_3", self.harq_good[2]);
    visit("harq_good_4", self.harq_good[3]);
    visit("harq_bits_1", self.harq_bits[0]);
    visit("harq_bits_2", self.harq_bits[1]);
    visit("harq_bits_3", self.harq_bits[2]);
    visit("harq_bits_4", self.harq_bits[3]);
    visit("harq_again", self.harq_again);
    visit("harq_again_most", self.harq_again_most);
    visit("ip", self.ip);
    visit("ip_sent", self.ip_sent);
    visit("ip_dropped", self.ip_dropped);
    visit("ip_foreign", self.ip_foreign);
    visit("ip_delivered", self.ip_delivered);
    visit("ip_broken", self.ip_broken);
    visit("ip_refused", self.ip_refused);
  }
};

/// What a scheduler granted one user in one direction (mac/scheduler.hpp), and what came of it.
struct FlowRecord {
  std::uint64_t user = 0, down = 0;                // 0: its uplink, 1: its downlink
  std::uint64_t blocks = 0;                        // transport blocks that were scheduled
  std::uint64_t resource_blocks = 0, mcs_sum = 0;  // of these; their MCS rows, added up
  std::uint64_t good = 0, failed = 0, late = 0;    // blocks whose end is known
  double snr_db = 0, offset_db = 0;                // of link adaptation, the last ones
  std::uint64_t measured = 0;                      // 0: snr_db says nothing

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("user", self.user);
    visit("down", self.down);
    visit("blocks", self.blocks);
    visit("resource_blocks", self.resource_blocks);
    visit("mcs_sum", self.mcs_sum);
    visit("good", self.good);
    visit("failed", self.failed);
    visit("late", self.late);
    visit("snr_db", self.snr_db);
    visit("offset_db", self.offset_db);
    visit("measured", self.measured);
  }
};

/// An equalized uplink symbol, sampled for display.
struct ConstellationRecord {
  std::uint32_t user = 0;
  float re = 0, im = 0;
  std::uint32_t frame = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("user", self.user);
    visit("re", self.re);
    visit("im", self.im);
    visit("frame", self.frame);
  }
};

enum class NackKind : std::uint32_t { Overload = 1, Harq = 2 };
inline constexpr std::uint32_t kAllUsers = 0xffffffff;
inline constexpr std::uint32_t kCauseToCome = 0xffffffff;

/// What a medium-access layer would be told. Overload: the whole frame was refused or discarded
/// (one record; its blocks follow as Harq). Harq: one transport block failed, was discarded with
/// its frame or came too late; its sender has to repeat it.
struct NackRecord {
  std::uint64_t frame = 0;
  std::uint32_t cell = 0;
  std::uint32_t user = kAllUsers;  // kAllUsers: Overload
  std::uint32_t process = 0;       // HARQ process; 0 with Overload
  std::uint32_t kind = 0;          // NackKind
  std::uint32_t cause = 0;  // LateCause, of a failed block that of its missing packets; None:
                            // its CRC failed although all came; kCauseToCome: not yet known
  std::uint32_t padding = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("frame", self.frame);
    visit("cell", self.cell);
    visit("user", self.user);
    visit("process", self.process);
    visit("kind", self.kind);
    visit("cause", self.cause);
    visit("padding", self.padding);
  }
};

/// A time span in which a pinned loop did not run although it never gave up its core, or woke later
/// than it asked to.
struct GapRecord {
  Tick start = 0, length = 0;  // start is absolute
  std::uint64_t thread = 0;
  std::uint64_t cause = 0;  // LateCause that it excuses

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("start", self.start);
    visit("length", self.length);
    visit("thread", self.thread);
    visit("cause", self.cause);
  }
};

/// One task as it ran (or, with opcode kPacketEvent, one symbol's last packet as it came).
struct TaskRecord {
  Tick start = 0, end = 0;  // absolute
  std::uint32_t frame = 0;
  std::uint16_t opcode = 0, step = 0, first = 0, count = 0;
  std::uint32_t thread = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("start", self.start);
    visit("end", self.end);
    visit("frame", self.frame);
    visit("opcode", self.opcode);
    visit("step", self.step);
    visit("first", self.first);
    visit("count", self.count);
    visit("thread", self.thread);
  }
};
inline constexpr std::uint16_t kPacketEvent = 0xffff;

}  // namespace carillon::telemetry
