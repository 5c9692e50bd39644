#include "frame/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "frame/blocks.hpp"
#include "phy/pilot/pilot.hpp"

namespace carillon::frame {
namespace {

using Problems = std::vector<Problem>;

// Noise is measured on unused bins, of which the one next to either edge is left out.
constexpr std::uint32_t kLeastUnusedBins = 3;

std::string number(double value) { return detail::number_text(value); }
std::string milliseconds(double value) { return number(std::round(value * 1e3) / 1e3) + " ms"; }

void require(bool good, Problems& problems, std::string key, std::string message) {
  if (!good) problems.push_back({std::move(key), std::move(message)});
}

void in_range(double value, double low, double high, Problems& problems, std::string key) {
  require(value >= low && value <= high, problems, std::move(key),
          "is " + number(value) + " but must be between " + number(low) + " and " + number(high));
}

void check_numerology(const Numerology& n, Problems& problems) {
  const bool power_of_two = n.fft_size != 0 && (n.fft_size & (n.fft_size - 1)) == 0;
  require(power_of_two && n.fft_size >= 128 && n.fft_size <= 4096, problems, "numerology.fft_size",
          "is " + std::to_string(n.fft_size) + " but must be 128, 256, 512, 1024, 2048 or 4096");
  if (power_of_two) {
    const std::uint32_t kept = kLeastUnusedBins + (n.dc_hole ? 1 : 0);
    const std::uint32_t most = std::max(n.fft_size, kept) - kept;
    require(n.subcarriers >= 12 && n.subcarriers <= most, problems, "numerology.subcarriers",
            "is " + std::to_string(n.subcarriers) + " but must be between 12 and " +
                std::to_string(most) + ": the " + std::to_string(n.fft_size) +
                " bins of numerology.fft_size less " + std::to_string(kept) +
                (n.dc_hole ? " for the hole at DC and" : "") + " to measure noise on");
  }
  if (n.prefix == PrefixKind::NrNormal) {
    require(
        n.spacing_khz == 15 || n.spacing_khz == 30 || n.spacing_khz == 60 || n.spacing_khz == 120,
        problems, "numerology.spacing_khz",
        "is " + number(n.spacing_khz) +
            " but the nr-normal prefix is defined for 15, 30, 60 and 120 kHz; use prefix: "
            "constant for other spacings");
  } else {
    in_range(n.spacing_khz, 1, 480, problems, "numerology.spacing_khz");
    in_range(n.prefix_samples, 0, n.fft_size, problems, "numerology.prefix_samples");
  }
}

std::uint32_t count(const std::string& schedule, char kind) {
  return static_cast<std::uint32_t>(std::count(schedule.begin(), schedule.end(), kind));
}

// Configuration errors are text for people: half a character of UTF-8 would spoil them.
std::string printable(char c) {
  if (c >= ' ' && c <= '~') return std::string("'") + c + "'";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "byte 0x%02x", static_cast<unsigned char>(c));
  return text.data();
}

void check_schedule(const FrameFormat& f, Problems& problems) {
  const auto& s = f.schedule;
  require(!s.empty() && s.size() <= 140, problems, "schedule",
          "has " + std::to_string(s.size()) + " symbols but must have 1 to 140");
  const auto bad = s.find_first_not_of("PUDG");
  if (bad != std::string::npos)
    problems.push_back({"schedule", "has " + printable(s[bad]) + " at place " +
                                        std::to_string(bad) + " but may hold only P, U, D and G"});
  require(count(s, 'U') + count(s, 'D') > 0, problems, "schedule",
          "carries no data: it needs at least one U or D");
  require(count(s, 'D') != 1, problems, "schedule",
          "has one D symbol, which only carries references: downlink data needs a second D");
  const auto first_data = s.find_first_of('U');
  const auto last_pilot = s.find_last_of('P');
  require(
      first_data == std::string::npos || last_pilot == std::string::npos || last_pilot < first_data,
      problems, "schedule", "has a pilot after uplink data: all P must come before the first U");
  in_range(f.symbols_per_slot, 1, 140, problems, "symbols_per_slot");
}

void check_pilots(const FrameFormat& f, Problems& problems) {
  const std::uint32_t symbols = count(f.schedule, 'P');
  const bool comb = f.pilots.kind == PilotKind::Comb;
  if (comb) in_range(f.pilots.comb, 1, 16, problems, "pilots.comb");
  require(comb || f.pilots.comb == 1, problems, "pilots.comb",
          "is " + std::to_string(f.pilots.comb) +
              " but must be 1 with pilots.kind time, where users do not share a P symbol; set "
              "pilots.kind to comb, or delete it");
  const std::uint32_t width = comb ? f.pilots.comb : 1;
  require(symbols * width >= f.users, problems, "users",
          "is " + std::to_string(f.users) + " but " + std::to_string(symbols) +
              " pilot symbols with comb " + std::to_string(width) + " separate only " +
              std::to_string(symbols * width) +
              " users; add P to the schedule, widen pilots.comb, or have fewer users");
  in_range(f.pilots.root, 1, 99999, problems, "pilots.root");
}

// What only makes sense once numerology, pilots and schedule are each in their range.
void check_sequences(const FrameFormat& f, Problems& problems) {
  const std::uint32_t band = f.numerology.subcarriers;
  require(f.pilots.kind == PilotKind::Time || f.pilots.comb <= band, problems, "pilots.comb",
          "is " + std::to_string(f.pilots.comb) + " but must not exceed numerology.subcarriers (" +
              std::to_string(band) + "), or a user has no pilot");
  require(count(f.schedule, 'D') == 0 || f.users <= band, problems, "users",
          "is " + std::to_string(f.users) + " but the first D symbol has room for references of " +
              std::to_string(band) + " users only, one on each of numerology.subcarriers");
  try {
    phy::zadoff_chu(band, f.pilots.root);
  } catch (const std::invalid_argument& error) {
    problems.push_back({"pilots.root", std::string("cannot be used: ") + error.what()});
  }
}

void check_rows(const Coding& c, std::uint32_t users, std::uint32_t last, const std::string& key,
                Problems& problems) {
  const auto& rows = c.mcs_index;
  require(rows.size() == 1 || rows.size() == users, problems, key,
          "has " + std::to_string(rows.size()) + " rows but needs one, or one for each of the " +
              std::to_string(users) + " users");
  for (std::size_t i = 0; i < rows.size(); ++i)
    in_range(rows[i], 0, last, problems, rows.size() == 1 ? key : key + "." + std::to_string(i));
}

void check_coding(const Coding& c, std::uint32_t users, const std::string& key,
                  Problems& problems) {
  static constexpr std::array<std::uint32_t, 4> kMcsRows{0, 28, 27, 28};
  if (c.mcs_table == McsTable::None) {
    in_range(c.rate, 0.01, 0.95, problems, key + ".rate");
    require(c.mcs_index == std::vector<std::uint32_t>{0}, problems, key + ".mcs_index",
            "is " + detail::value_text(c.mcs_index) + " but must be 0 with " + key +
                ".mcs_table none; set the table to 64qam, 256qam or low-se, or delete it");
  } else {
    check_rows(c, users, kMcsRows[static_cast<std::size_t>(c.mcs_table)], key + ".mcs_index",
               problems);
  }
  in_range(c.base_graph, 0, 2, problems, key + ".base_graph");
  in_range(c.lifting, 0, phy::kMaxLifting, problems, key + ".lifting");
  in_range(c.redundancy_version, 0, 3, problems, key + ".redundancy_version");
  in_range(c.buffer_limit, 0.3, 1, problems, key + ".buffer_limit");
  in_range(c.iterations, 1, 100, problems, key + ".iterations");
}

// Blocks that span the frame take these from the grant that they begin with.
bool transports_alike(const Grant& a, const Grant& b) {
  return a.redundancy_version == b.redundancy_version && a.harq_process == b.harq_process;
}

void check_grant(const FrameFormat& f, std::uint32_t slots, const Grant& g, const std::string& key,
                 Problems& problems) {
  in_range(g.user, 0, f.users - 1, problems, key + ".user");
  in_range(g.slot, 0, slots - 1, problems, key + ".slot");
  const std::uint32_t most = (f.numerology.subcarriers + 11) / 12;
  in_range(g.first_block, 0, most - 1, problems, key + ".first_block");
  const std::uint32_t room = most - std::min(most - 1, g.first_block);
  in_range(g.blocks, 1, room, problems, key + ".blocks");
  in_range(g.redundancy_version, 0, 3, problems, key + ".redundancy_version");
  in_range(g.harq_process, 0, 15, problems, key + ".harq_process");
}

void check_grants(const FrameFormat& f, Problems& problems) {
  const auto& list = f.grants.list;
  if (f.grants.kind != GrantKind::List) {
    require(list.empty(), problems, "grants.list",
            "holds grants but must be empty with grants.kind " + detail::value_text(f.grants.kind) +
                ", which makes its own; set grants.kind to list, or delete it");
    return;
  }
  require(!list.empty(), problems, "grants.list",
          "is empty but grants.kind is list; list at least one grant, or set grants.kind to full "
          "or round-robin");
  const auto slots =
      static_cast<std::uint32_t>((f.schedule.size() + f.symbols_per_slot - 1) / f.symbols_per_slot);
  const std::size_t most = std::size_t{f.users} * slots * 2;
  if (list.size() % 7 != 0 || list.size() / 7 > most) {
    problems.push_back({"grants.list", "holds " + std::to_string(list.size()) +
                                           " numbers but must hold seven for each of at most " +
                                           std::to_string(most) + " grants"});
    return;
  }
  std::vector<Grant> seen;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Direction>, std::size_t> taken;
  std::map<std::pair<std::uint32_t, Direction>, std::size_t> first_of;
  for (const Grant& g : expand_grants(f)) {
    const std::size_t index = seen.size();
    const std::string key = "grants.list." + std::to_string(index);
    in_range(list[7 * index + 2], 0, 1, problems, key + ".direction");
    check_grant(f, slots, g, key, problems);
    const auto twin = taken.try_emplace({g.user, g.slot, g.direction}, index);
    require(twin.second, problems, key,
            "is for the same user, slot and direction as grants.list[" +
                std::to_string(twin.first->second) + "]");
    const std::size_t first = first_of.try_emplace({g.user, g.direction}, index).first->second;
    seen.push_back(g);
    const auto& coding = g.direction == Direction::Uplink ? f.uplink : f.downlink;
    require(coding.block != BlockSpan::Frame || transports_alike(g, seen[first]), problems, key,
            "has another redundancy_version or harq_process than grants.list[" +
                std::to_string(first) + "], with which it shares a transport block");
  }
}

double symbol_start_ms(const FrameFormat& f, std::size_t symbol) {
  double samples = 0;
  for (std::size_t i = 0; i < symbol; ++i)
    samples += prefix_samples(f.numerology, static_cast<std::uint32_t>(i)) + f.numerology.fft_size;
  return samples / sample_rate_hz(f.numerology) * 1e3;
}

void check_deadlines(const FrameFormat& f, Problems& problems) {
  const auto& d = f.deadlines;
  in_range(d.uplink_budget_ms, 0.01, 1000, problems, "deadlines.uplink_budget_ms");
  in_range(d.downlink_lead_ms, 0, 100, problems, "deadlines.downlink_lead_ms");
  in_range(d.lead_quantile, 0, 0.9999, problems, "deadlines.lead_quantile");
  require(d.precoder_age < f.ring, problems, "deadlines.precoder_age",
          "is " + std::to_string(d.precoder_age) + " but must be below ring (" +
              std::to_string(f.ring) + ")");
  const auto first_downlink = f.schedule.find('D');
  const auto last_pilot = f.schedule.find_last_of('P');
  if (first_downlink == std::string::npos || last_pilot == std::string::npos) return;
  if (d.precoder_age > 0) return;
  const double pilots_end = symbol_start_ms(f, last_pilot + 1);
  const double last_moment = symbol_start_ms(f, first_downlink) - d.downlink_lead_ms;
  require(last_moment > pilots_end, problems, "deadlines.downlink_lead_ms",
          "is " + number(d.downlink_lead_ms) + ", so the first D symbol must leave at " +
              milliseconds(last_moment) +
              " of the frame, but the pilots it is precoded with end at " +
              milliseconds(pilots_end) +
              "; lower it, move D later, or set deadlines.precoder_age to 1 or more");
}

}  // namespace

