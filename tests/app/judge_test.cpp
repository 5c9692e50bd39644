#include "app/judge.hpp"

#include <vector>

#include "support/test.hpp"

using namespace carillon;
using app::Judge;
using app::LateFrame;
using telemetry::GapRecord;
using telemetry::LateCause;

namespace {

constexpr auto kStall = static_cast<std::uint64_t>(LateCause::MachineStall);
constexpr auto kSystem = static_cast<std::uint64_t>(LateCause::OperatingSystem);

Tick ms(Tick n) { return n * kMillisecond; }

// On air from its n-th millisecond on, over two milliseconds later.
LateFrame frame(Tick n) { return {ms(n), ms(n + 2), ms(n + 2), 0, 0, false}; }

struct Court {
  Judge judge{100 * kMicrosecond};
  LateCause late(LateFrame f, bool caught_up = false) {
    const LateCause cause = judge.cause(f).cause;
    judge.ended(caught_up);
    return cause;
  }
};

}  // namespace

TEST(Judge, PutsPacketsThatLackedDuringAStandstillDownToIt) {
  const auto cause = [](LateCause cause) { return static_cast<std::uint32_t>(cause); };
  for (const LateCause own : {LateCause::MachineStall, LateCause::OperatingSystem})
    for (const LateCause found : {LateCause::Lost, LateCause::Fronthaul})
      EXPECT_EQ(app::cause_of_block(cause(found), own), cause(own));
  EXPECT_EQ(app::cause_of_block(cause(LateCause::Lost), LateCause::Processing),
            cause(LateCause::Lost));
  EXPECT_EQ(app::cause_of_block(cause(LateCause::Lost), LateCause::None), cause(LateCause::Lost));
  EXPECT_EQ(app::cause_of_block(cause(LateCause::None), LateCause::MachineStall),
            cause(LateCause::None));
  EXPECT_EQ(app::cause_of_block(telemetry::kCauseToCome, LateCause::Fronthaul),
            cause(LateCause::Fronthaul));
}

TEST(Judge, BlamesProcessingWhenNothingElseIsKnown) {
  Court court;
  EXPECT_TRUE(court.late(frame(1)) == LateCause::Processing);
}

TEST(Judge, BlamesTheNetworkForWhatCameLateOrNever) {
  Court court;
  LateFrame f = frame(1);
  f.packet_delay = 100 * kMicrosecond;
  EXPECT_TRUE(court.late(f) == LateCause::Processing);
  f.packet_delay += 1;
  EXPECT_TRUE(court.late(f) == LateCause::Fronthaul);
  f.missing_packets = 1;
  EXPECT_TRUE(court.late(f) == LateCause::Lost);
}

// A frame is discarded when it is due: how much more work there was is not known by then.
TEST(Judge, BlamesTheWorkWhereItCostMoreThanLatePackets) {
  const auto cause = [](Tick work, Tick waited, std::uint32_t missing) {
    Court court;
    for (int i = 0; i < 100; ++i) court.judge.in_time(300 * kMicrosecond + i % 2);
    LateFrame f = frame(1);
    f.work = work;
    f.packet_delay = waited;
    f.missing_packets = missing;
    return court.late(f);
  };
  const Tick late = 150 * kMicrosecond;  // 50 µs beyond what is borne
  EXPECT_TRUE(cause(340 * kMicrosecond, late, 0) == LateCause::Fronthaul);
  EXPECT_TRUE(cause(360 * kMicrosecond, late, 0) == LateCause::Processing);
  EXPECT_TRUE(cause(ms(1), late, 2) == LateCause::Processing);
  EXPECT_TRUE(cause(ms(1), ms(1), 2) == LateCause::Lost);
  EXPECT_TRUE(cause(100 * kMicrosecond, 0, 2) == LateCause::Lost);
  EXPECT_TRUE(cause(0, late, 0) == LateCause::Fronthaul);
}

// It is discarded when it is due: how late it would have been is not known.
TEST(Judge, PutsNothingDownToAGapThatCostLessThanTheWork) {
  const auto cause = [](Tick work) {
    Court court;
    court.judge.in_time(ms(1));
    court.judge.note({ms(1), ms(1), 0, kStall});
    LateFrame f = frame(1);
    f.work = work;
    return court.late(f);
  };
  EXPECT_TRUE(cause(ms(3)) == LateCause::MachineStall);
  EXPECT_TRUE(cause(ms(3) + 1) == LateCause::Processing);
}

TEST(Judge, LearnsAnewWhatWorkIsUsual) {
  Court court;
  LateFrame f = frame(1);
  f.work = ms(1);
  f.packet_delay = 400 * kMicrosecond;
  EXPECT_TRUE(court.late(f) == LateCause::Fronthaul);  // nothing was in time yet
  court.judge.in_time(200 * kMicrosecond);
  EXPECT_TRUE(court.late(f) == LateCause::Processing);
  for (int i = 0; i < 100; ++i) court.judge.in_time(ms(1));
  EXPECT_TRUE(court.late(f) == LateCause::Fronthaul);
}

