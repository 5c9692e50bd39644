#include "frame/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/aligned.hpp"
#include "phy/gold/gold.hpp"
#include "phy/tile.hpp"

namespace carillon::frame {
namespace {

constexpr std::uint32_t kSubcarriersPerBlock = 12;
// What a frame may ask for in one direction: the smallest lifting sizes could make millions.
constexpr std::size_t kMostCodeBlocks = 1 << 18;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// A user's granted data symbols that share a transport block.
struct Run {
  std::uint32_t user;
  const Grant* grant;
  std::vector<std::uint16_t> symbols;
};

struct Band {
  std::uint32_t first, count;
};

Band band_of(const Grant& grant, std::uint32_t subcarriers) {
  const std::uint32_t first = grant.first_block * kSubcarriersPerBlock;
  const std::uint32_t end =
      std::min(subcarriers, (grant.first_block + grant.blocks) * kSubcarriersPerBlock);
  return {first, end - first};
}

// Data symbols of a direction; the first D symbol carries references instead.
std::vector<std::uint16_t> data_symbols(const std::vector<Symbol>& symbols, Direction d) {
  std::vector<std::uint16_t> found;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const bool uplink = symbols[i].kind == SymbolKind::Uplink;
    const bool downlink = symbols[i].kind == SymbolKind::Downlink && symbols[i].ordinal > 0;
    if (d == Direction::Uplink ? uplink : downlink) found.push_back(static_cast<std::uint16_t>(i));
  }
  return found;
}

class Layout {
 public:
  Layout(const FrameFormat& format, const std::vector<Symbol>& symbols,
         std::vector<Problem>& problems)
      : format_(format), symbols_(symbols), problems_(problems) {
    blocks_.allocations.resize(symbols.size() * format.users);
    blocks_.code_blocks_at.resize(symbols.size());
    blocks_.assemblies_at.resize(symbols.size());
    const std::size_t slots = std::size_t{symbols.back().slot} + 1;
    for (auto& grants : grant_of_) grants.resize(slots * format.users);
    for (const Grant& grant : grants_)
      grant_of_[static_cast<std::size_t>(grant.direction)][grant.slot * format.users + grant.user] =
          &grant;
  }

  Blocks build() {
    for (const Direction d : {Direction::Uplink, Direction::Downlink}) {
      std::vector<Run> runs;
      for (std::uint32_t user = 0; user < format_.users; ++user) add_runs(d, user, runs);
      // By symbol first: what all users have in one lies together, and is one copy to a GPU.
      std::ranges::stable_sort(runs, {}, [](const Run& run) { return run.symbols.front(); });
      for (const Run& run : runs) add_transport_block(d, run);
    }
    blocks_.signs.push_back(0);
    return std::move(blocks_);
  }

 private:
  const Coding& coding(Direction d) const {
    return d == Direction::Uplink ? format_.uplink : format_.downlink;
  }
  static std::string name(Direction d) { return d == Direction::Uplink ? "uplink" : "downlink"; }
  BlockSide& side(Direction d) { return blocks_.sides[static_cast<std::size_t>(d)]; }
  Allocation& allocation(std::uint32_t symbol, std::uint32_t user) {
    return blocks_.allocations[std::size_t{symbol} * format_.users + user];
  }

  // Cuts a user's granted data symbols into runs that share a transport block.
  void add_runs(Direction d, std::uint32_t user, std::vector<Run>& runs) {
    const BlockSpan span = coding(d).block;
    const std::size_t before = runs.size();
    for (const std::uint16_t symbol : data_symbols(symbols_, d)) {
      const std::uint32_t slot = symbols_[symbol].slot;
      const Grant* grant =
          grant_of_[static_cast<std::size_t>(d)][std::size_t{slot} * format_.users + user];
      if (grant == nullptr) continue;
      const bool first = runs.size() == before;
      const bool same_slot = !first && symbols_[runs.back().symbols.back()].slot == slot;
      if (first || span == BlockSpan::Symbol || (span == BlockSpan::Slot && !same_slot))
        runs.push_back({user, grant, {}});
      const Band band = band_of(*grant, format_.numerology.subcarriers);
      auto& a = allocation(symbol, user);
      a.first_subcarrier = band.first;
      a.count = band.count;
      runs.back().symbols.push_back(symbol);
    }
  }

