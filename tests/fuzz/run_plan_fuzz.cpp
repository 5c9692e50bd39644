// Fuzz target: any text either is a run plan, which then can be built and reads back as itself, or
// has problems, each under a key.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/run_plan.hpp"
#include "frame/graph.hpp"
#include "frame/stages.hpp"
#include "runtime/policy.hpp"

using namespace carillon;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// What a fuzzer can build thousands of times a minute.
bool small(const frame::FrameFormat& cell) {
  return cell.antennas <= 16 && cell.users <= 8 && cell.numerology.fft_size <= 512;
}

// What a run makes of its plan before the first frame.
void build(const app::RunPlan& plan) {
  require(runtime::make_policy(plan.runtime.policy,
                               frame::devices_of_opcodes(plan.runtime.groups)) != nullptr);
  if (small(plan.cell)) frame::build_graph(frame::Frame(plan.cell));
}

// One line of a plan: any key, and a value that is likely to be read, or to be at an edge.
std::string random_line(std::mt19937& random) {
  static const auto kKeys = [] {
    std::vector<Problem> problems;
    std::vector<std::string> keys;
    for (const auto& [key, value] : parse_key_values(app::to_text({}), problems))
      keys.push_back(key);
    return keys;
  }();
  static constexpr std::array<std::string_view, 40> kValues{"0",
                                                            "1",
                                                            "2",
                                                            "3",
                                                            "7",
                                                            "16",
                                                            "64",
                                                            "127",
                                                            "128",
                                                            "129",
                                                            "255",
                                                            "256",
                                                            "1000",
                                                            "4096",
                                                            "65535",
                                                            "65536",
                                                            "1073741824",
                                                            "2147483648",
                                                            "4294967295",
                                                            "4294967296",
                                                            "18446744073709551615",
                                                            "-1",
                                                            "0.5",
                                                            "nan",
                                                            "inf",
                                                            "-inf",
                                                            "1e308",
                                                            "1e-320",
                                                            "true",
                                                            "false",
                                                            "core-groups",
                                                            "adaptive",
                                                            "udp",
                                                            "list",
                                                            "qam64",
                                                            "PUUUUDDD",
                                                            "0 1 2",
                                                            "0.0.0.0",
                                                            "/",
                                                            ""};
  return kKeys[random() % kKeys.size()] + " = " + std::string(kValues[random() % kValues.size()]) +
         "\n";
}

// The text without one of its lines.
std::string without_line(const std::string& text, std::size_t near) {
  const std::size_t end = text.find('\n', near);
  const std::size_t before = near == 0 ? std::string::npos : text.rfind('\n', near - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(0, begin) + (end == std::string::npos ? "" : text.substr(end + 1));
}

// Replaces the line of the same key, so that it is not refused as a repeated one.
std::string with_line(const std::string& text, const std::string& line) {
  const std::string key = line.substr(0, line.find('=') + 1);
  const std::size_t at = text.find(key);
  std::string rest = at == std::string::npos ? text : without_line(text, at);
  if (!rest.empty() && rest.back() != '\n') rest += '\n';
  return rest + line;
}

}  // namespace

// Called for some of the mutations, with libFuzzer's name and meaning.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (auto n = 1 + random() % 3; n > 0; --n)
    text = random() % 4 == 0 && !text.empty() ? without_line(text, random() % text.size())
                                              : with_line(text, random_line(random));
  if (text.size() > max_size) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Problem> problems;
  const auto plan = app::parse_run_plan({reinterpret_cast<const char*>(data), size}, problems);
  for (const Problem& problem : problems) require(!problem.key.empty() && !problem.message.empty());
  if (!problems.empty()) {
    plan.cell.validate();  // must bear what it refuses
    return 0;
  }
  const auto again = app::parse_run_plan(app::to_text(plan), problems);
  require(problems.empty() && app::to_text(again) == app::to_text(plan));
  build(plan);
  return 0;
}
