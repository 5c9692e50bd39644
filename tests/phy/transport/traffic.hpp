// Users' symbols of all kinds for tests: modulations in turns, transport blocks of one and of many
// code blocks, allocations that begin and end within tiles, gaps, repetitions, fillers.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "phy/transport/runs.hpp"

namespace carillon::phy::testing {

struct Traffic {
  Traffic(RunTable::Order order, std::uint32_t of_users, std::uint32_t of_symbols,
          std::uint32_t of_tiles, unsigned seed)
      : users(of_users), symbols(of_symbols), tiles(of_tiles), random(seed), table(order) {
    std::vector<std::uint32_t> sent(users);
    for (std::uint32_t u = 0; u < users; ++u) add_user(order, u, (u + seed) % 6);
    for (std::uint32_t s = 0; s < symbols; ++s)
      for (std::uint32_t u = 0; u < users; ++u) {
        Share share = bands[u];
        share.first_re = sent[u];
        if (silent(u, s)) share.count = 0;
        sent[u] += share.count;
        share.signs = static_cast<std::uint32_t>(signs.size());
        const std::uint32_t words =
            share.count == 0 ? 0 : tiles_for(share.first_subcarrier % kTileLanes + share.count);
        for (std::uint32_t i = 0; share.count > 0 && i < words * share.plan->Qm(); ++i)
          signs.push_back(static_cast<std::uint16_t>(random()));
        shares.push_back(share);
        table.add(share);
      }
    signs.resize(signs.size() + 4);
  }

  /// A user without a transport block, or one that pauses in every other symbol.
  bool silent(std::uint32_t user, std::uint32_t symbol) const {
    return plans[user] == nullptr || (pauses[user] && symbol % 2 != 0);
  }

  void add_user(RunTable::Order order, std::uint32_t u, std::uint32_t kind) {
    const std::uint32_t subcarriers = tiles * kTileLanes;
    const auto pick = [&](std::uint32_t low, std::uint32_t high) {
      return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
    };
    Share band;
    Coding coding;
    coding.crc = kind != 0;
    coding.modulation = static_cast<Modulation>(2 + 2 * (u % 4));
    coding.redundancy_version = static_cast<std::uint8_t>(u / 2 % 4);
    std::optional<std::uint32_t> bits;
    band.count = subcarriers;
    if (kind == 0) {  // code blocks of which several fit into a symbol
      coding.lifting = 2;
      coding.base_graph = 2;
    } else if (kind == 1) {  // whole resource blocks, some within tiles
      band.count = subcarriers / 12 > 2 ? (subcarriers / 12 - 2) * 12 : 12;
      band.first_subcarrier = subcarriers / 12 > 2 ? 12 : 0;
    } else if (kind == 2) {  // each bit is sent several times
      bits = 8;
    } else if (kind == 3) {
      band.first_subcarrier = pick(0, subcarriers - 12);
      band.count = pick(12, subcarriers - band.first_subcarrier);
      coding.buffer_limit = 0.7;
    }
    pauses.push_back(kind == 4);
    plans.emplace_back();
    buffers.emplace_back();
    bands.push_back(band);
    if (kind == 5) return;
    const std::uint32_t sent = kind == 4 ? (symbols + 1) / 2 : symbols;
    auto plan = TransportPlan::make(coding, band.count * sent, bits);
    if (std::holds_alternative<CodingError>(plan)) return;
    plans[u] = std::make_unique<TransportPlan>(std::move(std::get<TransportPlan>(plan)));
    bands[u].plan = plans[u].get();
    for (const CodeBlock& block : plans[u]->blocks()) {
      buffers[u].push_back(bytes);
      const bool decoder = order == RunTable::Order::Decoder;
      bytes += decoder ? plans[u]->soft_bytes() : (block.E + 7) / 8 + kCodedPadding;
      bytes += pick(0, 3);
      ++(block.map.direct ? direct : repeated);
    }
    bands[u].buffers = buffers[u];
  }

  /// each(code block, its buffer, element, subcarrier, count) for what of a share lies in the
  /// subcarriers [begin, end).
  template <typename Each>
  void for_blocks(const Share& share, std::uint32_t begin, std::uint32_t end, Each&& each) const {
    begin = std::max(begin, share.first_subcarrier);
    end = std::min(end, share.first_subcarrier + share.count);
    for (std::uint32_t r = 0; begin < end && r < share.plan->C(); ++r) {
      const CodeBlock& block = share.plan->blocks()[r];
      std::uint32_t re = share.first_re + begin - share.first_subcarrier;
      if (re < block.first_re || re >= block.first_re + block.re_count) continue;
      re -= block.first_re;
      const std::uint32_t count = std::min(end - begin, block.re_count - re);
      each(block, share.buffers[r], re, begin, count);
      begin += count;
    }
  }

  std::uint32_t users, symbols, tiles;
  std::mt19937 random;
  std::vector<std::unique_ptr<TransportPlan>> plans;  // [user], null: has none
  std::vector<bool> pauses;
  std::vector<std::vector<std::size_t>> buffers;
  std::vector<Share> bands, shares;  // [user], [symbol][user]
  std::vector<std::uint16_t> signs;
  std::size_t bytes = 0;
  std::uint32_t direct = 0, repeated = 0;  // code blocks
  RunTable table;
};

}  // namespace carillon::phy::testing