  void add_transport_block(Direction d, const Run& run) {
    std::uint32_t re = 0;
    const auto index = static_cast<std::uint32_t>(side(d).transport_blocks.size());
    for (const std::uint16_t symbol : run.symbols) {
      auto& a = allocation(symbol, run.user);
      a.transport_block = index;
      a.first_re = re;
      re += a.count;
    }
    if (refused_[static_cast<std::size_t>(d)]) return;
    const auto plan = plan_for(d, re, run.grant->redundancy_version, coding(d).mcs_of(run.user));
    if (!plan) return;
    const phy::TransportPlan& p = blocks_.plans[*plan];
    auto& s = side(d);
    if (s.code_blocks.size() + p.C() > kMostCodeBlocks) return refuse_code_blocks(d);
    s.transport_blocks.push_back(
        {d, static_cast<std::uint16_t>(run.user), run.symbols.front(), run.symbols.back(),
         static_cast<std::uint16_t>(run.grant->redundancy_version),
         static_cast<std::uint16_t>(run.grant->harq_process), *plan,
         static_cast<std::uint32_t>(s.code_blocks.size()), s.payload_bytes});
    s.payload_bytes += round_up((p.A() + 7) / 8);
    s.payload_bits += p.A();
    place_code_blocks(d, index, run.symbols);
    precompute_signs(run.user, run.symbols, p);
  }

  void refuse_code_blocks(Direction d) {
    refused_[static_cast<std::size_t>(d)] = true;
    problems_.push_back({name(d) + ".lifting",
                         "is " + std::to_string(coding(d).lifting) + ", which cuts a frame into " +
                             "more than " + std::to_string(kMostCodeBlocks) +
                             " code blocks; choose a larger one, or 0 for 38.212's choice"});
  }

  // Plans are shared; what cannot be is a problem once, not for every user and symbol.
  std::optional<std::uint32_t> plan_for(Direction d, std::uint32_t re, std::uint32_t rv,
                                        std::uint32_t mcs) {
    const auto key = std::make_tuple(d, re, rv, mcs);
    if (const auto known = known_plans_.find(key); known != known_plans_.end())
      return known->second;
    auto& plan = known_plans_[key];
    const auto request = request_for(d, rv, mcs);
    if (!request) return {};
    auto made = phy::TransportPlan::make(*request, re);
    if (const auto* error = std::get_if<phy::CodingError>(&made)) {
      const bool ours = error->key != "tbs" && error->key != "resource_elements";
      add_problem(name(d) + "." + (ours ? error->key : "rate"), error->message);
      return {};
    }
    auto& p = std::get<phy::TransportPlan>(made);
    if (p.blocks().front().E < p.Kprime()) {
      add_problem(name(d) + ".lifting", "cuts " + std::to_string(re) + " resource elements into " +
                                            std::to_string(p.C()) + " code blocks of " +
                                            std::to_string(p.blocks().front().E) +
                                            " coded bits, fewer than their " +
                                            std::to_string(p.Kprime()) + " information bits");
      return {};
    }
    blocks_.plans.push_back(std::move(p));
    plan = static_cast<std::uint32_t>(blocks_.plans.size() - 1);
    return plan;
  }

  std::optional<phy::Coding> request_for(Direction d, std::uint32_t rv, std::uint32_t mcs) {
    const Coding& c = coding(d);
    phy::Coding request;
    request.crc = c.crc;
    request.modulation =
        static_cast<phy::Modulation>(2 * (static_cast<std::uint32_t>(c.modulation) + 1));
    request.rate = c.rate;
    if (c.mcs_table != McsTable::None) {
      const auto row = phy::mcs(static_cast<phy::McsTable>(c.mcs_table), mcs);
      if (!row) {
        add_problem(name(d) + ".mcs_index", "names a reserved row of the MCS table");
        return {};
      }
      request.modulation = row->modulation;
      request.rate = row->rate;
    }
    request.base_graph = static_cast<std::uint8_t>(c.base_graph);
    request.lifting = static_cast<std::uint16_t>(c.lifting);
    request.redundancy_version = static_cast<std::uint8_t>(rv);
    request.buffer_limit = c.buffer_limit;
    return request;
  }

  void add_problem(std::string key, std::string message) {
    for (const Problem& known : problems_)
      if (known.key == key && known.message == message) return;
    problems_.push_back({std::move(key), std::move(message)});
  }

