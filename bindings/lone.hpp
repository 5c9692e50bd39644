// A block alone, as Python has it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
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

  dataflow::Block& block() const { return *block_; }
  std::shared_ptr<dataflow::Block> shared() const { return block_; }
  nanobind::object run(const std::vector<Samples>& given);
  nanobind::object make(std::size_t count);

 private:
  nanobind::object executed(std::size_t count);

  std::shared_ptr<dataflow::Block> block_;
  std::vector<std::vector<float>> kept_;
};

}  // namespace carillon::bindings
