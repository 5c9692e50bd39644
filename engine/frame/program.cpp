#include "frame/program.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/aligned.hpp"
#include "frame/occasions.hpp"
#include "frame/soft_store.hpp"
#include "phy/gold/gold.hpp"
#include "phy/tile.hpp"

namespace carillon::frame {
namespace {

// Plans that are kept beyond the programs that have them: a port may ask for others in every frame.
constexpr std::size_t kMostKnown = 4096;
// What a frame may ask for in one direction: the smallest lifting sizes could make millions.
constexpr std::size_t kMostCodeBlocks = 1 << 18;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// An allocation by its place in FrameProgram::allocations_.
struct Piece {
  std::uint16_t symbol;
  std::size_t place;
};

// A user's allocations that share a transport block, and the grant that they begin with.
struct Run {
  std::size_t grant;
  std::vector<Piece> pieces;
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

std::size_t payload_bytes(const phy::TransportPlan& plan) { return round_up((plan.A() + 7) / 8); }

// Of each of its code blocks.
std::size_t info_bytes(const phy::TransportPlan& plan) { return round_up((plan.K() + 7) / 8); }

std::size_t coded_bytes(Direction d, const phy::TransportPlan& plan, const phy::CodeBlock& block) {
  return round_up(d == Direction::Uplink ? plan.soft_bytes()
                                         : (block.E + 7) / 8 + phy::kCodedPadding);
}

std::string name(Direction d) { return d == Direction::Uplink ? "uplink" : "downlink"; }

}  // namespace

bool carries_data(const Symbol& symbol, Direction direction) {
  if (direction == Direction::Uplink) return symbol.kind == SymbolKind::Uplink;
  return symbol.kind == SymbolKind::Downlink && !symbol.references;
}

std::variant<TransportPlans::Plan, phy::CodingError> TransportPlans::find(
    Direction direction, const phy::Coding& coding, std::uint32_t resource_elements) {
  const Key key{direction, resource_elements, static_cast<std::uint32_t>(coding.modulation),
                coding.rate, coding.redundancy_version};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() >= kMostKnown) known_.clear();
  auto& result = known_[key];
  auto made = phy::TransportPlan::make(coding, resource_elements);
  if (auto* error = std::get_if<phy::CodingError>(&made)) return result = std::move(*error);
  auto& plan = std::get<phy::TransportPlan>(made);
  if (plan.blocks().front().E < plan.Kprime())
    return result = phy::CodingError{
               "lifting", "cuts " + std::to_string(resource_elements) + " resource elements into " +
                              std::to_string(plan.C()) + " code blocks of " +
                              std::to_string(plan.blocks().front().E) +
                              " coded bits, fewer than their " + std::to_string(plan.Kprime()) +
                              " information bits"};
  return result = std::make_shared<const phy::TransportPlan>(std::move(plan));
}

// Fills a program in.
class Compiler {
 public:
  Compiler(const FrameFormat& format, std::span<const Grant> grants,
           std::span<const Symbol> symbols, TransportPlans& plans, std::vector<Problem>& problems,
           FrameProgram& program, const Rooms* room = nullptr)
      : format_(format),
        grants_(grants),
        symbols_(symbols),
        plans_(plans),
        problems_(problems),
        program_(program),
        room_(room) {
    program_.allocations_.resize(symbols.size());
    program_.code_blocks_at_.resize(symbols.size());
    program_.assemblies_at_.resize(symbols.size());
    program_.lone_blocks_at_.resize(symbols.size());
  }

  /// `mine`: the frame's grants.
  void compile(std::vector<std::size_t> mine) {
    std::ranges::stable_sort(
        mine, {}, [this](std::size_t g) { return std::pair(grants_[g].user, grants_[g].slot); });
    for (const Direction d : {Direction::Uplink, Direction::Downlink}) {
      std::vector<Run> runs;
      for (const std::size_t g : mine)
        if (grants_[g].direction == d && !add_runs(g, runs)) refuse_for_symbols(g);
      // By symbol first: what all users have in one lies together, and is one copy to a GPU.
      std::ranges::stable_sort(runs, {}, [](const Run& run) { return run.pieces.front().symbol; });
      for (const Run& run : runs) add_transport_block(d, run);
    }
    leave_out_what_was_refused();
    pair_users();
    program_.signs_.push_back(0);
  }

