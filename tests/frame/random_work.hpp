// Carriers and slot work of every kind that decodes at a high SNR, from a seed.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "frame/grants.hpp"

namespace carillon::test {

class WorkMaker {
 public:
  explicit WorkMaker(std::uint64_t seed) : random_(seed) {}

  /// A small cell; those that are not valid are thrown away.
  frame::FrameFormat operator()() {
    for (;;) {
      frame::FrameFormat format = carrier();
      give_work(format);
      if (format.validate().empty()) return format;
    }
  }

 private:
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
  }

  frame::FrameFormat carrier() {
    frame::FrameFormat f;
    f.antennas = between(4, 12);
    f.users = between(1, 8);  // may be more than antennas
    f.cell_id = between(0, 1007);
    f.numerology.fft_size = 128;
    f.numerology.subcarriers = between(24, 120);
    f.numerology.dc_hole = between(0, 1) == 1;
    const std::uint32_t comb = between(1, 4);
    f.pilots = {comb > 1 ? frame::PilotKind::Comb : frame::PilotKind::Time, comb, 25};
    f.pilots.occasions = between(0, 1) == 0 ? between(2, 3) : 1;
    f.schedule.clear();
    const bool down = between(0, 1) == 1;
    for (std::uint32_t n = 0; n < f.pilots.occasions; ++n) {
      f.schedule += std::string((f.users + comb - 1) / comb, 'P');
      if (down) f.schedule += "GGGG" + std::string(between(1, 6), 'D') + "G";
      f.schedule += std::string(between(1, 9), 'U');
    }
    if (f.schedule.find('D') ==
        std::string::npos)  // nothing but its budget keeps U from coming first
      std::ranges::shuffle(f.schedule, random_);
    f.symbols_per_slot = between(3, static_cast<std::uint32_t>(f.schedule.size()) + 1);
    f.combiner = {static_cast<phy::Detector>(between(0, 1)), between(1, 16),
                  static_cast<frame::Precision>(between(0, 3))};
    for (frame::Coding* coding : {&f.uplink, &f.downlink}) {
      coding->block = static_cast<frame::BlockSpan>(between(1, 2));
      coding->rate = 0.3;
      coding->iterations = 20;
    }
    f.deadlines.downlink_lead_ms = 0.01;
    f.ring = 2;
    return f;
  }

  void give_work(frame::FrameFormat& f) {
    f.grants = {frame::GrantKind::List, between(1, 4), {}};
    company_.clear();
    const std::uint32_t slots = f.grants.frames * frame::slots_of(f);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      if (between(0, 4) == 0) continue;  // nothing to do
      for (std::uint32_t n = between(1, 2 * f.users); n > 0; --n) give(f, slot);
    }
  }

  // To some user in some blocks and symbols, if a combiner separates it with ease.
  void give(frame::FrameFormat& f, std::uint32_t slot) {
    const std::uint32_t band = (f.numerology.subcarriers + 11) / 12;
    frame::Grant g{.user = between(0, f.users - 1), .slot = slot};
    g.direction = static_cast<frame::Direction>(between(0, 1));
    g.first_block = between(0, band - 1);
    g.blocks = between(1, band - g.first_block);
    g.harq_process = between(0, 15);
    if (between(0, 2) == 0) {
      g.first_symbol = between(0, f.symbols_per_slot - 1);
      g.symbols = between(0, f.symbols_per_slot - g.first_symbol);
    }
    if (between(0, 1) == 1) {
      g.modulation = static_cast<frame::ModulationChoice>(between(0, 3));
      g.rate = between(15, 50) / 100.0;
    }
    if (!takes_part(f, g)) return;
    frame::FrameFormat with = f;
    append(with.grants.list, g);
    if (with.validate().empty()) f = with;  // else it shares elements with another of the user's
  }

  bool takes_part(const frame::FrameFormat& f, const frame::Grant& g) {
    const bool down = g.direction == frame::Direction::Downlink;
    auto& groups = company_[{down ? g.slot / frame::slots_of(f) : g.slot, down}];
    const std::uint32_t end = std::min(f.numerology.subcarriers, 12 * (g.first_block + g.blocks));
    auto with = groups;
    for (std::uint32_t k = 12 * g.first_block; k < end; ++k) {
      auto& users = with[k / f.combiner.group];
      users.insert(g.user);
      if (users.size() > f.antennas / 3) return false;
    }
    groups = with;
    return true;
  }

  using Groups = std::map<std::uint32_t, std::set<std::uint32_t>>;  // users of each

  std::mt19937_64 random_;
  std::map<std::pair<std::uint32_t, bool>, Groups> company_;  // [slot; frame of the downlink]
};

}  // namespace carillon::test
