#include "frame/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "frame/occasions.hpp"
#include "frame/program.hpp"
#include "phy/pilot/pilot.hpp"

namespace carillon::frame {
namespace {

using Problems = std::vector<Problem>;

// Noise is measured on unused bins, of which the one next to either edge is left out.
constexpr std::uint32_t kLeastUnusedBins = 3;
// Last rows of the MCS tables.
constexpr std::array<std::uint32_t, 4> kMcsRows{0, 28, 27, 28};
// Frames that differ, and a user's grants in one direction of a slot.
constexpr std::uint32_t kMostFrames = 4096, kMostSlots = 65'535, kMostGrantsOfASlot = 16;

std::string number(double value) { return detail::number_text(value); }
std::string milliseconds(double value) { return number(std::round(value * 1e3) / 1e3) + " ms"; }

void require(bool good, Problems& problems, std::string key, std::string message) {
  if (!good) problems.push_back({std::move(key), std::move(message)});
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
    in_range(n.spacing_khz, 1, 480, "numerology.spacing_khz", problems);
    in_range(n.prefix_samples, 0, n.fft_size, "numerology.prefix_samples", problems);
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
  require(count(s, 'U') > 0 || count(s, 'D') > 1, problems, "schedule",
          "carries no data: it needs at least one U, or a second D, since the first carries only "
          "references");
  in_range(f.symbols_per_slot, 1, 140, "symbols_per_slot", problems);
}

void check_pilots(const FrameFormat& f, Problems& problems) {
  const std::uint32_t all = count(f.schedule, 'P'), occasions = f.pilots.occasions;
  const bool divides = occasions >= 1 && occasions <= std::max(all, 1U) && all % occasions == 0;
  require(divides, problems, "pilots.occasions",
          "is " + std::to_string(occasions) + " but must divide the " + std::to_string(all) +
              " P of the schedule, of which each occasion has as many; add P, or set it to 1");
  const std::uint32_t symbols = divides ? all / occasions : all;
  const bool comb = f.pilots.kind == PilotKind::Comb;
  if (comb) in_range(f.pilots.comb, 1, 16, "pilots.comb", problems);
  require(comb || f.pilots.comb == 1, problems, "pilots.comb",
          "is " + std::to_string(f.pilots.comb) +
              " but must be 1 with pilots.kind time, where users do not share a P symbol; set "
              "pilots.kind to comb, or delete it");
  const std::uint32_t width = comb ? f.pilots.comb : 1;
  require(symbols * width >= f.users, problems, "users",
          "is " + std::to_string(f.users) + " but " + std::to_string(symbols) + " pilot symbols" +
              (occasions > 1 ? " of each occasion" : "") + " with comb " + std::to_string(width) +
              " separate only " + std::to_string(symbols * width) +
              " users; add P to the schedule, widen pilots.comb, or have fewer users" +
              (occasions > 1 ? " or pilots.occasions" : ""));
  in_range(f.pilots.root, 1, 99999, "pilots.root", problems);
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
    in_range(rows[i], 0, last, rows.size() == 1 ? key : key + "." + std::to_string(i), problems);
}

void check_coding(const Coding& c, std::uint32_t users, const std::string& key,
                  Problems& problems) {
  if (c.mcs_table == McsTable::None) {
    in_range(c.rate, 0.01, 0.95, key + ".rate", problems);
    require(c.mcs_index == std::vector<std::uint32_t>{0}, problems, key + ".mcs_index",
            "is " + detail::value_text(c.mcs_index) + " but must be 0 with " + key +
                ".mcs_table none; set the table to 64qam, 256qam or low-se, or delete it");
  } else {
    check_rows(c, users, kMcsRows[static_cast<std::size_t>(c.mcs_table)], key + ".mcs_index",
               problems);
  }
  in_range(c.base_graph, 0, 2, key + ".base_graph", problems);
  in_range(c.lifting, 0, phy::kMaxLifting, key + ".lifting", problems);
  in_range(c.redundancy_version, 0, 3, key + ".redundancy_version", problems);
  in_range(c.buffer_limit, 0.3, 1, key + ".buffer_limit", problems);
  in_range(c.iterations, 1, 100, key + ".iterations", problems);
}

// Blocks that span the frame take these from the grant that they begin with.
bool transports_alike(const Grant& a, const Grant& b) {
  return a.redundancy_version == b.redundancy_version && a.harq_process == b.harq_process &&
         a.modulation == b.modulation && a.mcs == b.mcs && a.rate == b.rate;
}

bool overlap(const Grant& a, const Grant& b, std::uint32_t symbols_per_slot) {
  const auto end = [&](const Grant& g) {
    return g.symbols == 0 ? symbols_per_slot : g.first_symbol + g.symbols;
  };
  return a.first_block < b.first_block + b.blocks && b.first_block < a.first_block + a.blocks &&
         a.first_symbol < end(b) && b.first_symbol < end(a);
}

void check_own_coding(const FrameFormat& f, const Grant& g, const std::uint32_t* numbers,
                      const std::string& key, Problems& problems) {
  const Coding& c = g.direction == Direction::Uplink ? f.uplink : f.downlink;
  in_range(numbers[kGrantModulation], 0, 4, key + ".modulation", problems);
  if (c.mcs_table == McsTable::None) {
    require(!g.mcs, problems, key + ".mcs",
            "names a row of the MCS table, but the direction's mcs_table is none");
    // 0.01 is no whole number of units.
    require(g.rate == 0 || (g.rate > 0.01 - 0.5 / kRateUnits && g.rate <= 0.95), problems,
            key + ".rate", "is " + number(g.rate) + " but must be between 0.01 and 0.95");
    return;
  }
  if (g.mcs)
    in_range(*g.mcs, 0, kMcsRows[static_cast<std::size_t>(c.mcs_table)], key + ".mcs", problems);
  require(!g.modulation, problems, key + ".modulation",
          "is given beside the direction's mcs_table");
  require(!(g.rate > 0), problems, key + ".rate", "is given beside the direction's mcs_table");
}

void check_grant(const FrameFormat& f, std::uint32_t frames, const Grant& g,
                 const std::uint32_t* numbers, const std::string& key, Problems& problems) {
  in_range(g.user, 0, f.users - 1, key + ".user", problems);
  in_range(g.slot, 0, static_cast<double>(frames * std::uint64_t{slots_of(f)}) - 1, key + ".slot",
           problems);
  in_range(numbers[kGrantDirection], 0, 1, key + ".direction", problems);
  const std::uint32_t most = blocks_for(f.numerology.subcarriers);
  in_range(g.first_block, 0, most - 1, key + ".first_block", problems);
  const std::uint32_t room = most - std::min(most - 1, g.first_block);
  in_range(g.blocks, 1, room, key + ".blocks", problems);
  in_range(g.redundancy_version, 0, 3, key + ".redundancy_version", problems);
  in_range(g.harq_process, 0, 15, key + ".harq_process", problems);
  const std::uint32_t last = f.symbols_per_slot - 1;
  in_range(g.first_symbol, 0, last, key + ".first_symbol", problems);
  in_range(g.symbols, 0, f.symbols_per_slot - std::min(last, g.first_symbol), key + ".symbols",
           problems);
  in_range(numbers[kGrantAgain], 0, 1, key + ".again", problems);
  require(numbers[kGrantAgain] != 1 ||
              (f.grants.kind == GrantKind::Port && g.direction == Direction::Uplink),
          problems, key + ".again", "is for the uplink of cells of grants.kind port");
  check_own_coding(f, g, numbers, key, problems);
}

// A user's grants of a slot and direction share no resource element, and of blocks that span the
// frame there is one in a slot, coded like the first. No more users share a combiner than there are
// antennas.
class GrantsTogether {
 public:
  GrantsTogether(const FrameFormat& f, const std::vector<Grant>& grants, Problems& problems)
      : f_(f), grants_(grants), problems_(problems) {
    if (f.pilots.occasions > 1) symbols_ = lay_out_symbols(f);
  }