TEST(Judge, ExcusesOnlyFramesThatAStallOverlapped) {
  const GapRecord gap{ms(10), ms(3), 0, kStall};  // 10…13
  const auto excused = [&](Tick air_start) {
    Court court;
    court.judge.note(gap);
    return court.late(frame(air_start)) == LateCause::MachineStall;
  };
  EXPECT_FALSE(excused(8));  // it ended when the stall began
  EXPECT_TRUE(excused(9));
  EXPECT_TRUE(excused(11));
  EXPECT_TRUE(excused(12));
  EXPECT_FALSE(excused(13));
}

// A symbol of a frame with lost packets waits for them until it is closed.
TEST(Judge, ChoosesBetweenAGapAndPacketsByWhatTheyCost) {
  const auto cause = [](Tick gap, Tick waited, std::uint32_t missing) {
    Court court;
    court.judge.note({ms(1), gap, 0, kStall});
    LateFrame f = frame(1);
    f.missing_packets = missing;
    f.packet_delay = waited;
    return court.late(f);
  };
  EXPECT_TRUE(cause(400 * kMicrosecond, ms(1), 1) == LateCause::Lost);
  EXPECT_TRUE(cause(400 * kMicrosecond, ms(1), 0) == LateCause::Fronthaul);
  EXPECT_TRUE(cause(ms(1), ms(1), 5) == LateCause::MachineStall);  // it threw packets away
  EXPECT_TRUE(cause(ms(2), ms(1), 0) == LateCause::MachineStall);
  EXPECT_TRUE(cause(ms(1), ms(1) + 50 * kMicrosecond, 0) == LateCause::MachineStall);
}

TEST(Judge, PutsNothingDownToAGapThatIsTooShortForIt) {
  const auto cause = [](Tick behind) {
    Court court;
    court.judge.note({ms(1), ms(1), 0, kStall});
    LateFrame f = frame(1);
    f.ended = f.due + behind;
    return court.late(f);
  };
  EXPECT_TRUE(cause(ms(2)) == LateCause::MachineStall);
  EXPECT_TRUE(cause(ms(2) + 1) == LateCause::Processing);
}

TEST(Judge, CountsTimeOnceWhenSeveralThreadsStandStillAtOnce) {
  Court court;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    court.judge.note({ms(2) - static_cast<Tick>(thread), ms(1), thread, kStall});
  LateFrame f = frame(1);
  f.ended = f.due + ms(3);  // four of 1 ms would explain it
  EXPECT_TRUE(court.late(f) == LateCause::Processing);
}

TEST(Judge, KnowsForHowLongThreadsStoodStillWithinASpan) {
  Judge judge{100 * kMicrosecond};
  judge.note({ms(10), ms(4), 0, kStall});   // 10…14
  judge.note({ms(12), ms(4), 1, kSystem});  // 12…16
  judge.note({ms(20), ms(1), 0, kStall});
  EXPECT_EQ(judge.stood_still(ms(0), ms(30)), ms(7));
  EXPECT_EQ(judge.stood_still(ms(13), ms(30)), ms(4));  // 13…16 and 20…21
  EXPECT_EQ(judge.stood_still(ms(13), ms(14)), ms(1));
  EXPECT_EQ(judge.stood_still(ms(0), ms(20)), ms(6));
  EXPECT_EQ(judge.stood_still(ms(16), ms(20)), 0);
  EXPECT_EQ(judge.stood_still(ms(15), ms(13)), 0);  // a frame that was refused before it was on air
}

TEST(Judge, InheritsNoLongerThanABacklogLasts) {
  const auto cause = [](Tick air_start) {
    Court court;
    court.judge.note({ms(1), 400 * kMicrosecond, 0, kStall});
    court.late(frame(1));
    return court.late({air_start, air_start + ms(2), air_start + ms(2), 0, 0, false});
  };
  EXPECT_TRUE(cause(ms(5)) == LateCause::MachineStall);
  EXPECT_TRUE(cause(ms(6)) == LateCause::Processing);  // ten times 0.4 ms after it
  EXPECT_TRUE(cause(ms(827)) == LateCause::Processing);
}

TEST(Judge, TakesTheLongestOfSeveralStalls) {
  Court court;
  court.judge.note({ms(1), ms(1), 0, kSystem});
  court.judge.note({ms(1), ms(1) + 1, 1, kStall});
  court.judge.note({ms(2), ms(1), 0, kSystem});
  EXPECT_TRUE(court.late(frame(1)) == LateCause::MachineStall);
}

