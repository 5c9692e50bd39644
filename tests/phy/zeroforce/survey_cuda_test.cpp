// What a survey of pilots says of residuals, against the CPU's formula.
#include <random>

#include "phy/estimate/estimate.hpp"
#include "phy/zeroforce/cuda_case.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;

constexpr float kNoise = 0.01F;
constexpr std::uint32_t kAntennas = 40, kUsers = 5, kComb = 2, kPilots = 3;

// Users' pilots in combs, the last of which is not full. Some antennas' did not come.
struct Pilots {
  Pilots() : noise(std::size_t{kPilots} * kAntennas, kNoise), deviations(noise.size()) {
    for (std::uint32_t offset = 0; offset < kComb; ++offset)
      plans.push_back(EstimatePlan(300, kComb, offset, 16).deviation_plan());
    for (std::uint32_t user = 0; user < kUsers; ++user) {
      const std::uint32_t pilot = user / kComb;
      places.push_back(
          {pilot, user % kComb, std::min(kComb, kUsers - pilot * kComb), user % kComb});
    }
    for (const std::uint32_t lost : {1U, kAntennas + 2, 2 * kAntennas, 2 * kAntennas + 39})
      noise[lost] = -1;
  }

  /// Of the antennas that count. Others', and those of missing pilots, are not numbers.
  template <typename Make>
  void deviate(Make&& make) {
    for (std::uint32_t pilot = 0; pilot < kPilots; ++pilot)
      for (std::uint32_t a = 0; a < kAntennas; ++a) {
        GroupDeviation& to = deviations[pilot * kAntennas + a];
        to.power = to.squares = array::kNan;
        const std::uint32_t users = std::min(kComb, kUsers - pilot * kComb);
        if (a < kDeviationAntennas * users && noise[pilot * kAntennas + a] >= 0)
          to = make(plans[a % users]);
      }
  }

  template <typename Of>
  auto of_user(std::uint32_t user, Of&& of) const {
    const DeviationPlace& at = places[user];
    GroupDeviation sum;
    std::uint32_t antennas = 0;
    for (std::uint32_t a = 0; a < kAntennas; ++a) {
      const std::size_t here = at.pilot * kAntennas + a;
      if (a % at.users != at.offset || a >= kDeviationAntennas * at.users || noise[here] < 0)
        continue;
      sum.add(deviations[here]);
      ++antennas;
    }
    return of(plans[at.plan], sum, antennas, kNoise);
  }

  Residual residual_of(std::uint32_t user) const {
    return of_user(user, [](auto&... of) { return residual(of...); });
  }
  HeldResidual held_of(std::uint32_t user) const {
    return of_user(user, [](auto&... of) { return held_residual(of...); });
  }

  std::vector<float> noise;
  std::vector<GroupDeviation> deviations;
  std::vector<DeviationPlan> plans;
  std::vector<DeviationPlace> places;
};

struct Surveyed {
  float noise;
  std::vector<float> residual;
  std::vector<HeldResidual> held;
};

Surveyed surveyed(Place& place, const Pilots& pilots) {
  SurveyTask task;
  task.of = task_of(place, Detector::ZeroForcing, kNoise,
                    random_channels({kAntennas, kUsers, kAntennas + 1}, 1, 1), 1);
  task.of.noise = place.put(pilots.noise);
  task.of.pilots = kPilots;
  task.of.residual = place.room<float>(kUsers);
  task.of.held = place.room<HeldResidual>(kUsers);
  task.of.comb = kComb;
  task.deviations = place.put(pilots.deviations);
  task.places = place.put(pilots.places);
  task.plans = place.put(pilots.plans);
  place.run(
      task, [](auto& cta, const SurveyTask& each) { zeroforce::survey_block(cta, each); }, survey);
  return {place.get(task.of.mean_noise, 1)[0] / task.of.noise_gain,
          place.get(task.of.residual, kUsers), place.get(task.of.held, kUsers)};
}

GPU_TEST(CudaSurvey, FindsTheResidualsThatTheCpuFinds) {
  Pilots pilots;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  pilots.deviate([&](const DeviationPlan&) {
    GroupDeviation deviation{.power = 300, .squares = 60 + normal(random)};
    for (std::uint32_t i = 0; i < 16; ++i) {
      deviation.along_re[i] = normal(random);
      deviation.along_im[i] = static_cast<float>(i) - 7.5F + normal(random);
    }
    deviation.pilot_power = 150;
    deviation.bend = {20 + normal(random), {4 + normal(random), normal(random)}};
    deviation.step = {50 + normal(random), {normal(random), 30 + normal(random)}};
    return deviation;
  });
  const Surveyed found = surveyed(place, pilots);
  float spread = 0;
  for (std::uint32_t user = 0; user < kUsers; ++user) {
    const Residual expected = pilots.residual_of(user);
    EXPECT_GT(expected.common, 1e-3F);
    EXPECT_NEAR(found.residual[user], expected.common, 1e-4 * expected.common);
    const HeldResidual held = pilots.held_of(user);
    EXPECT_GT(std::min(held.common, held.spread), kNoise);
    EXPECT_NEAR(found.held[user].common, held.common, 1e-4 * held.common);
    EXPECT_NEAR(found.held[user].spread, held.spread, 1e-4 * held.spread);
    spread += expected.spread;
  }
  EXPECT_GT(spread, 10 * kNoise);
  EXPECT_NEAR(found.noise, kNoise + spread / 2, 1e-4 * spread);  // the gain is for noise alone
}

GPU_TEST(CudaSurvey, NoiseIsNoResidual) {
  Pilots pilots;
  pilots.deviate([](const DeviationPlan& plan) {
    GroupDeviation deviation{.power = 300 + kNoise * plan.per_noise.power,
                             .squares = kNoise * plan.per_noise.squares};
    for (std::uint32_t i = 0; i < 16; ++i)
      deviation.along_re[i] = kNoise * plan.per_noise.along_re[i];
    const auto with_noise = [](const PilotChange& per) {
      return PilotChange{kNoise * per.squares, {kNoise * per.along[0], kNoise * per.along[1]}};
    };
    deviation.pilot_power = 150 + kNoise * plan.per_noise.pilot_power;
    deviation.bend = with_noise(plan.per_noise.bend);
    deviation.step = with_noise(plan.per_noise.step);
    return deviation;
  });
  const Surveyed found = surveyed(place, pilots);
  EXPECT_NEAR(found.noise, kNoise, 1e-5F);
  EXPECT_EQ(found.residual, std::vector<float>(kUsers));
  for (const HeldResidual& held : found.held) EXPECT_EQ(std::max(held.common, held.spread), 0);
}

}  // namespace
