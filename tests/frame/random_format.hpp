// Formats of every kind that validate() accepts, from a seed.
#pragma once

#include <random>

#include "frame/format.hpp"
#include "frame/grants.hpp"

namespace carillon::test {

class FormatMaker {
 public:
  /// `most_frames`: that do different things; with one a user has one grant in a slot at most.
  explicit FormatMaker(std::uint64_t seed, std::uint32_t most_frames = 1,
                       std::uint32_t most_occasions = 3)
      : random_(seed), most_frames_(most_frames), most_occasions_(most_occasions) {}

  /// A small cell; formats that are not valid are thrown away.
  frame::FrameFormat operator()() {
    for (;;) {
      frame::FrameFormat format = draw();
      if (format.validate().empty()) return format;
    }
  }

 private:
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
  }
  template <typename E>
  E one_of(std::uint32_t count) {
    return static_cast<E>(between(0, count - 1));
  }

  frame::FrameFormat draw() {
    frame::FrameFormat f;
    f.antennas = between(1, 9);
    f.users = between(1, std::min(4U, f.antennas));
    f.cell_id = between(0, 1007);
    f.numerology.fft_size = 128U << between(0, 1);
    f.numerology.subcarriers = between(12, f.numerology.fft_size - 4);
    f.numerology.dc_hole = between(0, 1) == 1;
    f.numerology.spacing_khz = 15 << between(0, 3);
    f.numerology.prefix = one_of<frame::PrefixKind>(2);
    const bool comb = between(0, 1) == 1;
    f.pilots = {comb ? frame::PilotKind::Comb : frame::PilotKind::Time, comb ? between(1, 6) : 1,
                between(1, 40)};
    f.pilots.occasions = between(0, 1) == 0 ? between(1, most_occasions_) : 1;
    f.schedule.clear();
    for (std::uint32_t n = 0; n < f.pilots.occasions; ++n) occasion(f);
    f.symbols_per_slot = between(1, static_cast<std::uint32_t>(f.schedule.size()) + 2);
    f.combiner = {one_of<phy::Detector>(3), between(1, 16), one_of<frame::Precision>(4)};
    f.uplink = coding(f.users);
    f.downlink = coding(f.users);
    f.deadlines.downlink_lead_ms = 0.01;
    f.ring = between(2, 4);
    f.deadlines.precoder_age = between(0, f.ring - 1);
    f.grants.kind = one_of<frame::GrantKind>(3);
    if (f.grants.kind == frame::GrantKind::List) list_grants(f);
    return f;
  }

  void occasion(frame::FrameFormat& f) {
    f.schedule += std::string((f.users + f.pilots.comb - 1) / f.pilots.comb, 'P');
    if (between(0, 1) == 1) f.schedule += "G" + std::string(between(2, 6), 'D') + "G";
    f.schedule += std::string(between(0, 9), 'U');
  }

  frame::Coding coding(std::uint32_t users) {
    frame::Coding c;
    c.block = one_of<frame::BlockSpan>(3);
    c.crc = between(0, 2) > 0;
    c.mcs_table = between(0, 2) > 0 ? frame::McsTable::None : one_of<frame::McsTable>(4);
    if (c.mcs_table != frame::McsTable::None) {
      c.mcs_index.resize(between(0, 1) == 0 ? 1 : users);
      for (auto& row : c.mcs_index) row = between(0, 27);
    }
    c.modulation = one_of<frame::ModulationChoice>(4);
    c.rate = between(2, 90) / 100.0;
    c.base_graph = between(0, 2);
    if (between(0, 2) == 0) c.lifting = between(2, 15);
    c.redundancy_version = between(0, 3);
    if (between(0, 1) == 1) c.buffer_limit = between(60, 100) / 100.0;
    return c;
  }

  void list_grants(frame::FrameFormat& f) {
    f.grants.frames = between(1, most_frames_);
    const std::uint32_t slots = f.grants.frames * frame::slots_of(f);
    for (std::uint32_t user = 0; user < f.users; ++user)
      for (std::uint32_t slot = 0; slot < slots; ++slot)
        for (const auto direction : {frame::Direction::Uplink, frame::Direction::Downlink})
          if (between(0, 3) != 0) grant(f, user, slot, direction);
  }

  // The whole slot, or a part before and another after one of its symbols.
  void grant(frame::FrameFormat& f, std::uint32_t user, std::uint32_t slot,
             frame::Direction direction) {
    const auto& coding = direction == frame::Direction::Uplink ? f.uplink : f.downlink;
    const bool spans = coding.block == frame::BlockSpan::Frame;
    const std::uint32_t band = (f.numerology.subcarriers + 11) / 12;
    frame::Grant g{.user = user, .slot = slot, .direction = direction};
    g.first_block = between(0, band - 1);
    g.blocks = between(1, band - g.first_block);
    g.redundancy_version = spans ? user % 4 : between(0, 3);
    g.harq_process = user;
    if (most_frames_ == 1 || spans) return append(f.grants.list, g);
    if (coding.mcs_table != frame::McsTable::None && between(0, 1) == 1) g.mcs = between(0, 27);
    if (coding.mcs_table == frame::McsTable::None && between(0, 1) == 1) {
      g.modulation = one_of<frame::ModulationChoice>(4);
      g.rate = between(2, 90) / 100.0;
    }
    const std::uint32_t cut = between(0, f.symbols_per_slot - 1);
    g.symbols = cut;  // 0: all
    append(f.grants.list, g);
    if (cut == 0) return;
    g.first_symbol = cut;
    g.symbols = 0;
    g.harq_process = user + 8;
    if (between(0, 2) == 0) g.first_block = 0, g.blocks = band;
    append(f.grants.list, g);
  }

  std::mt19937_64 random_;
  std::uint32_t most_frames_, most_occasions_;
};

}  // namespace carillon::test