TEST(Judge, LetsTheBacklogInheritUntilItIsOver) {
  Court court;
  court.judge.note({ms(1), ms(1), 0, kSystem});
  EXPECT_TRUE(court.late(frame(1)) == LateCause::OperatingSystem);
  EXPECT_TRUE(court.late(frame(5)) == LateCause::OperatingSystem);
  LateFrame lossy = frame(6);
  lossy.missing_packets = 2;
  EXPECT_TRUE(court.late(lossy) == LateCause::Lost);  // its own evidence comes first
  EXPECT_TRUE(court.late(frame(6)) == LateCause::OperatingSystem);
  court.judge.ended(true);  // a frame in time, or nothing in flight
  EXPECT_TRUE(court.late(frame(7)) == LateCause::Processing);
}

TEST(Judge, AStallThatBeganWhenTheFrameWasLateAlreadyIsNotItsCause) {
  Court court;
  court.judge.note({ms(30), ms(5), 0, kStall});
  LateFrame f = {ms(10), ms(40), ms(12), 0, 0, false};  // it ended long after it was due
  EXPECT_TRUE(court.late(f) == LateCause::Processing);
  EXPECT_TRUE(court.late(frame(31)) == LateCause::MachineStall);
  EXPECT_TRUE(court.late(f) == LateCause::Processing);  // nor does it inherit it
  f.due = ms(33);
  EXPECT_TRUE(court.late(f) == LateCause::MachineStall);
}

TEST(Judge, NamesTheGapByItsNumberInTheRun) {
  Judge judge{100 * kMicrosecond};
  for (Tick i = 0; i < 100; ++i) judge.note({ms(10 * i), ms(1) + (i == 90), 0, kStall});
  EXPECT_EQ(judge.cause(frame(10 * 80)).gap, 81U);
  EXPECT_EQ(judge.cause({ms(10 * 85), ms(10 * 95), ms(10 * 95), 0, 0, false}).gap, 91U);
  EXPECT_EQ(judge.cause(frame(10 * 95 + 5)).gap, 91U);  // inherited
  judge.ended(true);
  EXPECT_EQ(judge.cause(frame(10 * 95 + 5)).gap, 0U);
}

TEST(Judge, EndsTheInheritanceWithTheFrameThatEndsAlone) {
  Court court;
  court.judge.note({ms(1), ms(1), 0, kStall});
  EXPECT_TRUE(court.late(frame(1), true) == LateCause::MachineStall);
  EXPECT_TRUE(court.late(frame(5)) == LateCause::Processing);
}

TEST(Judge, RemembersTheLastSixtyFourStalls) {
  Court court;
  for (Tick i = 0; i < 100; ++i) court.judge.note({ms(10 * i), ms(1), 0, kStall});
  EXPECT_TRUE(court.late(frame(10 * 35), true) == LateCause::Processing);
  EXPECT_TRUE(court.late(frame(10 * 36), true) == LateCause::MachineStall);
  EXPECT_TRUE(court.late(frame(10 * 99), true) == LateCause::MachineStall);
}

// It was in time here, left at its second millisecond, and was due on air at its third.
TEST(Judge, PutsAReplacedDownlinkDownToItsWayUnlessAGapCameAfterItLeft) {
  const auto cause = [](const std::vector<GapRecord>& gaps, Tick work = 0) {
    Court court;
    court.judge.in_time(300 * kMicrosecond);
    for (const GapRecord& gap : gaps) court.judge.note(gap);
    LateFrame f = frame(1);
    f.work = work;
    return court.late(court.judge.replaced(f, ms(2), ms(3)));
  };
  const Tick length = 400 * kMicrosecond;
  EXPECT_TRUE(cause({}) == LateCause::Fronthaul);
  EXPECT_TRUE(cause({}, ms(2)) == LateCause::Fronthaul);  // that had been done when it left
  EXPECT_TRUE(cause({{ms(2) - length, length, 0, kStall}}) == LateCause::Fronthaul);
  EXPECT_TRUE(cause({{ms(3), length, 0, kStall}}) == LateCause::Fronthaul);
  EXPECT_TRUE(cause({{ms(2), length, 0, kStall}}) == LateCause::MachineStall);
  EXPECT_TRUE(cause({{ms(3) - 1, length, 0, kSystem}}) == LateCause::OperatingSystem);
}

TEST(Judge, LetsAReplacedDownlinkInheritNothing) {
  Court court;
  court.judge.note({ms(1), ms(1), 0, kStall});
  EXPECT_TRUE(court.late(frame(1)) == LateCause::MachineStall);
  EXPECT_TRUE(court.late(court.judge.replaced(frame(4), ms(5), ms(6))) == LateCause::Fronthaul);
  EXPECT_TRUE(court.late(frame(4)) == LateCause::MachineStall);  // this one stands in the queue
}