 private:
  static constexpr std::uint32_t kRefused = 0xffff'ffff;

  const Coding& coding(Direction d) const {
    return d == Direction::Uplink ? format_.uplink : format_.downlink;
  }
  BlockSide& side(Direction d) { return program_.sides_[static_cast<std::size_t>(d)]; }
  Allocation& at(const Piece& piece) { return program_.allocations_[piece.symbol][piece.place]; }

  // Cuts a grant's data symbols into runs that share a transport block: of a frame, with those of
  // the user's grants before. False: it has none.
  bool add_runs(std::size_t g, std::vector<Run>& runs) {
    const Grant& grant = grants_[g];
    const BlockSpan span = coding(grant.direction).block;
    const Band band = band_of(grant, format_.numerology.subcarriers);
    const std::uint32_t slots = symbols_.back().slot + 1U;
    const auto user_of = [&](const Run& run) { return grants_[run.grant].user; };
    bool first = span != BlockSpan::Frame || runs.empty() || user_of(runs.back()) != grant.user;
    const std::uint32_t begin = grant.slot % slots * format_.symbols_per_slot + grant.first_symbol;
    const std::uint32_t most = format_.symbols_per_slot - grant.first_symbol;
    const std::uint32_t count = grant.symbols == 0 ? most : grant.symbols;
    bool any = false;
    for (std::uint32_t s = begin; s < std::min<std::size_t>(begin + count, symbols_.size()); ++s) {
      if (!carries_data(symbols_[s], grant.direction)) continue;
      if (first || span == BlockSpan::Symbol) runs.push_back({g, {}});
      first = false;
      auto& allocations = program_.allocations_[s];
      runs.back().pieces.push_back({static_cast<std::uint16_t>(s), allocations.size()});
      allocations.push_back({.user = grant.user,
                             .transport_block = kRefused,
                             .first_subcarrier = band.first,
                             .count = band.count});
      any = true;
    }
    return any;
  }

  void add_transport_block(Direction d, const Run& run) {
    std::uint32_t re = 0;
    for (const Piece& piece : run.pieces) {
      at(piece).first_re = re;
      re += at(piece).count;
    }
    if (refused_[static_cast<std::size_t>(d)]) return;
    const Grant& grant = grants_[run.grant];
    const TransportPlans::Plan plan = plan_for(run.grant, re);
    if (plan == nullptr) return;
    const phy::TransportPlan& p = *plan;
    auto& s = side(d);
    if (room_ != nullptr && !leaves_room(d, p)) return refuse_for_room(run.grant);
    if (s.code_blocks.size() + p.C() > kMostCodeBlocks) return refuse_code_blocks(d);
    const auto index = static_cast<std::uint32_t>(s.transport_blocks.size());
    for (const Piece& piece : run.pieces) {
      at(piece).transport_block = index;
      s.bits_per_symbol = std::max(s.bits_per_symbol, at(piece).count * p.Qm());
    }
    s.transport_blocks.push_back(
        {d, static_cast<std::uint16_t>(grant.user), run.pieces.front().symbol,
         run.pieces.back().symbol, static_cast<std::uint16_t>(grant.redundancy_version),
         static_cast<std::uint16_t>(grant.harq_process), number_of(plan),
         static_cast<std::uint32_t>(s.code_blocks.size()), s.payload_bytes, grant.again});
    s.payload_bytes += payload_bytes(p);
    s.payload_bits += p.A();
    place_code_blocks(d, index, run.pieces);
    precompute_signs(grant.user, run.pieces, p);
  }

