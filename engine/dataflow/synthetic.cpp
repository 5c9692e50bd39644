#include "dataflow/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.hpp"

namespace carillon::dataflow {
namespace {

class Drawing {
 public:
  Drawing(std::uint64_t seed, const SyntheticRanges& ranges) : random_(seed), ranges_(ranges) {}

  GraphSpec draw() {
    const std::uint64_t nodes = whole(ranges_.least_nodes, ranges_.most_nodes);
    const std::uint64_t period = whole(ranges_.least_period_ns, ranges_.most_period_ns);
    add_node({1'000'000'000 / std::gcd(period, std::uint64_t{1'000'000'000}),
              period / std::gcd(period, std::uint64_t{1'000'000'000})});
    for (std::uint64_t v = 1; v < nodes; ++v) add_behind();
    return spec_;
  }

 private:
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) {
    return least + random_.next() % (most - least + 1);
  }
  bool happens(double share) { return random_.uniform() < share; }

  void add_node(Ratio rate) {
    Node node;
    node.name = "node" + std::to_string(spec_.nodes.size());
    node.cost.initial = ranges_.least_initial_ns +
                        random_.uniform() * (ranges_.most_initial_ns - ranges_.least_initial_ns);
    node.cost.pieces = {
        {1, ranges_.least_each_ns *
                std::pow(ranges_.most_each_ns / ranges_.least_each_ns, random_.uniform())}};
    if (spec_.nodes.empty()) node.rate = rate;
    spec_.nodes.push_back(node);
    rates_.push_back(rate);
  }

  // Two draws, of which the later node.
  NodeId some_earlier() {
    const std::uint64_t last = rates_.size() - 1;
    return static_cast<NodeId>(std::max(whole(0, last), whole(0, last)));
  }

  void add_behind() {
    const NodeId first = some_earlier(), second = some_earlier();
    const auto v = static_cast<NodeId>(rates_.size());
    std::uint64_t up = 1, down = 1;
    if (happens(ranges_.decimates))
      down = whole(2, 5);
    else if (happens(ranges_.interpolates))
      up = whole(2, 3);
    add_node(*scaled(rates_[first], up, down));
    connect(first, v);
    if (first != second && happens(ranges_.joins)) connect(second, v);
  }

  // In the least whole numbers that fit the rates.
  void connect(NodeId u, NodeId v) {
    const Ratio ratio = *scaled(rates_[u], rates_[v].denominator, rates_[v].numerator);
    Edge edge{u, v, ratio.denominator, ratio.numerator, ratio.numerator};
    if (happens(ranges_.peeks)) edge.threshold += whole(1, 3);
    spec_.edges.push_back(edge);
  }

  Random random_;
  const SyntheticRanges& ranges_;
  GraphSpec spec_;
  std::vector<Ratio> rates_;
};

}  // namespace

GraphSpec synthetic_graph(std::uint64_t seed, const SyntheticRanges& ranges) {
  return Drawing(seed, ranges).draw();
}

}  // namespace carillon::dataflow
