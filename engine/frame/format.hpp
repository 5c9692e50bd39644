// What a frame is: the cell's shape as a person configures it. Everything else is derived from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.hpp"
#include "base/tick.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::frame {

enum class PrefixKind : std::uint8_t { NrNormal, Constant };
enum class PilotKind : std::uint8_t { Time, Comb };
enum class BlockSpan : std::uint8_t { Frame, Slot, Symbol };
enum class ModulationChoice : std::uint8_t { Qpsk, Qam16, Qam64, Qam256 };
enum class McsTable : std::uint8_t { None, Qam64, Qam256, LowSe };
enum class GrantKind : std::uint8_t { Full, RoundRobin, List, Port, Scheduler };
enum class GrantPolicy : std::uint8_t { RoundRobin, ProportionalFair };
enum class Direction : std::uint8_t { Uplink, Downlink };
enum class Precision : std::uint8_t { Fastest, Fp32, Fp16, Int16 };

struct Numerology {
  std::uint32_t fft_size = 512;
  std::uint32_t subcarriers = 300;  // used ones
  bool dc_hole = false;
  double spacing_khz = 15;
  PrefixKind prefix = PrefixKind::NrNormal;  // TS 38.211 5.3.1: longer at the half-millisecond
  std::uint32_t prefix_samples = 36;         // of every symbol, when prefix is constant

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("fft_size", self.fft_size);
    visit("subcarriers", self.subcarriers);
    visit("dc_hole", self.dc_hole);
    visit("spacing_khz", self.spacing_khz);
    visit("prefix", self.prefix);
    visit("prefix_samples", self.prefix_samples);
  }
};

/// Time: one user in each pilot symbol. Comb: user u sends in pilot symbol u / comb on subcarriers
/// k ≡ u (mod comb). A frame's P symbols are cut, in their order, into so many equal runs:
/// occasions (frame/occasions.hpp), in each of which every user sends its pilot.
struct Pilots {
  PilotKind kind = PilotKind::Time;
  std::uint32_t comb = 1;
  std::uint32_t root = 25;  // of the Zadoff–Chu base sequence
  std::uint32_t occasions = 1;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("comb", self.comb);
    visit("root", self.root);
    visit("occasions", self.occasions);
  }
};

/// Which linear detector, how many neighbouring subcarriers share one, and what numbers it is
/// applied in; see Pipeline::precision for the fastest.
struct Combiner {
  phy::Detector kind = phy::Detector::ZeroForcing;
  std::uint32_t group = 16;
  Precision precision = Precision::Fastest;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("group", self.group);
    visit("precision", self.precision);
  }
};

/// Channel coding and modulation of one direction (TS 38.212). `mcs_table` other than none replaces
/// modulation and rate by row `mcs_index` of TS 38.214 5.1.3.1: all users', or one for each.
struct Coding {
  BlockSpan block = BlockSpan::Slot;
  bool crc = true;
  McsTable mcs_table = McsTable::None;
  std::vector<std::uint32_t> mcs_index{0};
  ModulationChoice modulation = ModulationChoice::Qam16;
  double rate = 1.0 / 3;
  std::uint32_t base_graph = 0;  // 0: chosen as in 38.212 6.2.2
  std::uint32_t lifting = 0;     // 0: chosen as in 38.212 5.2.2
  std::uint32_t redundancy_version = 0;
  double buffer_limit = 1.0;  // N_cb / N
  std::uint32_t iterations = 8;
  bool early_stop = true;  // of the decoder, once a block's checks hold

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("block", self.block);
    visit("crc", self.crc);
    visit("mcs_table", self.mcs_table);
    visit("mcs_index", self.mcs_index);
    visit("modulation", self.modulation);
    visit("rate", self.rate);
    visit("base_graph", self.base_graph);
    visit("lifting", self.lifting);
    visit("redundancy_version", self.redundancy_version);
    visit("buffer_limit", self.buffer_limit);
    visit("iterations", self.iterations);
    visit("early_stop", self.early_stop);
  }

  std::uint32_t mcs_of(std::uint32_t user) const {
    return mcs_index.size() == 1 ? mcs_index[0] : mcs_index[user];
  }
};

struct Deadlines {
  double uplink_budget_ms = 1.0;   // from the air end of a block's last symbol to its bits
  double downlink_lead_ms = 0.5;   // a symbol's samples leave this long before its air start
  std::uint32_t precoder_age = 0;  // frames between the pilots and the downlink that uses them
  BlockSpan downlink_unit = BlockSpan::Symbol;  // what goes on air whole or not at all
  double lead_quantile = 0;  // of T_f, below which the lead does not stay; 0: it is as it is

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("uplink_budget_ms", self.uplink_budget_ms);
    visit("downlink_lead_ms", self.downlink_lead_ms);
    visit("precoder_age", self.precoder_age);
    visit("downlink_unit", self.downlink_unit);
    visit("lead_quantile", self.lead_quantile);
  }
};

/// Resource blocks (12 subcarriers) of one user in one slot, all its data symbols or some. What a
/// grant says nothing of is as in the Coding of its direction.
struct Grant {
  std::uint32_t user = 0;
  std::uint32_t slot = 0;
  Direction direction = Direction::Uplink;
  std::uint32_t first_block = 0;
  std::uint32_t blocks = 0;
  std::uint32_t redundancy_version = 0;
  std::uint32_t harq_process = 0;
  std::uint32_t first_symbol = 0;  // of the slot
  std::uint32_t symbols = 0;       // 0: to the end of the slot
  std::optional<ModulationChoice> modulation{};
  std::optional<std::uint32_t> mcs{};  // row of Coding::mcs_table
  double rate = 0;                     // 0: as the Coding's
  bool again = false;                  // what the user sent in this HARQ process before
};
/// Of a resource block (TS 38.211 4.4.4.1).
inline constexpr std::uint32_t kSubcarriersPerBlock = 12;
/// Resource blocks that a band needs, the last of which may be cut off.
constexpr std::uint32_t blocks_for(std::uint32_t subcarriers) {
  return (subcarriers + kSubcarriersPerBlock - 1) / kSubcarriersPerBlock;
}
/// Numbers of a grant in Grants::list, and which of them is what.
inline constexpr std::size_t kGrantNumbers = 13, kGrantDirection = 2, kGrantVersion = 5,
                             kGrantModulation = 9, kGrantAgain = 12;