  void refuse_code_blocks(Direction d) {
    refused_[static_cast<std::size_t>(d)] = true;
    problems_.push_back({name(d) + ".lifting",
                         "is " + std::to_string(coding(d).lifting) + ", which cuts a frame into " +
                             "more than " + std::to_string(kMostCodeBlocks) +
                             " code blocks; choose a larger one, or 0 for 38.212's choice"});
  }

  bool leaves_room(Direction d, const phy::TransportPlan& plan) const {
    const BlockSide& s = program_.side(d);
    Room wanted{.transport_blocks = s.transport_blocks.size() + 1,
                .code_blocks = s.code_blocks.size(),
                .payload_bytes = s.payload_bytes,
                .info_bytes = s.info_bytes,
                .coded_bytes = s.coded_bytes,
                .soft_bytes = s.soft_bytes};
    wanted.payload_bytes += payload_bytes(plan);
    for (const phy::CodeBlock& block : plan.blocks()) {
      ++wanted.code_blocks;
      wanted.info_bytes += info_bytes(plan);
      wanted.coded_bytes += coded_bytes(d, plan, block);
      wanted.soft_bytes += round_up(plan.soft_bytes());
    }
    return (*room_)[static_cast<std::size_t>(d)].holds(wanted);
  }

  // Of a schedule that is known beforehand others say so.
  void refuse_for_symbols(std::size_t g) {
    if (room_ != nullptr)
      add_problem("grants.list." + std::to_string(g) + ".symbols",
                  "have none of its direction in their slot that carries data");
  }

  void refuse_for_room(std::size_t g) {
    add_problem(own_key(g),
                "needs more room than a frame has beside those before it; ask for fewer or smaller "
                "blocks");
  }

  // What cannot be coded is a problem once, not for every user and symbol.
  TransportPlans::Plan plan_for(std::size_t g, std::uint32_t re) {
    const Grant& grant = grants_[g];
    const auto request = request_for(g);
    if (!request) return {};
    const auto found = plans_.find(grant.direction, *request, re);
    if (const auto* plan = std::get_if<TransportPlans::Plan>(&found)) return *plan;
    const auto& error = std::get<phy::CodingError>(found);
    if (own_key(g).empty()) {
      const bool ours = error.key != "tbs" && error.key != "resource_elements";
      add_problem(name(grant.direction) + "." + (ours ? error.key : "rate"), error.message);
    } else {
      add_problem(own_key(g), "cannot be coded: " + error.key + " " + error.message);
    }
    return {};
  }

  std::uint32_t number_of(const TransportPlans::Plan& plan) {
    const auto next = static_cast<std::uint32_t>(program_.plans_.size());
    const auto [known, is_new] = numbers_.try_emplace(plan.get(), next);
    if (is_new) program_.plans_.push_back(plan);
    return known->second;
  }

  // Of what a grant has of its own, by which it is refused alone; empty: it has the cell's.
  std::string own_key(std::size_t g) const {
    const Grant& grant = grants_[g];
    const std::string key = "grants.list." + std::to_string(g);
    if (grant.mcs) return key + ".mcs";
    if (grant.rate > 0) return key + ".rate";
    if (grant.modulation) return key + ".modulation";
    const bool listed = format_.grants.kind == GrantKind::List || room_ != nullptr;
    return listed ? key + ".blocks" : "";
  }

