#include "power/actuator.hpp"

#include <algorithm>
#include <utility>

namespace carillon::power {
namespace {

std::vector<Domain> domains_of(Files& files, const std::set<std::uint32_t>& cores,
                               const std::vector<std::uint32_t>& clocks_khz) {
  const Clocks machine = read_clocks(files);
  std::vector<Domain> found;
  std::set<std::uint32_t> missing = cores;
  for (const Domain& domain : machine.domains) {
    std::size_t own = 0;
    for (const std::uint32_t core : domain.cores) own += missing.erase(core);
    if (own == 0) continue;
    for (const std::uint32_t khz : clocks_khz) require_clock(machine, domain, khz);
    found.push_back(domain);
  }
  if (!missing.empty())
    throw Refused(std::string(kPolicies) + ": core " + std::to_string(*missing.begin()) +
                  " has no clock that can be set; emulate clocks instead");
  return found;
}

std::vector<std::uint32_t> in_khz(const std::vector<double>& clocks_mhz) {
  std::vector<std::uint32_t> khz;
  for (const double mhz : clocks_mhz) khz.push_back(static_cast<std::uint32_t>(mhz * 1000 + 0.5));
  return khz;
}

}  // namespace

Actuator::Actuator(Files& files, const std::filesystem::path& sysfs,
                   const std::set<std::uint32_t>& cores, const std::vector<double>& clocks_mhz)
    : clocks_khz_(in_khz(clocks_mhz)),
      journal_(files, journal_of(sysfs), sysfs),
      control_(files, journal_) {
  for (const Unrestored& file : journal_.take().failed) problems_.insert(to_text(file));
  domains_ = domains_of(files, cores, clocks_khz_);
  thread_ = std::thread([this] { run(); });
}

Actuator::~Actuator() { finish(); }

void Actuator::want(std::uint32_t clock) noexcept {
  if (wanted_.exchange(clock, std::memory_order_release) != clock) wanted_.notify_one();
}

void Actuator::run() noexcept {
  std::uint32_t seen = kNone;
  while ((seen & kEnd) == 0) {
    wanted_.wait(seen, std::memory_order_acquire);
    const std::uint32_t before = std::exchange(seen, wanted_.load(std::memory_order_acquire));
    if (const std::uint32_t clock = seen & ~kEnd; clock != before && clock < clocks_khz_.size())
      set(clock);
  }
  note_differences();
}

// Where one domain does not take it, the others keep what they took, and it is tried again with the
// next wish.
void Actuator::set(std::uint32_t clock) {
  note_differences();
  try {
    for (const Domain& domain : domains_) control_.set_clock(domain, clocks_khz_[clock]);
    clock_.store(clock, std::memory_order_release);
  } catch (const Refused& error) {
    problems_.insert(error.what());
  }
}

void Actuator::note_differences() {
  for (const Difference& file : control_.differences())
    problems_.insert(file.path + ": was changed by another program");
}

std::vector<std::string> Actuator::finish() {
  if (thread_.joinable()) {
    wanted_.fetch_or(kEnd, std::memory_order_release);
    wanted_.notify_one();
    thread_.join();
    for (const Unrestored& file : journal_.restore().failed) problems_.insert(to_text(file));
  }
  return {problems_.begin(), problems_.end()};
}

}  // namespace carillon::power
