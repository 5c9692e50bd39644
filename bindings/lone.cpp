#include "lone.hpp"

#include <algorithm>
#include <complex>
#include <utility>

#include "dataflow/io/tag_lines.hpp"

namespace carillon::bindings {

namespace nb = nanobind;
using dataflow::Items;

namespace {

const float* floats_of(const Samples& x, Items items) {
  const bool right = items == Items::Complex ? x.dtype() == nb::dtype<std::complex<float>>()
                                             : x.dtype() == nb::dtype<float>();
  if (!right || x.ndim() != 1 || (x.size() > 1 && x.stride(0) != 1))
    throw nb::type_error(items == Items::Complex
                             ? "an input must be contiguous complex64 of one dimension"
                             : "an input must be contiguous float32 of one dimension");
  return static_cast<const float*>(x.data());
}

nb::object array_of(std::vector<float> out, Items items) {
  auto* const kept = new std::vector<float>(std::move(out));
  const nb::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  if (items == Items::Real)
    return nb::cast(
        nb::ndarray<nb::numpy, float, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
  return nb::cast(nb::ndarray<nb::numpy, std::complex<float>, nb::ndim<1>>(
      reinterpret_cast<std::complex<float>*>(kept->data()), {kept->size() / 2}, owner));
}

}  // namespace

Lone::Lone(const std::string& type, const dataflow::Values& values)
    : Lone(std::shared_ptr(dataflow::make_block(type, values))) {}

Lone::Lone(std::shared_ptr<dataflow::Block> block) : block_(std::move(block)) {
  for (const auto& input : block_->ports().inputs)
    kept_.emplace_back(dataflow::floats_of(input.items) * input.history);
}

nb::object Lone::run(const std::vector<Samples>& given, const std::string& tags) {
  const auto& inputs = block_->ports().inputs;
  if (given.size() != inputs.size())
    throw nb::value_error(("it has " + std::to_string(inputs.size()) + " inputs").c_str());
  require(!inputs.empty(), "it is a source: make(count)");
  std::size_t count = 1U << 30;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const float* const x = floats_of(given[i], inputs[i].items);
    const std::size_t each = dataflow::floats_of(inputs[i].items);
    kept_[i].insert(kept_[i].end(), x, x + each * given[i].size());
    const std::size_t there = kept_[i].size() / each - inputs[i].history;
    count = std::min(count, there < inputs[i].threshold
                                ? 0
                                : (there - inputs[i].threshold) / inputs[i].consume + 1);
  }
  nb::object made = executed(count, tags);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t taken = dataflow::floats_of(inputs[i].items) * count * inputs[i].consume;
    kept_[i].erase(kept_[i].begin(), kept_[i].begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return made;
}

nb::object Lone::make(std::size_t count) {
  require(block_->ports().inputs.empty(), "it has inputs: run(...)");
  require(count <= 1U << 30, "at most 2^30 executions");
  return executed(count, {});
}

std::vector<std::string> Lone::tags() const {
  std::vector<std::string> lines;
  for (const dataflow::Tag& tag : block_->tags_out.tags()) lines.push_back(dataflow::tag_line(tag));
  return lines;
}

nb::object Lone::executed(std::size_t count, const std::string& tags) {
  const std::vector<dataflow::Tag> tags_in = dataflow::parse_tags(tags);
  std::vector<const float*> in;
  for (const auto& kept : kept_) in.push_back(kept.data());
  std::vector<float> out(block_->writes(count));
  block_->tags_in = tags_in;
  block_->tags_out.clear();
  if (count > 0) {
    const nb::gil_scoped_release released;
    block_->execute(in.data(), out.data(), count);
  }
  block_->tags_in = {};
  const auto& output = block_->ports().output;
  return output ? array_of(std::move(out), output->items) : nb::none();
}

}  // namespace carillon::bindings