  std::optional<phy::Coding> request_for(std::size_t g) {
    const Grant& grant = grants_[g];
    const Coding& c = coding(grant.direction);
    phy::Coding request;
    request.crc = c.crc;
    request.modulation = static_cast<phy::Modulation>(
        2 * (static_cast<std::uint32_t>(grant.modulation.value_or(c.modulation)) + 1));
    request.rate = grant.rate > 0 ? grant.rate : c.rate;
    if (c.mcs_table != McsTable::None) {
      const auto row = phy::mcs(static_cast<phy::McsTable>(c.mcs_table),
                                grant.mcs.value_or(c.mcs_of(grant.user)));
      if (!row) {
        add_problem(grant.mcs ? own_key(g) : name(grant.direction) + ".mcs_index",
                    "names a reserved row of the MCS table");
        return {};
      }
      request.modulation = row->modulation;
      request.rate = row->rate;
    }
    request.base_graph = static_cast<std::uint8_t>(c.base_graph);
    request.lifting = static_cast<std::uint16_t>(c.lifting);
    request.redundancy_version = static_cast<std::uint8_t>(grant.redundancy_version);
    request.buffer_limit = c.buffer_limit;
    return request;
  }

  void add_problem(std::string key, std::string message) {
    if (said_.emplace(key, message).second)
      problems_.push_back({std::move(key), std::move(message)});
  }

  void place_code_blocks(Direction d, std::uint32_t block, const std::vector<Piece>& run) {
    auto& s = side(d);
    const auto& tb = s.transport_blocks[block];
    const auto& plan = program_.plan(tb);
    for (std::uint32_t r = 0; r < plan.C(); ++r) {
      const auto& cb = plan.blocks()[r];
      const std::uint16_t first = symbol_of(run, cb.first_re);
      const std::uint16_t last = symbol_of(run, cb.first_re + cb.re_count - 1);
      const auto index = static_cast<std::uint32_t>(s.code_blocks.size());
      s.code_blocks.push_back({block, r, first, last, s.info_bytes, s.coded_bytes});
      s.info_bytes += info_bytes(plan);
      s.coded_bytes += coded_bytes(d, plan, cb);
      s.soft_bytes += round_up(plan.soft_bytes());
      program_.code_blocks_at_[d == Direction::Uplink ? last : first].push_back(index);
    }
    if (d == Direction::Uplink)
      (plan.C() > 1 ? program_.assemblies_at_ : program_.lone_blocks_at_)[tb.last_symbol].push_back(
          block);
  }

  std::uint16_t symbol_of(const std::vector<Piece>& run, std::uint32_t re) {
    return std::ranges::find_if(
               run, [&](const Piece& piece) { return re < at(piece).first_re + at(piece).count; })
        ->symbol;
  }

  // TS 38.211 6.3.1.1 and 7.3.1.1: element j's bit i is scrambled by c(j·Qm + i).
  void precompute_signs(std::uint32_t user, const std::vector<Piece>& run,
                        const phy::TransportPlan& plan) {
    const std::uint32_t bits = plan.Qm();
    const std::size_t plane_bytes = phy::gold_plane_bytes(plan.re_count());
    std::vector<std::uint8_t> planes(bits * plane_bytes);
    phy::gold_planes(phy::data_scrambling_seed(user + 1, format_.cell_id), bits, plan.re_count(),
                     planes.data(), plane_bytes);
    for (const Piece& piece : run) {
      auto& a = at(piece);
      a.signs = program_.signs_.size();
      const std::uint32_t tiles = tiles_of(a);
      program_.signs_.resize(a.signs + std::size_t{bits} * tiles);
      std::uint32_t lane = a.first_subcarrier % phy::kTileLanes, re = a.first_re;
      for (std::uint32_t t = 0; t < tiles; ++t) {
        std::uint16_t signs[phy::kMaxBitsPerSymbol];
        phy::lane_signs(planes.data(), plane_bytes, bits, re, lane, signs);
        for (std::uint32_t i = 0; i < bits; ++i)
          program_.signs_[a.signs + i * tiles + t] = signs[i];
        re += phy::kTileLanes - lane;
        lane = 0;
      }
    }
  }

  void leave_out_what_was_refused() {
    for (auto& allocations : program_.allocations_)
      std::erase_if(allocations, [](const auto& a) { return a.transport_block == kRefused; });
  }

