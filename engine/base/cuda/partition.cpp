#include "base/cuda/partition.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace carillon::cuda {
namespace {

std::string count_of(std::uint32_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Split split(const SmUnits& card, std::uint32_t parts) {
  Split found;
  found.rest = card.sms;
  const std::uint32_t step = std::max(card.step, 1U);
  const std::uint32_t least = round_up(std::max(card.least, 1U), step);
  if (parts == 0) {
    found.why = "0 partitions: a card is at least 1";
    return found;
  }
  const std::uint32_t each = card.sms / parts / step * step;
  if (each < least) {
    found.why = count_of(parts, "partition") + " of " + count_of(card.sms, "SM") + ": each needs " +
                std::to_string(least) + " at least; at most " +
                count_of(card.sms / least, "partition") + " can be made";
    return found;
  }
  found.parts = parts;
  found.sms = each;
  found.rest = card.sms - parts * each;
  return found;
}

std::uint32_t most_sms(const Split& wanted, const SmUnits& card,
                       const std::function<std::uint32_t(std::uint32_t)>& groups_of) {
  for (std::uint32_t sms = wanted.sms; sms >= std::max(card.least, 1U); --sms)
    if (groups_of(sms) >= wanted.parts) return sms;
  return 0;
}

std::string compare(std::span<const std::vector<std::uint32_t>> seen,
                    std::span<const std::uint32_t> promised) {
  if (seen.size() != promised.size())
    return count_of(static_cast<std::uint32_t>(seen.size()), "partition") + " ran, and " +
           std::to_string(promised.size()) + " were promised";
  std::map<std::uint32_t, std::size_t> owner;
  for (std::size_t part = 0; part < seen.size(); ++part) {
    const std::string name = "partition " + std::to_string(part);
    std::uint32_t count = 0;
    for (const std::uint32_t sm : seen[part]) {
      const auto [at, first] = owner.emplace(sm, part);
      if (at->second != part)
        return name + " ran on SM " + std::to_string(sm) + ", as did partition " +
               std::to_string(at->second);
      count += first ? 1 : 0;
    }
    if (count == 0) return name + " ran on no SM";
    if (count > promised[part])
      return name + " ran on " + count_of(count, "SM") + ", and has " +
             std::to_string(promised[part]);
  }
  return "";
}

void use_all_queues() { (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

}  // namespace carillon::cuda
