// Policies alone: the same decisions as those of python/carillon/mac/policies.py, worked out by
// hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "mac/proportional_fair.hpp"
#include "mac/round_robin.hpp"
#include "support/test.hpp"

using namespace carillon;
using mac::Demand;

namespace {

constexpr std::uint64_t kPlenty = 1'000'000;  // bytes

std::vector<std::uint32_t> divided(mac::Policy& policy, const std::vector<Demand>& demands,
                                   std::uint32_t blocks) {
  std::vector<std::uint32_t> shares(demands.size(), 99);
  policy.divide(demands, blocks, shares);
  return shares;
}

using Shares = std::vector<std::uint32_t>;

}  // namespace

TEST(Policies, RoundRobinDealsOneToEachAndGoesOnWhereItEnded) {
  mac::RoundRobin policy;
  const std::vector<Demand> demands{{0, kPlenty, 100}, {1, kPlenty, 100}, {2, kPlenty, 100}};
  EXPECT_EQ(divided(policy, demands, 7), (Shares{3, 2, 2}));
  EXPECT_EQ(divided(policy, demands, 7), (Shares{2, 3, 2}));
  EXPECT_EQ(divided(policy, demands, 7), (Shares{2, 2, 3}));
  EXPECT_EQ(divided(policy, demands, 7), (Shares{3, 2, 2}));
}

TEST(Policies, RoundRobinLeavesToOthersWhatAUserDoesNotNeed) {
  mac::RoundRobin policy;
  const std::vector<Demand> demands{{0, 20, 100}, {1, kPlenty, 100}, {2, kPlenty, 100}};
  EXPECT_EQ(divided(policy, demands, 12), (Shares{2, 5, 5})) << "160 bits are two blocks";
}

TEST(Policies, RoundRobinServesInTurnWhomASlotIsTooSmallFor) {
  mac::RoundRobin policy;
  std::vector<Demand> demands;
  for (std::uint32_t user = 0; user < 30; ++user) demands.push_back({user, kPlenty, 14});
  std::array<int, 30> served{};  // three blocks or none
  for (int slot = 0; slot < 15; ++slot) {
    const auto shares = divided(policy, demands, 25);
    for (std::size_t user = 0; user < 30; ++user) served[user] += shares[user] > 0;
  }
  EXPECT_EQ(*std::ranges::min_element(served), 4);
  EXPECT_EQ(*std::ranges::max_element(served), 4);
}

TEST(Policies, ProportionalFairDecidesAsByHand) {
  mac::ProportionalFair policy(2);
  std::vector<Demand> demands{{0, kPlenty, 300, 1000}, {1, kPlenty, 100, 1000}};
  std::vector<Shares> served;
  for (int slot = 0; slot < 5; ++slot) {
    served.push_back(divided(policy, demands, 10));
    for (std::size_t u = 0; u < 2; ++u)
      demands[u].average =
          mac::averaged(demands[u].average, served.back()[u] * demands[u].bits_per_block, 4);
  }
  // Metrics 0.3 and 0.1; 0.2 and 0.133; 0.16 and 0.178; 0.213 and 0.149; 0.166 and 0.198.
  EXPECT_EQ(served, (std::vector<Shares>{{10, 0}, {10, 0}, {0, 10}, {10, 0}, {0, 10}}));
  EXPECT_NEAR(demands[0].average, 1353.515625, 1e-9);
  EXPECT_NEAR(demands[1].average, 627.9296875, 1e-9);
}

TEST(Policies, ProportionalFairGivesEqualTimeWhateverTheRates) {
  mac::ProportionalFair policy(3);
  std::vector<Demand> demands{{0, kPlenty, 500}, {1, kPlenty, 50}, {2, kPlenty, 100}};
  std::array<int, 3> slots{};
  for (int slot = 0; slot < 3000; ++slot) {
    const auto shares = divided(policy, demands, 10);
    for (std::size_t u = 0; u < 3; ++u) {
      slots[u] += shares[u] > 0;
      demands[u].average =
          mac::averaged(demands[u].average, shares[u] * demands[u].bits_per_block, 50);
    }
  }
  EXPECT_EQ(slots[0] + slots[1] + slots[2], 3000);
  const auto [least, most] = std::ranges::minmax_element(slots);
  EXPECT_LE(*most - *least, 50) << "the window";
}

TEST(Policies, NobodyGetsMoreThanHeNeedsAndAllThatFitIsServed) {
  Random random(1);
  for (const auto kind : {frame::GrantPolicy::RoundRobin, frame::GrantPolicy::ProportionalFair}) {
    const auto policy = mac::make_policy(kind, 16);
    for (int trial = 0; trial < 2000; ++trial) {
      const auto blocks = static_cast<std::uint32_t>(1 + random.next() % 273);
      std::vector<Demand> demands;
      for (std::uint32_t user = 0; user < 16; ++user)
        if (random.next() % 2 == 0)
          demands.push_back({user, random.next() % 4 == 0 ? 0 : random.next() % 3000,
                             10.0 + static_cast<double>(random.next() % 2000),
                             static_cast<double>(random.next() % 10000)});
      const auto shares = divided(*policy, demands, blocks);
      std::uint32_t given = 0, needed = 0;
      for (std::size_t d = 0; d < demands.size(); ++d) {
        given += shares[d];
        needed += demands[d].needed(blocks);
        EXPECT_LE(shares[d], demands[d].needed(blocks));
        EXPECT_TRUE(shares[d] == 0 || shares[d] >= demands[d].least(blocks));
      }
      EXPECT_LE(given, blocks);
      if (needed <= blocks) {
        EXPECT_EQ(given, needed);
      }
    }
  }
}
