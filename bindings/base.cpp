#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/isa.hpp"
#include "bindings.hpp"

namespace carillon::bindings {

namespace {

nanobind::list devices(const std::vector<cuda::Device>& all) {
  nanobind::list list;
  for (const cuda::Device& each : all) {
    nanobind::dict device;
    device["index"] = each.index;
    device["name"] = each.name;
    device["major"] = each.major;
    device["minor"] = each.minor;
    device["sms"] = each.sms;
    device["memory_bytes"] = each.memory_bytes;
    list.append(device);
  }
  return list;
}

}  // namespace

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
  core.def(
      "cuda_machine",
      [] {
        const cuda::Machine machine = cuda::look();
        nanobind::dict found;
        found["built"] = machine.built;
        found["driver"] = machine.driver;
        found["runtime"] = machine.runtime;
        found["devices"] = devices(machine.devices);
        found["too_old"] = devices(machine.too_old);
        found["why"] = machine.why;
        return found;
      },
      nanobind::sig("def cuda_machine() -> dict[str, typing.Any]"),
      "built: with nvcc; driver, runtime: 13000 is CUDA 13.0, 0: none; devices and too_old: index, "
      "name, major, minor, sms, memory_bytes; why: there are no devices.");
}

}  // namespace carillon::bindings
