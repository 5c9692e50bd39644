// What combiners and precoders are kept and applied in.
#include "frame/cell.hpp"
#include "frame/cpu/pipeline.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;
using test::changed;

struct Given {
  ModulationChoice modulation = ModulationChoice::Qam64;
  std::uint32_t antennas = 64, users = 8;
  Direction direction = Direction::Uplink;
  bool samples = true;
};

TEST(Precision, IsTheFastestThatSuffices) {
  const auto precision = [](Isa isa, const Given& given) {
    const Frame frame(changed([&](FrameFormat& f) {
      f.antennas = given.antennas;
      f.users = given.users;
      f.schedule = std::string(given.users, 'P') + "UUGGGGGGGGGGDD";
      f.uplink.modulation = f.downlink.modulation = given.modulation;
    }));
    return Pipeline::precision(frame, given.direction, isa, given.samples);
  };
  using enum ModulationChoice;
  EXPECT_EQ(precision(Isa::Avx512Fp16, {}), Precision::Fp16);
  EXPECT_EQ(precision(Isa::Avx512Fp16, {.samples = false}), Precision::Int16);
  EXPECT_EQ(precision(Isa::Avx512Fp16, {.modulation = Qam256}), Precision::Int16);
  EXPECT_EQ(precision(Isa::Avx512Fp16, {.users = 16, .direction = Direction::Downlink}),
            Precision::Int16);
  EXPECT_EQ(precision(Isa::Avx512Fp16, {.direction = Direction::Downlink}), Precision::Fp32);
  EXPECT_EQ(precision(Isa::Avx512, {.modulation = Qam256}), Precision::Int16);
  EXPECT_EQ(precision(Isa::Avx512, {.antennas = 8}), Precision::Fp32) << "as many users";
  EXPECT_EQ(precision(Isa::Avx512, {.users = 4}), Precision::Fp32) << "few users";
  EXPECT_EQ(precision(Isa::Avx2, {}), Precision::Int16);
}

TEST(Precision, IsWhatIsAskedFor) {
  for (const auto wanted : {Precision::Fp32, Precision::Fp16, Precision::Int16}) {
    const bool half = wanted == Precision::Fp16;
    const Frame frame(changed([&](FrameFormat& f) {
      f.schedule = "PPUUGGGGGGGGGGDD";
      f.combiner.precision = wanted;
    }));
    for (const Isa isa : {Isa::Avx2, Isa::Avx512, Isa::Avx512Fp16}) {
      EXPECT_EQ(Pipeline::precision(frame, Direction::Uplink, isa), wanted);
      EXPECT_EQ(Pipeline::precision(frame, Direction::Uplink, isa, false),
                half ? Precision::Fp32 : wanted)
          << "subcarriers without samples";
      EXPECT_EQ(Pipeline::precision(frame, Direction::Downlink, isa),
                half ? Precision::Fp32 : wanted);
    }
  }
}

}  // namespace
