#include "frame/work.hpp"

#include <charconv>
#include <set>
#include <string_view>

namespace carillon::frame {
namespace {

constexpr std::string_view kList = "grants.list.";
// Of plans that frames to come may want: code blocks of some 100 bytes each.
constexpr std::size_t kMostKept = 1 << 17;

std::string key_of(std::size_t grant) { return std::string(kList) + std::to_string(grant); }

}  // namespace

std::size_t grant_of(const Problem& problem) {
  const std::string_view digits = std::string_view(problem.key).substr(kList.size());
  std::size_t grant = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), grant);
  return grant;
}

std::string reason_of(const Problem& problem) {
  const std::size_t name = problem.key.find('.', kList.size());
  return name == std::string::npos ? problem.message
                                   : problem.key.substr(name + 1) + " " + problem.message;
}

FrameProgram WorkCompiler::compile(std::span<const std::uint32_t> list,
                                   std::vector<Problem>& problems) {
  check_grants(frame_.format(), 1, list, problems);
  std::set<std::size_t> wrong;
  for (const Problem& problem : problems) wrong.insert(grant_of(problem));
  const std::vector<Grant> grants = read_grants(list);
  Which right;
  for (std::size_t g = 0; g < grants.size(); ++g)
    if (!wrong.contains(g)) right.push_back(g);
  check_processes(grants, right, problems);
  FrameProgram program = compile(grants, right, problems);
  harq_.begin(program);
  forget_plans(program, problems.size());
  return program;
}

// Nobody makes the cell run out of memory by asking for ever other codings.
void WorkCompiler::forget_plans(const FrameProgram& program, std::size_t refused) {
  for (const Direction d : {Direction::Uplink, Direction::Downlink})
    kept_ += program.code_blocks(d).size() + refused * frame_.room(d).code_blocks;
  if (kept_ <= kMostKept) return;
  plans_ = TransportPlans();
  kept_ = 0;
}

// What can only be said of the whole program leaves others out.
FrameProgram WorkCompiler::compile(std::span<const Grant> grants, Which& right,
                                   std::vector<Problem>& problems) {
  for (;;) {
    std::vector<Problem> own;
    FrameProgram program = frame::compile(frame_.format(), frame_.symbols(), grants, right,
                                          frame_.rooms(), plans_, own);
    const bool good = check_again(program, grants, right, problems) &&
                      check_references(program, grants, right, problems);
    if (!good) continue;
    problems.insert(problems.end(), own.begin(), own.end());
    return program;
  }
}

void WorkCompiler::check_processes(std::span<const Grant> grants, Which& right,
                                   std::vector<Problem>& problems) const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> used;
  std::erase_if(right, [&](std::size_t g) {
    const Grant& grant = grants[g];
    if (grant.direction != Direction::Uplink) return false;
    std::string why = harq_.why_not(grant);
    if (why.empty() && harq_.any() && !used.emplace(grant.user, grant.harq_process).second)
      why = "is of a HARQ process that another allocation of the frame has";
    if (!why.empty()) problems.push_back({key_of(g) + ".harq_process", why});
    return !why.empty();
  });
}

bool WorkCompiler::check_again(const FrameProgram& program, std::span<const Grant> grants,
                               Which& right, std::vector<Problem>& problems) const {
  const std::size_t before = right.size();
  for (const TransportBlock& block : program.transport_blocks(Direction::Uplink)) {
    if (!block.again) continue;
    const std::string why = harq_.why_not_again(block, program.plan(block));
    if (why.empty()) continue;
    std::erase_if(right, [&](std::size_t g) {
      const bool same = grants[g].direction == Direction::Uplink && grants[g].user == block.user &&
                        grants[g].harq_process == block.harq_process;
      if (same) problems.push_back({key_of(g) + ".again", why});
      return same;
    });
  }
  return right.size() == before;
}

bool WorkCompiler::check_references(const FrameProgram& program, std::span<const Grant> grants,
                                    Which& right, std::vector<Problem>& problems) const {
  if (program.gives_all_references(frame_.symbols())) return true;
  std::erase_if(right, [&](std::size_t g) {
    const bool down = grants[g].direction == Direction::Downlink;
    if (down)
      problems.push_back({key_of(g) + ".blocks",
                          "shares subcarriers of the downlink with more users than there are of "
                          "these: not all would have references"});
    return down;
  });
  return false;
}

}  // namespace carillon::frame
