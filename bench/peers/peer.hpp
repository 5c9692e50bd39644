// Libraries that do what our kernels do. None is needed to build or to run: a library is loaded
// when it is found (dlopen), or its header's code lies in a module of its own (peers/modules/) that
// is built where the header is found.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "peers/problems.hpp"
#include "support/bench.hpp"

namespace carillon::bench {

/// One way in which a library solves a problem: prepare() plans and gives what is then timed. The
/// problem outlives it.
template <typename Problem>
struct Method {
  std::string name;
  std::function<std::function<void()>(Problem&)> prepare;
};

struct Peer {
  std::string name;  // with its version; empty: not found
  std::vector<Method<Fft>> fft;
  std::vector<Method<ZeroForce>> zero_force;
  std::vector<Method<Product>> product;
};

/// A library that is looked for, and how to get it.
struct Known {
  std::string library, get;
  Peer peer;
};

/// All that are looked for, found or not; loaded at the first call.
const std::vector<Known>& known_peers();

/// What is recorded of libraries that are not looked for, of one of our cases.
std::vector<Rival> recorded(const std::string& kernel, const std::string& shape);

/// Every method of every peer for a problem, each checked to solve it. Throws std::runtime_error
/// naming one that does not.
template <typename Problem>
std::vector<Rival> rivals(const Problem& problem, std::vector<Method<Problem>> Peer::*methods) {
  std::vector<Rival> found;
  for (const Known& known : known_peers())
    for (const auto& method : known.peer.*methods) {
      const auto own = std::make_shared<Problem>(problem);
      const auto solve = method.prepare(*own);
      solve();
      if (!(own->error() < 1e-2))
        throw std::runtime_error(known.peer.name + ", " + method.name + ": wrong result, off by " +
                                 std::to_string(own->error()));
      found.push_back(
          {known.peer.name, method.name, [own, solve] { solve(); }, own->items(), 0, {}});
    }
  return found;
}

}  // namespace carillon::bench
