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

std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

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
  }

  Blocks build() {
    for (const Direction d : {Direction::Uplink, Direction::Downlink})
      for (std::uint32_t user = 0; user < format_.users; ++user) add_user(d, user);
    return std::move(blocks_);
  }

 private:
  const Coding& coding(Direction d) const {
    return d == Direction::Uplink ? format_.uplink : format_.downlink;
  }
  BlockSide& side(Direction d) { return blocks_.sides[static_cast<std::size_t>(d)]; }
  Allocation& allocation(std::uint32_t symbol, std::uint32_t user) {
    return blocks_.allocations[std::size_t{symbol} * format_.users + user];
  }

  // Cuts a user's granted data symbols into runs that share a transport block.
  void add_user(Direction d, std::uint32_t user) {
    std::vector<std::uint16_t> run;
    const Grant* first = nullptr;
    const auto flush = [&] {
      if (!run.empty()) add_transport_block(d, user, run, *first);
      run.clear();
      first = nullptr;
    };
    for (const std::uint16_t symbol : data_symbols(symbols_, d)) {
      const Grant* grant = find_grant(d, user, symbols_[symbol].slot);
      if (grant == nullptr) continue;
      const BlockSpan span = coding(d).block;
      const bool same_slot = !run.empty() && symbols_[run.back()].slot == symbols_[symbol].slot;
      if (span == BlockSpan::Symbol || (span == BlockSpan::Slot && !same_slot)) flush();
      if (first == nullptr) first = grant;
      const Band band = band_of(*grant, format_.numerology.subcarriers);
      auto& a = allocation(symbol, user);
      a.first_subcarrier = band.first;
      a.count = band.count;
      run.push_back(symbol);
    }
    flush();
  }

  const Grant* find_grant(Direction d, std::uint32_t user, std::uint32_t slot) const {
    const auto found = std::find_if(grants_.begin(), grants_.end(), [&](const Grant& g) {
      return g.direction == d && g.user == user && g.slot == slot;
    });
    return found == grants_.end() ? nullptr : &*found;
  }

  void add_transport_block(Direction d, std::uint32_t user, const std::vector<std::uint16_t>& run,
                           const Grant& grant) {
    std::uint32_t re = 0;
    const auto index = static_cast<std::uint32_t>(side(d).transport_blocks.size());
    for (const std::uint16_t symbol : run) {
      auto& a = allocation(symbol, user);
      a.transport_block = index;
      a.first_re = re;
      re += a.count;
    }
    const auto plan = plan_for(d, re, grant.redundancy_version);
    if (!plan) return;
    const phy::TransportPlan& p = blocks_.plans[*plan];
    auto& s = side(d);
    s.transport_blocks.push_back({d, static_cast<std::uint16_t>(user), run.front(), run.back(),
                                  static_cast<std::uint16_t>(grant.redundancy_version),
                                  static_cast<std::uint16_t>(grant.harq_process), *plan,
                                  static_cast<std::uint32_t>(s.code_blocks.size()),
                                  s.payload_bytes});
    s.payload_bytes += round_up((p.A() + 7) / 8);
    s.payload_bits += p.A();
    place_code_blocks(d, index, run);
    precompute_signs(user, run, p);
  }

  std::optional<std::uint32_t> plan_for(Direction d, std::uint32_t re, std::uint32_t rv) {
    const auto key = std::make_tuple(d, re, rv);
    if (const auto known = known_plans_.find(key); known != known_plans_.end())
      return known->second;
    const Coding& c = coding(d);
    phy::Coding request;
    request.crc = c.crc;
    request.modulation =
        static_cast<phy::Modulation>(2 * (static_cast<std::uint32_t>(c.modulation) + 1));
    request.rate = c.rate;
    const std::string name = d == Direction::Uplink ? "uplink" : "downlink";
    if (c.mcs_table != McsTable::None) {
      const auto row = phy::mcs(static_cast<phy::McsTable>(c.mcs_table), c.mcs_index);
      if (!row) {
        problems_.push_back({name + ".mcs_index", "names a reserved row of the MCS table"});
        return {};
      }
      request.modulation = row->modulation;
      request.rate = row->rate;
    }
    request.base_graph = static_cast<std::uint8_t>(c.base_graph);
    request.lifting = static_cast<std::uint16_t>(c.lifting);
    request.redundancy_version = static_cast<std::uint8_t>(rv);
    request.buffer_limit = c.buffer_limit;
    auto made = phy::TransportPlan::make(request, re);
    if (const auto* error = std::get_if<phy::CodingError>(&made)) {
      const bool ours = error->key != "tbs" && error->key != "resource_elements";
      problems_.push_back({name + "." + (ours ? error->key : "rate"), error->message});
      return {};
    }
    blocks_.plans.push_back(std::get<phy::TransportPlan>(std::move(made)));
    const auto index = static_cast<std::uint32_t>(blocks_.plans.size() - 1);
    known_plans_.emplace(key, index);
    return index;
  }

  void place_code_blocks(Direction d, std::uint32_t block, const std::vector<std::uint16_t>& run) {
    auto& s = side(d);
    const auto& tb = s.transport_blocks[block];
    const auto& plan = blocks_.plans[tb.plan];
    for (std::uint32_t r = 0; r < plan.C(); ++r) {
      const auto& cb = plan.blocks()[r];
      const std::uint16_t first = symbol_of(tb.user, run, cb.first_re);
      const std::uint16_t last = symbol_of(tb.user, run, cb.first_re + cb.re_count - 1);
      const auto index = static_cast<std::uint32_t>(s.code_blocks.size());
      s.code_blocks.push_back({block, r, first, last, s.info_bytes, s.coded_bytes});
      s.info_bytes += round_up((plan.K() + 7) / 8);
      s.coded_bytes += round_up(d == Direction::Uplink ? plan.soft_bytes()
                                                       : (cb.E + 7) / 8 + phy::kCodedPadding);
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
    const std::uint32_t identity = format_.cell_id & 1023U;
    const std::uint32_t seed = ((user + 1) << 15) + identity;
    std::vector<std::uint8_t> c((plan.G() + 7) / 8 + 8);
    phy::gold(seed, 0, plan.G(), c.data());
    const std::uint32_t bits = plan.Qm();
    for (const std::uint16_t symbol : run) {
      auto& a = allocation(symbol, user);
      a.signs = blocks_.signs.size();
      const std::uint32_t first_tile = a.first_subcarrier / phy::kTileLanes;
      const std::uint32_t end_tile = phy::tiles_for(a.first_subcarrier + a.count);
      blocks_.signs.resize(a.signs + std::size_t{end_tile - first_tile} * bits);
      for (std::uint32_t j = 0; j < a.count; ++j) {
        const std::uint32_t k = a.first_subcarrier + j;
        for (std::uint32_t i = 0; i < bits; ++i) {
          const std::size_t n = std::size_t{a.first_re + j} * bits + i;
          const unsigned bit = c[n / 8] >> (n % 8) & 1U;
          auto& word = blocks_.signs[a.signs + (k / phy::kTileLanes - first_tile) * bits + i];
          word = static_cast<std::uint16_t>(word | bit << k % phy::kTileLanes);
        }
      }
    }
  }

  const FrameFormat& format_;
  const std::vector<Symbol>& symbols_;
  std::vector<Problem>& problems_;
  std::vector<Grant> grants_ = expand_grants(format_);
  std::map<std::tuple<Direction, std::uint32_t, std::uint32_t>, std::uint32_t> known_plans_;
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