double sample_rate_hz(const Numerology& n) { return n.spacing_khz * 1e3 * n.fft_size; }

std::uint32_t prefix_samples(const Numerology& n, std::uint32_t index) {
  if (n.prefix == PrefixKind::Constant) return n.prefix_samples;
  // TS 38.211 5.3.1 with κ = 64 T_c: 144κ·2^-µ, and 16κ more at the start of each half millisecond.
  const auto symbols_per_half_ms = static_cast<std::uint32_t>(7 * n.spacing_khz / 15);
  const bool longer = index % symbols_per_half_ms == 0;
  const double kappa = sample_rate_hz(n) / 30.72e6;
  return static_cast<std::uint32_t>(
      std::lround(144 * kappa * 15 / n.spacing_khz + (longer ? 16 * kappa : 0)));
}

std::vector<Grant> expand_grants(const FrameFormat& f) {
  std::vector<Grant> grants;
  if (f.grants.kind == GrantKind::List) {
    const auto& l = f.grants.list;
    for (std::size_t i = 0; i + 7 <= l.size(); i += 7)
      grants.push_back({l[i], l[i + 1], l[i + 2] == 0 ? Direction::Uplink : Direction::Downlink,
                        l[i + 3], l[i + 4], l[i + 5], l[i + 6]});
    return grants;
  }
  const auto slots =
      static_cast<std::uint32_t>((f.schedule.size() + f.symbols_per_slot - 1) / f.symbols_per_slot);
  const std::uint32_t band = (f.numerology.subcarriers + 11) / 12;
  for (const Direction direction : {Direction::Uplink, Direction::Downlink}) {
    const auto& coding = direction == Direction::Uplink ? f.uplink : f.downlink;
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      for (std::uint32_t user = 0; user < f.users; ++user) {
        const std::uint32_t share = (user + slot) % f.users;
        const bool full = f.grants.kind == GrantKind::Full;
        const std::uint32_t first = full ? 0 : band * share / f.users;
        const std::uint32_t end = full ? band : band * (share + 1) / f.users;
        if (end > first)
          grants.push_back(
              {user, slot, direction, first, end - first, coding.redundancy_version, 0});
      }
  }
  return grants;
}

std::vector<Problem> FrameFormat::validate() const {
  Problems problems;
  in_range(antennas, 1, 256, problems, "antennas");
  in_range(users, 1, 128, problems, "users");
  in_range(cell_id, 0, 1007, problems, "cell_id");
  require(users <= antennas, problems, "users",
          "is " + std::to_string(users) +
              " but a linear detector separates at most as many users "
              "as there are antennas (" +
              std::to_string(antennas) + ")");
  check_numerology(numerology, problems);
  check_schedule(*this, problems);
  check_pilots(*this, problems);
  in_range(combiner.group, 1, 16, problems, "combiner.group");
  check_coding(uplink, users, "uplink", problems);
  check_coding(downlink, users, "downlink", problems);
  in_range(ring, 2, 64, problems, "ring");
  if (!problems.empty()) return problems;
  check_sequences(*this, problems);
  check_grants(*this, problems);
  check_deadlines(*this, problems);
  if (problems.empty()) lay_out_blocks(*this, lay_out_symbols(*this), problems);
  return problems;
}

}  // namespace carillon::frame