  void pair_users() {
    program_.pairing_of_.resize(symbols_.size());
    for (std::size_t s = 0; s < symbols_.size(); ++s)
      program_.pairing_of_[s].occasion = symbols_[s].occasion;
    program_.pairings_.resize(format_.pilots.occasions);
    for (std::uint16_t occasion = 0; occasion < format_.pilots.occasions; ++occasion) {
      pair_receivers(occasion);
      for (std::size_t first = 0; first < symbols_.size(); first += format_.symbols_per_slot)
        pair_senders(occasion, first, std::min(symbols_.size(), first + format_.symbols_per_slot));
    }
  }

  void pair_receivers(std::uint16_t occasion) {
    const bool sends = std::ranges::any_of(symbols_, [&](const Symbol& s) {
      return s.kind == SymbolKind::Downlink && s.occasion == occasion;
    });
    if (!sends) return;
    program_.pairings_[occasion].push_back(
        format_.deadlines.precoder_age > 0
            ? Pairing::whole(format_)
            : paired(SymbolKind::Downlink, occasion, 0, symbols_.size()));
  }

  // Of a slot's symbols.
  void pair_senders(std::uint16_t occasion, std::size_t first, std::size_t end) {
    const Pairing own = paired(SymbolKind::Uplink, occasion, first, end);
    if (own.is_empty()) return;
    const std::uint32_t number = number_of(occasion, own);
    for (std::size_t s = first; s < end; ++s)
      if (symbols_[s].kind == SymbolKind::Uplink && symbols_[s].occasion == occasion)
        program_.pairing_of_[s].number = number;
  }

  // Who has something in those symbols of a kind that have an occasion.
  Pairing paired(SymbolKind kind, std::uint16_t occasion, std::size_t first,
                 std::size_t end) const {
    Pairing pairing(format_);
    for (std::size_t s = first; s < end; ++s) {
      if (symbols_[s].kind != kind || symbols_[s].occasion != occasion) continue;
      for (const Allocation& a : program_.allocations_[s])
        pairing.add(a.user, a.first_subcarrier, a.count);
    }
    return pairing;
  }

  std::uint32_t number_of(std::uint16_t occasion, const Pairing& pairing) {
    auto& all = program_.pairings_[occasion];
    const auto known = std::ranges::find(all, pairing);
    if (known == all.end()) all.push_back(pairing);
    return static_cast<std::uint32_t>(std::ranges::find(all, pairing) - all.begin());
  }