inline constexpr double kRateUnits = 10240;  // 38.214's tables have rates in tenths of 1/1024

/// RoundRobin: in slot n user u has share (u + n) mod K of the band. List: `grants` as given. Port:
/// the program at the data port schedules each frame (WorkSource). Scheduler: that of mac/ does, by
/// what waits for whom.
struct Grants {
  GrantKind kind = GrantKind::Full;
  std::uint32_t frames = 1;  // that differ, one after another; slots count on through them
  // One grant as thirteen numbers: user, slot, direction (0 up, 1 down), first block, blocks, rv,
  // HARQ, first symbol, symbols, and 0 or the modulation's place among its kinds from 1 on, the
  // MCS row + 1, the rate times kRateUnits, 1 if it is sent again.
  std::vector<std::uint32_t> list;
  std::uint32_t harq_processes = 0;  // of each user's uplink, whose soft bits are kept; of a port
  GrantPolicy policy = GrantPolicy::ProportionalFair;  // a scheduler's,
  double target_bler = 0.1;                            // and the share of its blocks that may fail

  /// Whether frames are scheduled while they come.
  bool live() const { return kind == GrantKind::Port || kind == GrantKind::Scheduler; }

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("frames", self.frames);
    visit("list", self.list);
    visit("harq_processes", self.harq_processes);
    visit("policy", self.policy);
    visit("target_bler", self.target_bler);
  }
};

/// A cell's frame. Valid when validate() finds no problem; Frame (frame/frame.hpp) derives the
/// rest.
struct FrameFormat {
  std::uint32_t antennas = 8;  // M
  std::uint32_t users = 2;     // K
  std::uint32_t cell_id = 0;
  Numerology numerology;
  std::string schedule = "PPUUUUUUUUUUUU";  // P pilot, U uplink, D downlink, G guard
  std::uint32_t symbols_per_slot = 14;
  Pilots pilots;
  Combiner combiner;
  Coding uplink;
  Coding downlink;
  Grants grants;
  Deadlines deadlines;
  std::uint32_t ring = 4;  // frames in flight

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("antennas", self.antennas);
    visit("users", self.users);
    visit("cell_id", self.cell_id);
    visit("numerology", self.numerology);
    visit("schedule", self.schedule);
    visit("symbols_per_slot", self.symbols_per_slot);
    visit("pilots", self.pilots);
    visit("combiner", self.combiner);
    visit("uplink", self.uplink);
    visit("downlink", self.downlink);
    visit("grants", self.grants);
    visit("deadlines", self.deadlines);
    visit("ring", self.ring);
  }

  /// Everything that is wrong, each under the key to change; empty when the format can be built.
  std::vector<Problem> validate() const;
};

/// Slots of a frame, the last of which may be shorter.
std::uint32_t slots_of(const FrameFormat& format);

/// The grants in force, written out whatever their kind; none where frames are scheduled while they
/// come.
std::vector<Grant> expand_grants(const FrameFormat& format);

/// Grants of kGrantNumbers numbers each, as in Grants::list.
std::vector<Grant> read_grants(std::span<const std::uint32_t> list);
/// What is wrong with grants of so many frames, under "grants.list.N" and the number's name. One
/// that is wrong does not count beside the others.
void check_grants(const FrameFormat& format, std::uint32_t frames,
                  std::span<const std::uint32_t> list, std::vector<Problem>& problems);

/// Samples of the cyclic prefix of symbol `index` counted from the frame's start.
std::uint32_t prefix_samples(const Numerology& numerology, std::uint32_t index);

double sample_rate_hz(const Numerology& numerology);

}  // namespace carillon::frame

namespace carillon {

template <>
struct EnumNames<frame::PrefixKind> {
  static constexpr std::array<std::string_view, 2> value{"nr-normal", "constant"};
};
template <>
struct EnumNames<frame::PilotKind> {
  static constexpr std::array<std::string_view, 2> value{"time", "comb"};
};
template <>
struct EnumNames<frame::BlockSpan> {
  static constexpr std::array<std::string_view, 3> value{"frame", "slot", "symbol"};
};
template <>
struct EnumNames<frame::ModulationChoice> {
  static constexpr std::array<std::string_view, 4> value{"qpsk", "16qam", "64qam", "256qam"};
};
template <>
struct EnumNames<frame::McsTable> {
  static constexpr std::array<std::string_view, 4> value{"none", "64qam", "256qam", "low-se"};
};
template <>
struct EnumNames<frame::GrantKind> {
  static constexpr std::array<std::string_view, 5> value{"full", "round-robin", "list", "port",
                                                         "scheduler"};
};
template <>
struct EnumNames<frame::GrantPolicy> {
  static constexpr std::array<std::string_view, 2> value{"round-robin", "proportional-fair"};
};
template <>
struct EnumNames<frame::Precision> {
  static constexpr std::array<std::string_view, 4> value{"fastest", "fp32", "fp16", "int16"};
};
template <>
struct EnumNames<phy::Detector> {
  static constexpr std::array<std::string_view, 3> value{"zf", "mmse", "mrc"};
};

}  // namespace carillon
