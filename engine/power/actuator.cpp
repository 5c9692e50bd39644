#include "power/actuator.hpp"

#include <chrono>
#include <exception>

#include "base/thread.hpp"

namespace carillon::power {
namespace {

constexpr std::chrono::milliseconds kAgain{100};

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
                   const std::set<std::uint32_t>& cores, const std::vector<double>& clocks_mhz,
                   std::uint32_t first, int priority)
    : clocks_khz_(in_khz(clocks_mhz)),
      journal_(files, journal_of(sysfs), sysfs),
      control_(files, journal_),
      wanted_(first),
      clock_(first) {
  for (const Unrestored& file : journal_.take().failed) problems_.insert(to_text(file));
  domains_ = domains_of(files, cores, clocks_khz_);
  set(first);
  thread_ = std::thread([this, priority] { run(priority); });
}

Actuator::~Actuator() { finish(); }

void Actuator::want(std::uint32_t clock) noexcept {
  if (wanted_.exchange(clock, std::memory_order_release) != clock) wishes_.release();
}

void Actuator::run(int priority) noexcept {
  if (priority > 0) (void)make_realtime(priority);
  while (!ending_.load(std::memory_order_acquire)) {
    (void)wishes_.try_acquire_for(kAgain);
    look();
  }
  look();  // at what was wished last
}

void Actuator::look() noexcept {
  try {
    const std::uint32_t wanted = wanted_.load(std::memory_order_acquire);
    const auto changed = control_.differences();
    for (const Difference& file : changed)
      problems_.insert(file.path + ": was changed by another program");
    const bool is_set = everywhere_ && wanted == clock_.load(std::memory_order_relaxed);
    if (!is_set || !changed.empty()) set(wanted);
  } catch (const std::exception& error) {
    problems_.insert(error.what());
  }
}

void Actuator::set(std::uint32_t clock) {
  everywhere_ = false;
  for (const Domain& domain : domains_) control_.set_clock(domain, clocks_khz_[clock]);
  everywhere_ = true;
  clock_.store(clock, std::memory_order_release);
}

std::vector<std::string> Actuator::finish() {
  if (thread_.joinable()) {
    ending_.store(true, std::memory_order_release);
    wishes_.release();
    thread_.join();
    try {
      for (const Unrestored& file : journal_.restore().failed) problems_.insert(to_text(file));
    } catch (const std::exception& error) {
      problems_.insert(error.what());
    }
  }
  return {problems_.begin(), problems_.end()};
}

}  // namespace carillon::power
