#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/isa.hpp"
#include "bindings.hpp"

namespace carillon::bindings {

void bind_base(nanobind::module_& core) {
  core.def(
      "available_isas",
      [] {
        std::vector<std::string> names;
        for (const Isa isa : available_isas()) names.emplace_back(to_string(isa));
        return names;
      },
      "Instruction-set tiers that this machine can run, ascending.");
  core.def(
      "active_isa", [] { return std::string(to_string(active_isa())); },
      "The tier in use: the highest available one, or the one that CARILLON_ISA names.");
}

}  // namespace carillon::bindings
