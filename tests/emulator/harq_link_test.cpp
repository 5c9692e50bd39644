#include "emulator/harq_link.hpp"

#include <algorithm>

#include "frame/grants.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using emulator::ChannelKind;
using emulator::HarqLink;
using emulator::HarqResult;
using emulator::RadioPlan;

namespace {

frame::FrameFormat cell(double rate = 0.75) {
  frame::FrameFormat format;
  format.antennas = 2;
  format.users = 1;
  format.numerology.fft_size = 256;
  format.numerology.subcarriers = 180;
  format.numerology.prefix_samples = 18;
  format.schedule = "PUUUU";
  format.symbols_per_slot = 5;
  format.uplink.modulation = frame::ModulationChoice::Qpsk;
  format.uplink.rate = rate;
  format.uplink.block = frame::BlockSpan::Symbol;
  return format;
}

HarqResult run(const frame::FrameFormat& format, double snr_db, std::uint64_t frames,
               std::uint64_t first = 0, ChannelKind channel = ChannelKind::Awgn) {
  RadioPlan plan;
  plan.channel = channel;
  plan.snr_db = {snr_db};
  return HarqLink(format, plan).run(first, frames);
}

constexpr std::uint64_t kFrames = test::kWatched ? 20 : 100;

}  // namespace

// Of two antennas without fading: each transmission more is worth as much as its share of power.
TEST(HarqLink, EachTransmissionHelpsAtLeastAsMuchAsItsPower) {
  const frame::FrameFormat format = cell();
  for (const double snr : {-3.0, -1.0}) {
    const HarqResult weak = run(format, snr, kFrames);
    EXPECT_GT(weak.errors[0], weak.blocks / 10);
    EXPECT_TRUE(std::ranges::is_sorted(weak.errors, std::greater<>()));
    // Twice the power by a second copy: 3 dB, less what the estimate of a channel costs.
    const HarqResult strong = run(format, snr + 2.5, kFrames);
    EXPECT_LE(weak.errors[1], strong.errors[0] + weak.blocks / 20);
  }
}

TEST(HarqLink, NothingFailsWithoutNoise) {
  for (const double rate : {0.3, 0.75, 0.9}) {
    const HarqResult clear = run(cell(rate), 40, 4);
    EXPECT_EQ(clear.blocks, 16U);
    for (const std::uint64_t errors : clear.errors) EXPECT_EQ(errors, 0U);
  }
}

// What was lost in a fade comes over another channel: diversity.
TEST(HarqLink, FadingIsLeftBehindBySendingAgain) {
  const HarqResult result = run(cell(), 6, 2 * kFrames, 0, ChannelKind::Rayleigh);
  EXPECT_GT(result.errors[0], 10U);
  EXPECT_LT(4 * result.errors[1], result.errors[0]);
  EXPECT_LE(result.errors[3], result.errors[1]);
}

TEST(HarqLink, ABlockDependsOnItsNumberAlone) {
  const frame::FrameFormat format = cell();
  const HarqResult whole = run(format, -2, 8);
  const HarqResult first = run(format, -2, 3), rest = run(format, -2, 5, 3);
  for (std::size_t t = 0; t < whole.errors.size(); ++t)
    EXPECT_EQ(whole.errors[t], first.errors[t] + rest.errors[t]);
  EXPECT_EQ(whole.blocks, first.blocks + rest.blocks);
}

// Small cells whose bits repeat, and blocks of several code blocks.
TEST(HarqLink, OddFormats) {
  frame::FrameFormat repeating = cell(0.1);
  repeating.uplink.lifting = 0;
  frame::FrameFormat several = cell(0.9);
  several.uplink.block = frame::BlockSpan::Slot;
  several.uplink.modulation = frame::ModulationChoice::Qam256;
  several.numerology.fft_size = 2048;
  several.numerology.subcarriers = 1200;
  frame::FrameFormat both = cell(0.5);  // the downlink has no part in it
  both.schedule = "PUUGGGGGGGDDDD";
  both.symbols_per_slot = 14;
  both.grants = test::listed(
      {{0, 0, frame::Direction::Uplink, 0, 15}, {0, 0, frame::Direction::Downlink, 0, 15}});
  for (const auto& format : {repeating, several, both}) {
    const HarqResult clear = run(format, 45, 2);
    for (const std::uint64_t errors : clear.errors) EXPECT_EQ(errors, 0U);
    EXPECT_GT(run(format, -15, 2).errors[3], 0U);
  }
}
