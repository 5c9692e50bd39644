// A block alone, as Python has it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "dataflow/blocks/type.hpp"

namespace carillon::bindings {

/// An input: contiguous samples of its kind.
using Samples = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

/// A block with the samples that it will read again: what a ring keeps in a graph.
class Lone {
 public:
  Lone(const std::string& type, const dataflow::Values& values);
  explicit Lone(std::shared_ptr<dataflow::Block> block);

  dataflow::Block& block() const { return *block_; }
  std::shared_ptr<dataflow::Block> shared() const { return block_; }
  /// `tags`: of the first input (dataflow/io/tag_lines.hpp).
  nanobind::object run(const std::vector<Samples>& given, const std::string& tags);
  nanobind::object make(std::size_t count);
  /// Those that it put out by the last call.
  std::vector<std::string> tags() const;

 private:
  nanobind::object executed(std::size_t count, const std::string& tags);

  std::shared_ptr<dataflow::Block> block_;
  std::vector<std::vector<float>> kept_;
};

/// Threshold, consume and history of each input, and what an execution makes.
using InputRow = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>;
using OutputRow = std::tuple<std::string, std::uint64_t>;

/// A block whose executions are calls of a Python function: of an array for each input, which has
/// all that they read; it returns an array of what they make, or None of a sink. What it raises is
/// the block's failure.
std::shared_ptr<dataflow::Block> python_block(nanobind::object function,
                                              const std::vector<InputRow>& inputs,
                                              const std::optional<OutputRow>& output);
/// For Python's collector of cycles: the function of such a block, or null; and to let go of it.
PyObject* function_of(const dataflow::Block& block);
void forget_function(dataflow::Block& block);

}  // namespace carillon::bindings
