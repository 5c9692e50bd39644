#include "power/owner.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace carillon::power {
namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// 0 for a process that is not, or has ended.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string word;
  rest >> word;
  if (word == "Z" || word == "X") return 0;
  constexpr int kStartField = 22, kStateField = 3;
  for (int field = kStateField; field < kStartField; ++field) rest >> word;
  return rest ? std::stoull(word) : 0;
}

}  // namespace

Owner Owner::self() { return {::getpid(), start_of(::getpid()), boot_id()}; }

bool Owner::same_boot() const { return boot == boot_id(); }

bool Owner::lives() const { return same_boot() && start != 0 && start_of(pid) == start; }

}  // namespace carillon::power
