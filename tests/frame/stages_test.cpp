#include "frame/stages.hpp"

#include "frame/opcodes.hpp"
#include "support/test.hpp"

namespace carillon::frame {
namespace {

std::uint32_t index(Op op) { return static_cast<std::uint32_t>(op); }

TEST(Stages, EachHasItsOwnCoresAndAnEmptyOneThoseOfTheStageBefore) {
  const PerStage groups{.fft = 2, .zero_force = 1, .decode = 65};
  EXPECT_EQ(cores(groups), 68U);
  const auto of = devices_of_opcodes(groups);
  ASSERT_EQ(of.size(), kOps);
  EXPECT_EQ(of[index(Op::PilotFft)].word(0), 0b011U);
  EXPECT_EQ(of[index(Op::UplinkFft)], of[index(Op::PilotFft)]);
  EXPECT_EQ(of[index(Op::ZeroForce)].word(0), 0b100U);
  EXPECT_EQ(of[index(Op::EqualizeDemodulate)], of[index(Op::ZeroForce)]);
  EXPECT_EQ(of[index(Op::Decode)].count(), 65U);
  EXPECT_TRUE(of[index(Op::Decode)].test(67));
  EXPECT_EQ(of[index(Op::Ifft)], of[index(Op::Decode)]);
}

TEST(Stages, NumbersOfStagesAreThoseOfTheirOpcodes) {
  const auto numbers = by_opcode({.fft = 3, .demodulate = 7, .ifft = 9});
  EXPECT_EQ(numbers[index(Op::UplinkFft)], 3U);
  EXPECT_EQ(numbers[index(Op::EqualizeDemodulate)], 7U);
  EXPECT_EQ(numbers[index(Op::Ifft)], 9U);
  EXPECT_EQ(numbers[index(Op::Decode)], 0U);
}

TEST(Stages, GroupsMustHaveEveryWorkerAndNoMore) {
  EXPECT_TRUE(check_groups({.fft = 1, .decode = 1}, 2).empty());
  EXPECT_TRUE(check_groups({.fft = 100, .decode = 28}, 0).empty());
  EXPECT_EQ(check_groups({.decode = 2}, 2).at(0).key, "fft");
  EXPECT_EQ(check_groups({.fft = 129}, 0).at(0).key, "fft");
  const auto few = check_groups({.fft = 1, .decode = 1}, 3);
  ASSERT_EQ(few.size(), 1U);
  EXPECT_EQ(few[0].message, "has 2 cores in all but must have 3, as many as there are workers");
  EXPECT_EQ(check_groups({.fft = 100, .decode = 29}, 0).at(0).message,
            "has 129 cores in all but must have at most 128");
}

}  // namespace
}  // namespace carillon::frame