  const FrameFormat& format_;
  std::span<const Grant> grants_;
  std::span<const Symbol> symbols_;
  TransportPlans& plans_;
  std::vector<Problem>& problems_;
  FrameProgram& program_;
  const Rooms* room_;                                           // null: as much as they need
  std::map<const phy::TransportPlan*, std::uint32_t> numbers_;  // among the program's plans
  std::array<bool, 2> refused_{};                               // [Direction]
  std::set<std::pair<std::string, std::string>> said_;          // problems of this program
};

std::vector<FrameProgram> compile(const FrameFormat& format, std::span<const Symbol> symbols,
                                  std::vector<Problem>& problems) {
  TransportPlans plans;
  const std::vector<Grant> grants = expand_grants(format);
  const std::uint32_t slots = symbols.back().slot + 1U;
  std::vector<std::vector<std::size_t>> of_frame(format.grants.frames);
  for (std::size_t g = 0; g < grants.size(); ++g) of_frame.at(grants[g].slot / slots).push_back(g);
  std::vector<FrameProgram> programs(of_frame.size());
  for (std::size_t f = 0; f < programs.size(); ++f)
    Compiler(format, grants, symbols, plans, problems, programs[f]).compile(std::move(of_frame[f]));
  return programs;
}

FrameProgram compile(const FrameFormat& format, std::span<const Symbol> symbols,
                     std::span<const Grant> grants, std::vector<std::size_t> which,
                     const Rooms& room, TransportPlans& plans, std::vector<Problem>& problems) {
  FrameProgram program;
  Compiler(format, grants, symbols, plans, problems, program, &room).compile(std::move(which));
  return program;
}

Rooms room_for_any(const FrameFormat& format, std::span<const Symbol> symbols,
                   std::vector<Problem>& problems) {
  FrameFormat full = format;
  full.grants.kind = GrantKind::Full;
  const FrameProgram program = compile(full, symbols, problems).front();
  Rooms rooms;
  for (const Direction d : {Direction::Uplink, Direction::Downlink}) {
    Room& room = rooms[static_cast<std::size_t>(d)] = program.room(d);
    const std::size_t more = (kMoreBlocks - 1) * room.code_blocks * kCacheLine;
    for (std::size_t* const bytes :
         {&room.payload_bytes, &room.info_bytes, &room.coded_bytes, &room.soft_bytes})
      *bytes += more;
    room.transport_blocks *= kMoreBlocks;
    room.code_blocks *= kMoreBlocks;
    room.longest_block = room.payload_bytes;
    for (const TransportBlock& block : program.transport_blocks(d))
      room.longest_kept = std::max(room.longest_kept, kept_bytes(program.plan(block)));
  }
  return rooms;
}

void Room::include(const Room& other) {
  transport_blocks = std::max(transport_blocks, other.transport_blocks);
  code_blocks = std::max(code_blocks, other.code_blocks);
  payload_bytes = std::max(payload_bytes, other.payload_bytes);
  info_bytes = std::max(info_bytes, other.info_bytes);
  coded_bytes = std::max(coded_bytes, other.coded_bytes);
  soft_bytes = std::max(soft_bytes, other.soft_bytes);
  longest_block = std::max(longest_block, other.longest_block);
  longest_kept = std::max(longest_kept, other.longest_kept);
}

bool Room::holds(const Room& other) const {
  Room both = *this;
  both.include(other);
  return both == *this;
}

Room FrameProgram::room(Direction d) const {
  const BlockSide& s = side(d);
  Room room{.transport_blocks = s.transport_blocks.size(),
            .code_blocks = s.code_blocks.size(),
            .payload_bytes = s.payload_bytes,
            .info_bytes = s.info_bytes,
            .coded_bytes = s.coded_bytes,
            .soft_bytes = s.soft_bytes};
  for (const TransportBlock& block : s.transport_blocks)
    room.longest_block = std::max<std::size_t>(room.longest_block, (plan(block).A() + 7) / 8);
  return room;
}

std::uint32_t FrameProgram::most_together() const {
  std::uint32_t most = 0;
  for (const auto& of_occasion : pairings_)
    for (const Pairing& pairing : of_occasion) most = std::max(most, pairing.most_together());
  return most;
}

bool FrameProgram::gives_all_references(std::span<const Symbol> symbols) const {
  for (std::uint32_t s = 0; s < symbols.size(); ++s)
    if (symbols[s].references && !pairing(s).gives_all_a_turn()) return false;
  return true;
}

std::span<const Allocation> FrameProgram::allocations(std::uint32_t symbol,
                                                      std::uint32_t user) const {
  const auto& all = allocations_[symbol];
  const auto [first, end] = std::ranges::equal_range(all, user, {}, &Allocation::user);
  return {first, end};
}

std::uint16_t FrameProgram::first_symbol_of_blocks_at(std::uint16_t symbol) const {
  std::uint16_t first = symbol;
  for (const auto b : code_blocks_at(symbol))
    first = std::min(first, code_blocks(Direction::Uplink)[b].first_symbol);
  return first;
}

std::set<std::uint16_t> FrameProgram::first_symbols_of_blocks_in(std::uint16_t symbol) const {
  std::set<std::uint16_t> first;
  for (const auto& block : code_blocks(Direction::Downlink))
    if (block.first_symbol <= symbol && symbol <= block.last_symbol)
      first.insert(block.first_symbol);
  return first;
}

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
  assign_occasions(format, symbols);
  return symbols;
}

}  // namespace carillon::frame
