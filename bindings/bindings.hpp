// What each file of the bindings adds to carillon.core.
#pragma once

#include <nanobind/nanobind.h>

namespace carillon::bindings {

void bind_base(nanobind::module_& core);

}  // namespace carillon::bindings
