#include "frame/work.hpp"

#include <charconv>
#include <set>
#include <string_view>

namespace carillon::frame {
namespace {

constexpr std::string_view kList = "grants.list.";

std::string key_of(std::size_t grant) { return std::string(kList) + std::to_string(grant); }

}  // namespace

std::size_t grant_of(const Problem& problem) {
  const std::string_view digits = std::string_view(problem.key).substr(kList.size());
  std::size_t grant = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), grant);
  return grant;
}

FrameProgram WorkCompiler::compile(std::span<const std::uint32_t> list,
                                   std::vector<Problem>& problems) {
  const FrameFormat& format = frame_.format();
  check_grants(format, 1, list, problems);
  std::set<std::size_t> wrong;
  for (const Problem& problem : problems) wrong.insert(grant_of(problem));
  const std::vector<Grant> grants = read_grants(list);
  std::vector<std::size_t> right;
  for (std::size_t g = 0; g < grants.size(); ++g)
    if (!wrong.contains(g)) right.push_back(g);
  const auto compile = [&] {
    return frame::compile(format, frame_.symbols(), grants, right, frame_.rooms(), plans_,
                          problems);
  };
  FrameProgram program = compile();
  if (frame_.symbols_of(SymbolKind::Downlink).empty() ||
      program.pairings().front().gives_all_a_turn())
    return program;
  for (const std::size_t g : right)
    if (grants[g].direction == Direction::Downlink)
      problems.push_back({key_of(g) + ".blocks",
                          "shares subcarriers of the downlink with more users than there are of "
                          "these: not all would have references"});
  std::erase_if(right, [&](std::size_t g) { return grants[g].direction == Direction::Downlink; });
  return compile();
}

}  // namespace carillon::frame
