// Partitions of a card are looked at before anything is measured on them.
#pragma once

#include <string>

#include "base/cuda/partition.hpp"

namespace carillon::bench {

/// In words what is wrong with where kernels run; else empty.
std::string where_they_run(const cuda::Partitions& partitions, const cuda::Device& device);

}  // namespace carillon::bench
