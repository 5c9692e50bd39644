// Without nvcc: no check runs on a device, and none can be given blocks.
#include "fronthaul/gpu/check.hpp"
#include "fronthaul/gpu/direct.hpp"
#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {

using carillon::cuda::kNotBuilt;

Status inspect(const InspectTask&, Stream) { return kNotBuilt; }
Status stamp(const StampTask&, Stream) { return kNotBuilt; }

std::unique_ptr<Target> make_device_target(const cuda::Device&, BlockRing&, Access,
                                           Status& status) {
  status = kNotBuilt;
  return nullptr;
}

Landing make_device_landing(const cuda::Device&, BlockRing&, std::size_t, Export,
                            std::string& why) {
  why = kNotBuilt.text();
  return {};
}

std::string prepare_for_card(std::byte*) { return kNotBuilt.text(); }
std::string export_as_dma_buf(const cuda::Device&, std::byte*, std::size_t, Descriptor&) {
  return kNotBuilt.text();
}

}  // namespace carillon::fronthaul::gpu
