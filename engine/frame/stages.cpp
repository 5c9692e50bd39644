#include "frame/stages.hpp"

#include <array>
#include <string>

#include "frame/opcodes.hpp"

namespace carillon::frame {
namespace {

constexpr std::size_t kStages = 7;

std::array<std::uint32_t, kStages> in_order(const PerStage& s) {
  return {s.fft, s.zero_force, s.demodulate, s.decode, s.encode, s.precode, s.ifft};
}

constexpr std::size_t stage_of(Op op) {
  switch (op) {
    case Op::Load:
    case Op::PilotFft:
    case Op::UplinkFft: return 0;
    case Op::ZeroForce: return 1;
    case Op::EqualizeDemodulate: return 2;
    case Op::Decode:
    case Op::Store: return 3;
    case Op::Encode:
    case Op::Modulate: return 4;
    case Op::Precode: return 5;
    case Op::Ifft: return 6;
  }
  return 0;
}

template <typename T>
std::vector<T> of_opcodes(const std::array<T, kStages>& of_stage) {
  std::vector<T> result;
  for (std::size_t op = 0; op < kOps; ++op)
    result.push_back(of_stage[stage_of(static_cast<Op>(op))]);
  return result;
}

}  // namespace

std::vector<std::uint32_t> by_opcode(const PerStage& numbers) {
  return of_opcodes(in_order(numbers));
}

std::uint32_t cores(const PerStage& groups) {
  std::uint32_t sum = 0;
  for (const std::uint32_t size : in_order(groups)) sum += size;
  return sum;
}

std::vector<Problem> check_group_sizes(const PerStage& groups) {
  std::vector<Problem> problems;
  PerStage::fields(groups, [&](std::string_view name, std::uint32_t size) {
    if (size > runtime::DeviceMask::kDevices)
      problems.push_back({std::string(name), "is " + std::to_string(size) +
                                                 " but must be at most " +
                                                 std::to_string(runtime::DeviceMask::kDevices)});
  });
  const std::uint32_t all = problems.empty() ? cores(groups) : 0;  // cannot wrap
  if (all > runtime::DeviceMask::kDevices)
    problems.push_back({"", "has " + std::to_string(all) + " cores in all but must have at most " +
                                std::to_string(runtime::DeviceMask::kDevices)});
  return problems;
}

std::vector<Problem> check_groups(const PerStage& groups, std::uint32_t workers) {
  if (auto problems = check_group_sizes(groups); !problems.empty()) return problems;
  if (groups.fft == 0)
    return {{"fft",
             "is 0 but must be at least 1: no stage comes before it whose cores it could "
             "share"}};
  const std::uint32_t all = cores(groups);
  if (workers == 0 || all == workers) return {};
  return {{"", "has " + std::to_string(all) + " cores in all but must have " +
                   std::to_string(workers) + ", as many as there are workers"}};
}

std::vector<runtime::DeviceMask> devices_of_opcodes(const PerStage& groups) {
  const auto sizes = in_order(groups);
  std::array<runtime::DeviceMask, kStages> of_stage;
  std::uint32_t next = 0;
  for (std::size_t s = 0; s < kStages; ++s) {
    if (sizes[s] == 0 && s > 0) of_stage[s] = of_stage[s - 1];
    for (std::uint32_t i = 0; i < sizes[s]; ++i) of_stage[s].set(next++);
  }
  return of_opcodes(of_stage);
}

}  // namespace carillon::frame
