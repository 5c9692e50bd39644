// What has come of the pilots: how strong noise is, and which antennas make combiners.
#pragma once

#include "phy/zeroforce/cuda_factor.inl"

namespace carillon::phy::cuda::zeroforce {

inline constexpr std::uint32_t kSurveyThreads = 256;
inline constexpr std::uint32_t kMostAntennas = 256;
inline constexpr std::uint32_t kDeviationSums = sizeof(GroupDeviation) / sizeof(float);

struct SurveyShared {
  float sum[kSurveyThreads];  ///< of what was measured
  std::uint32_t count[kSurveyThreads];
  std::uint32_t lost[kMostAntennas];  ///< pilots of an antenna
  std::uint32_t whole;                ///< antennas of which none is
  float noise;                        ///< the mean at an antenna's pilots
  GroupDeviation deviation[kMostUsers];
  Residual residual[kMostUsers];
};

/// What interpolation and sharing combiners leave of users' symbols; the rest of it is noise for
/// all.
template <typename Cta>
CARILLON_GPU void find_residuals(Cta& cta, const SurveyTask& survey, SurveyShared& all) {
  const CombineTask& task = survey.of;
  // visit(deviation) of the antennas at which a user's were measured.
  const auto for_antennas = [&](const DeviationPlace& at, auto&& visit) {
    const std::size_t first = std::size_t{at.pilot} * task.antennas;
    const std::uint32_t measured = kDeviationAntennas * at.users;
    const std::uint32_t end = measured < task.antennas ? measured : task.antennas;
    for (std::uint32_t a = at.offset; a < end; a += at.users)
      if (task.noise[first + a] >= 0) visit(survey.deviations[first + a]);
  };
  cta.each(task.users * kDeviationSums, [&](std::uint32_t i) {
    const std::uint32_t user = i / kDeviationSums, which = i % kDeviationSums;
    float sum = 0;
    for_antennas(survey.places[user], [&](const GroupDeviation& deviation) {
      sum += reinterpret_cast<const float*>(&deviation)[which];
    });
    reinterpret_cast<float*>(&all.deviation[user])[which] = sum;
  });
  cta.each(task.users, [&](std::uint32_t user) {
    const DeviationPlace& at = survey.places[user];
    std::uint32_t antennas = 0;
    for_antennas(at, [&](const GroupDeviation&) { ++antennas; });
    const DeviationPlan& plan = survey.plans[at.plan];
    all.residual[user] = phy::residual(plan, all.deviation[user], antennas, all.noise);
    task.residual[user] = all.residual[user].common;
    if (task.held != nullptr)
      task.held[user] = phy::held_residual(plan, all.deviation[user], antennas, all.noise);
  });
  cta.each(1, [&](std::uint32_t) {
    float spread = 0, doubt = 0;
    for (std::uint32_t user = 0; user < task.users; ++user) {
      spread += all.residual[user].spread;
      doubt += all.residual[user].doubt;
    }
    *task.mean_noise += shared_residual(spread, doubt);
  });
}

template <typename Cta>
CARILLON_GPU void count_pilots(Cta& cta, const CombineTask& task, SurveyShared& all) {
  cta.each_thread([&](std::uint32_t thread) {
    float sum = 0;
    std::uint32_t count = 0;
    for (std::uint32_t i = thread; i < task.pilots * task.antennas; i += kSurveyThreads) {
      const float noise = task.noise[i];
      if (noise < 0) Cta::add(&all.lost[i % task.antennas], 1U);
      sum += noise < 0 ? 0 : noise;
      count += noise < 0 ? 0 : 1;
    }
    all.sum[thread] = sum;
    all.count[thread] = count;
  });
  for (std::uint32_t left = kSurveyThreads / 2; left > 0; left /= 2)
    cta.each(left, [&](std::uint32_t i) {
      all.sum[i] += all.sum[left + i];
      all.count[i] += all.count[left + i];
    });
}

/// One block: there are few numbers.
template <typename Cta>
CARILLON_GPU void survey_block(Cta& cta, const SurveyTask& survey) {
  const CombineTask& task = survey.of;
  SurveyShared& all = *cta.template shared<SurveyShared>();
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    all.lost[antenna] = 0;
    if (antenna == 0) all.whole = 0;
  });
  count_pilots(cta, task, all);
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    if (all.lost[antenna] == 0) Cta::add(&all.whole, 1U);
  });
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    task.takes_part[antenna] = all.lost[antenna] == 0 || all.whole < task.users ? 1 : 0;
    if (antenna != 0) return;
    const auto count = static_cast<float>(all.count[0]);
    all.noise = count > 0 ? all.sum[0] / count : 0;
    *task.mean_noise = task.noise_gain * all.noise;
  });
  if (task.residual != nullptr) find_residuals(cta, survey, all);
}

}  // namespace carillon::phy::cuda::zeroforce