  void place_code_blocks(Direction d, std::uint32_t block, const std::vector<std::uint16_t>& run) {
    auto& s = side(d);
    const auto& tb = s.transport_blocks[block];
    const auto& plan = blocks_.plans[tb.plan];
    const std::uint32_t soft_bytes = plan.soft_bytes();
    for (std::uint32_t r = 0; r < plan.C(); ++r) {
      const auto& cb = plan.blocks()[r];
      const std::uint16_t first = symbol_of(tb.user, run, cb.first_re);
      const std::uint16_t last = symbol_of(tb.user, run, cb.first_re + cb.re_count - 1);
      const auto index = static_cast<std::uint32_t>(s.code_blocks.size());
      s.code_blocks.push_back({block, r, first, last, s.info_bytes, s.coded_bytes});
      s.info_bytes += round_up((plan.K() + 7) / 8);
      s.coded_bytes +=
          round_up(d == Direction::Uplink ? soft_bytes : (cb.E + 7) / 8 + phy::kCodedPadding);
      blocks_.code_blocks_at[d == Direction::Uplink ? last : first].push_back(index);
    }
    if (d == Direction::Uplink && plan.C() > 1)
      blocks_.assemblies_at[tb.last_symbol].push_back(block);
  }

  std::uint16_t symbol_of(std::uint32_t user, const std::vector<std::uint16_t>& run,
                          std::uint32_t re) {
    return *std::find_if(run.begin(), run.end(), [&](std::uint16_t symbol) {
      const auto& a = allocation(symbol, user);
      return re < a.first_re + a.count;
    });
  }

  // TS 38.211 6.3.1.1 and 7.3.1.1: element j's bit i is scrambled by c(j·Qm + i).
  void precompute_signs(std::uint32_t user, const std::vector<std::uint16_t>& run,
                        const phy::TransportPlan& plan) {
    const std::uint32_t bits = plan.Qm();
    const std::size_t plane_bytes = phy::gold_plane_bytes(plan.re_count());
    std::vector<std::uint8_t> planes(bits * plane_bytes);
    phy::gold_planes(phy::data_scrambling_seed(user + 1, format_.cell_id), bits, plan.re_count(),
                     planes.data(), plane_bytes);
    for (const std::uint16_t symbol : run) {
      auto& a = allocation(symbol, user);
      a.signs = blocks_.signs.size();
      const std::uint32_t tiles = tiles_of(a);
      blocks_.signs.resize(a.signs + std::size_t{bits} * tiles);
      std::uint32_t lane = a.first_subcarrier % phy::kTileLanes, re = a.first_re;
      for (std::uint32_t t = 0; t < tiles; ++t) {
        std::uint16_t signs[phy::kMaxBitsPerSymbol];
        phy::lane_signs(planes.data(), plane_bytes, bits, re, lane, signs);
        for (std::uint32_t i = 0; i < bits; ++i) blocks_.signs[a.signs + i * tiles + t] = signs[i];
        re += phy::kTileLanes - lane;
        lane = 0;
      }
    }
  }

  const FrameFormat& format_;
  const std::vector<Symbol>& symbols_;
  std::vector<Problem>& problems_;
  std::vector<Grant> grants_ = expand_grants(format_);
  std::array<std::vector<const Grant*>, 2> grant_of_;  // [Direction][slot][user]; null: none
  std::map<std::tuple<Direction, std::uint32_t, std::uint32_t, std::uint32_t>,
           std::optional<std::uint32_t>>
      known_plans_;  // [direction, resource elements, redundancy version, row]
  std::array<bool, 2> refused_{};
  Blocks blocks_;
};

}  // namespace

std::vector<Symbol> lay_out_symbols(const FrameFormat& format) {
  std::vector<Symbol> symbols;
  std::array<std::uint16_t, 128> ordinals{};
  std::uint32_t sample = 0;
  const double tick = 1e9 / sample_rate_hz(format.numerology);
  for (std::uint32_t i = 0; i < format.schedule.size(); ++i) {
    const char kind = format.schedule[i];
    const std::uint32_t prefix = prefix_samples(format.numerology, i);
    const std::uint32_t samples = prefix + format.numerology.fft_size;
    symbols.push_back({static_cast<SymbolKind>(kind),
                       static_cast<std::uint16_t>(i / format.symbols_per_slot),
                       ordinals[static_cast<std::size_t>(kind)]++, prefix, samples, sample,
                       std::llround(sample * tick), std::llround((sample + samples) * tick)});
    sample += samples;
  }
  return symbols;
}

Blocks lay_out_blocks(const FrameFormat& format, const std::vector<Symbol>& symbols,
                      std::vector<Problem>& problems) {
  return Layout(format, symbols, problems).build();
}

}  // namespace carillon::frame