  /// Of a grant that is right by itself. One that is not right beside those before it does not
  /// count for those after it.
  void check(std::size_t index) {
    const Grant& g = grants_[index];
    const std::string key = "grants.list." + std::to_string(index);
    const std::size_t before = problems_.size();
    auto& others = of_slot_[{g.user, g.slot, g.direction}];
    const bool spans = spans_frame(g);
    for (const std::size_t other : others) {
      if (!spans && !overlap(g, grants_[other], f_.symbols_per_slot)) continue;
      if (spans)
        beside(other, key, ProblemCode::SharesSlot, "is for the same user, slot and direction as ",
               ", with blocks that span the frame");
      else
        beside(other, key, ProblemCode::SharesElements, "shares resource elements with ",
               " of the same user");
      return;
    }
    require(others.size() < kMostGrantsOfASlot, problems_, key,
            "is one more than the " + std::to_string(kMostGrantsOfASlot) +
                " that a user may have in one direction of a slot");
    if (spans) check_first(g, index, key);
    if (f_.users > f_.antennas && problems_.size() == before) check_company(g, key);
    if (problems_.size() == before) others.push_back(index);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, Direction>;
  using Company = std::vector<std::set<std::uint32_t>>;  // [group of subcarriers]

  bool spans_frame(const Grant& g) const {
    return (g.direction == Direction::Uplink ? f_.uplink : f_.downlink).block == BlockSpan::Frame;
  }

  // What is wrong with a grant because of another.
  void beside(std::size_t other, const std::string& key, ProblemCode code, const char* before,
              const char* behind) {
    problems_.push_back({key,
                         before + ("grants.list[" + std::to_string(other) + "]") + behind,
                         code,
                         {static_cast<double>(other)}});
  }

  void check_first(const Grant& g, std::size_t index, const std::string& key) {
    const auto first = first_of_.try_emplace({g.user, g.slot / slots_of(f_), g.direction}, index);
    const std::size_t other = first.first->second;
    if (!transports_alike(g, grants_[other]))
      beside(other, key, ProblemCode::SharesBlock,
             "has another redundancy_version, harq_process or coding than ",
             ", with which it shares a transport block");
  }

  // In each of the frame's pilot occasions whose combiner it has. A downlink has one precoder for
  // all slots of a frame.
  void check_company(const Grant& g, const std::string& key) {
    const bool up = g.direction == Direction::Uplink;
    const std::uint32_t group = f_.combiner.group, band = f_.numerology.subcarriers;
    const std::uint32_t end =
        std::min(band, kSubcarriersPerBlock * std::min(band, g.first_block + g.blocks));
    const std::uint32_t first = kSubcarriersPerBlock * g.first_block / group;
    const auto occasions = occasions_of(g);
    const auto company = [&](std::uint16_t occasion) -> Company& {
      auto& users = of_group_[{up ? g.slot : g.slot / slots_of(f_), occasion, g.direction}];
      users.resize((band + group - 1) / group);
      return users;
    };
    for (const std::uint16_t occasion : occasions)
      for (std::uint32_t n = first; n * group < end; ++n) {
        const auto& users = company(occasion)[n];
        if (users.contains(g.user) || users.size() < f_.antennas) continue;
        problems_.push_back(
            {key, "makes " + std::to_string(users.size() + 1) +
                      " users share a combiner, from subcarrier " + std::to_string(n * group) +
                      " on; a linear detector separates at most as many as there are antennas (" +
                      std::to_string(f_.antennas) + ")"});
        return;
      }
    for (const std::uint16_t occasion : occasions)
      for (std::uint32_t n = first; n * group < end; ++n) company(occasion)[n].insert(g.user);
  }

  std::set<std::uint16_t> occasions_of(const Grant& g) const {
    std::set<std::uint16_t> occasions;
    if (f_.pilots.occasions == 1) return {0};
    const std::size_t begin = g.slot % slots_of(f_) * f_.symbols_per_slot + g.first_symbol;
    const std::size_t count =
        g.symbols == 0 ? f_.symbols_per_slot - g.first_symbol : std::size_t{g.symbols};
    for (std::size_t s = begin; s < std::min(begin + count, symbols_.size()); ++s)
      if (carries_data(symbols_[s], g.direction)) occasions.insert(symbols_[s].occasion);
    return occasions;
  }

  const FrameFormat& f_;
  const std::vector<Grant>& grants_;
  Problems& problems_;
  std::vector<Symbol> symbols_;                      // with several pilot occasions
  std::map<Key, std::vector<std::size_t>> of_slot_;  // [user, slot, direction]
  std::map<Key, std::size_t> first_of_;              // [user, frame, direction]
  std::map<Key, Company> of_group_;                  // [slot or frame, occasion, direction]
};

// It grants slots, in blocks as long as it likes.
void check_scheduler(const FrameFormat& f, Problems& problems) {
  in_range(f.grants.target_bler, 0.001, 0.5, "grants.target_bler", problems);
  const auto check = [&](char kind, const Coding& coding, const std::string& direction) {
    if (f.schedule.find(kind) == std::string::npos) return;
    require(coding.block == BlockSpan::Slot, problems, direction + ".block",
            "must be slot with grants.kind scheduler, which grants slots");
    require(coding.lifting == 0, problems, direction + ".lifting",
            "must be 0 with grants.kind scheduler, whose blocks have all lengths");
  };
  check('U', f.uplink, "uplink");
  check('D', f.downlink, "downlink");
  // The precoder keeps all apart who receive in a frame, and the scheduler grants slot by slot.
  require(f.users <= f.antennas || f.schedule.find('D') == std::string::npos, problems, "users",
          "is " + std::to_string(f.users) + " but must not exceed antennas (" +
              std::to_string(f.antennas) +
              ") with grants.kind scheduler and D symbols; have fewer users, or no D");
}

void check_list(const FrameFormat& f, Problems& problems) {
  const auto& list = f.grants.list;
  const std::uint32_t most_frames = std::max(1U, std::min(kMostFrames, kMostSlots / slots_of(f)));
  in_range(f.grants.frames, 1, most_frames, "grants.frames", problems);
  in_range(f.grants.harq_processes, 0, 16, "grants.harq_processes", problems);
  require(f.grants.harq_processes == 0 || f.grants.kind == GrantKind::Port, problems,
          "grants.harq_processes",
          "counts only with grants.kind port, where blocks can be sent again");
  require(f.grants.harq_processes == 0 || f.uplink.block == BlockSpan::Slot, problems,
          "uplink.block",
          "must be slot with grants.harq_processes: a process has one block at a time");
  if (f.grants.kind == GrantKind::Scheduler) check_scheduler(f, problems);
  if (f.grants.kind != GrantKind::List) {
    require(list.empty(), problems, "grants.list",
            "holds grants but must be empty with grants.kind " + detail::value_text(f.grants.kind) +
                ", which makes its own; set grants.kind to list, or delete it");
    require(f.grants.frames == 1, problems, "grants.frames",
            "is " + std::to_string(f.grants.frames) + " but must be 1 with grants.kind " +
                detail::value_text(f.grants.kind) + ", which does the same in every frame");
    return;
  }
  require(!list.empty(), problems, "grants.list",
          "is empty but grants.kind is list; list at least one grant, or set grants.kind to full "
          "or round-robin");
  if (!problems.empty()) return;
  const std::size_t most =
      std::size_t{f.users} * slots_of(f) * f.grants.frames * 2 * kMostGrantsOfASlot;
  if (list.size() % kGrantNumbers != 0 || list.size() / kGrantNumbers > most) {
    problems.push_back({"grants.list", "holds " + std::to_string(list.size()) +
                                           " numbers but must hold thirteen for each of at most " +
                                           std::to_string(most) + " grants"});
    return;
  }
  check_grants(f, f.grants.frames, list, problems);
}

double symbol_start_ms(const FrameFormat& f, std::size_t symbol) {
  double samples = 0;
  for (std::size_t i = 0; i < symbol; ++i)
    samples += prefix_samples(f.numerology, static_cast<std::uint32_t>(i)) + f.numerology.fft_size;
  return samples / sample_rate_hz(f.numerology) * 1e3;
}

// Its place in the schedule, or npos.
std::size_t last_of_first_occasion(const FrameFormat& f) {
  std::uint32_t left = count(f.schedule, 'P') / f.pilots.occasions;
  for (std::size_t s = 0; s < f.schedule.size(); ++s)
    if (f.schedule[s] == 'P' && --left == 0) return s;
  return std::string::npos;
}

void check_deadlines(const FrameFormat& f, Problems& problems) {
  const auto& d = f.deadlines;
  in_range(d.uplink_budget_ms, 0.01, 1000, "deadlines.uplink_budget_ms", problems);
  in_range(d.downlink_lead_ms, 0, 100, "deadlines.downlink_lead_ms", problems);
  in_range(d.lead_quantile, 0, 0.9999, "deadlines.lead_quantile", problems);
  require(d.precoder_age < f.ring, problems, "deadlines.precoder_age",
          "is " + std::to_string(d.precoder_age) + " but must be below ring (" +
              std::to_string(f.ring) + ")");
  const auto first_downlink = f.schedule.find('D');
  const auto first_uplink = f.schedule.find('U');
  const auto last_pilot = last_of_first_occasion(f);
  if (first_uplink < last_pilot && last_pilot != std::string::npos) {
    const double wait = symbol_start_ms(f, last_pilot + 1) - symbol_start_ms(f, first_uplink + 1);
    require(d.uplink_budget_ms > wait, problems, "deadlines.uplink_budget_ms",
            "is " + milliseconds(d.uplink_budget_ms) +
                ", but the first U waits for pilots that end " + milliseconds(wait) +
                " after it; raise it, or move P before U");
  }
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

// Where a row of an MCS table gives the rate, the row is what to change.
void name_rows(const Coding& c, const std::string& key, Problems& problems) {
  if (c.mcs_table == McsTable::None) return;
  for (Problem& problem : problems)
    if (problem.key == key + ".rate")
      problem = {key + ".mcs_index", "names a row with which " + problem.message};
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

namespace {

Grant read_grant(const std::uint32_t* n) {
  Grant g{.user = n[0],
          .slot = n[1],
          .direction = n[2] == 0 ? Direction::Uplink : Direction::Downlink,
          .first_block = n[3],
          .blocks = n[4],
          .redundancy_version = n[5],
          .harq_process = n[6],
          .first_symbol = n[7],
          .symbols = n[8]};
  if (n[9] != 0) g.modulation = static_cast<ModulationChoice>(std::min(n[9] - 1, 3U));
  if (n[10] != 0) g.mcs = n[10] - 1;
  g.rate = n[11] / kRateUnits;
  g.again = n[kGrantAgain] != 0;
  return g;
}

}  // namespace

std::vector<Grant> read_grants(std::span<const std::uint32_t> list) {
  std::vector<Grant> grants;
  for (std::size_t i = 0; i + kGrantNumbers <= list.size(); i += kGrantNumbers)
    grants.push_back(read_grant(&list[i]));
  return grants;
}

void check_grants(const FrameFormat& f, std::uint32_t frames, std::span<const std::uint32_t> list,
                  Problems& problems) {
  const std::vector<Grant> grants = read_grants(list);
  GrantsTogether together(f, grants, problems);
  for (std::size_t index = 0; index < grants.size(); ++index) {
    const std::size_t before = problems.size();
    check_grant(f, frames, grants[index], &list[index * kGrantNumbers],
                "grants.list." + std::to_string(index), problems);
    if (problems.size() == before) together.check(index);
  }
}

std::uint32_t slots_of(const FrameFormat& f) {
  return static_cast<std::uint32_t>((f.schedule.size() + f.symbols_per_slot - 1) /
                                    f.symbols_per_slot);
}

std::vector<Grant> expand_grants(const FrameFormat& f) {
  if (f.grants.kind == GrantKind::List) return read_grants(f.grants.list);
  std::vector<Grant> grants;
  if (f.grants.live()) return grants;
  const std::uint32_t slots = slots_of(f);
  const std::uint32_t band = blocks_for(f.numerology.subcarriers);
  for (const Direction direction : {Direction::Uplink, Direction::Downlink}) {
    const auto& coding = direction == Direction::Uplink ? f.uplink : f.downlink;
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      for (std::uint32_t user = 0; user < f.users; ++user) {
        const std::uint32_t share = (user + slot) % f.users;
        const bool full = f.grants.kind == GrantKind::Full;
        const std::uint32_t first = full ? 0 : band * share / f.users;
        const std::uint32_t end = full ? band : band * (share + 1) / f.users;
        if (end > first)
          grants.push_back({.user = user,
                            .slot = slot,
                            .direction = direction,
                            .first_block = first,
                            .blocks = end - first,
                            .redundancy_version = coding.redundancy_version});
      }
  }
  return grants;
}

std::vector<Problem> FrameFormat::validate() const {
  Problems problems;
  in_range(antennas, 1, 256, "antennas", problems);
  in_range(users, 1, 128, "users", problems);
  in_range(cell_id, 0, 1007, "cell_id", problems);
  const bool all_together = grants.kind == GrantKind::Full || deadlines.precoder_age > 0;
  require(users <= antennas || !all_together, problems, "users",
          "is " + std::to_string(users) +
              " but a linear detector separates at most as many users "
              "as there are antennas (" +
              std::to_string(antennas) + ")" +
              (grants.kind == GrantKind::Full ? ""
                                              : ", with deadlines.precoder_age above 0 all of "
                                                "them share a precoder"));
  check_numerology(numerology, problems);
  check_schedule(*this, problems);
  check_pilots(*this, problems);
  in_range(combiner.group, 1, 16, "combiner.group", problems);
  check_coding(uplink, users, "uplink", problems);
  check_coding(downlink, users, "downlink", problems);
  in_range(ring, 2, 64, "ring", problems);
  if (!problems.empty()) return problems;
  check_sequences(*this, problems);
  check_list(*this, problems);
  check_deadlines(*this, problems);
  if (problems.empty() && pilots.occasions > 1) check_occasions(*this, problems);
  if (!problems.empty()) return problems;
  const auto symbols = lay_out_symbols(*this);
  if (grants.live()) (void)room_for_any(*this, symbols, problems);
  const auto programs = compile(*this, symbols, problems);
  name_rows(uplink, "uplink", problems);
  name_rows(downlink, "downlink", problems);
  for (const FrameProgram& program : programs)
    if (problems.empty() && !program.gives_all_references(symbols))
      problems.push_back({"users", "is " + std::to_string(users) +
                                       ", of whom more share subcarriers of the downlink than "
                                       "there are of these: not all have references"});
  for (const FrameProgram& program : programs)
    if (const auto together = program.most_together(); problems.empty() && together > antennas)
      problems.push_back({"users", "is " + std::to_string(users) + ", of whom " +
                                       std::to_string(together) +
                                       " share a combiner, but a linear detector separates at "
                                       "most as many as there are antennas (" +
                                       std::to_string(antennas) + ")"});
  return problems;
}

}  // namespace carillon::frame
