// Without nvcc: no partitions, in words. partition.cu and words.cu take its place where there is
// nvcc.
#include <utility>

#include "base/cuda/partition.hpp"

namespace carillon::cuda {

Words::Words(std::size_t count) : count_(count), status_(kNotBuilt) {}
Words::Words(Words&& other) noexcept { *this = std::move(other); }
Words& Words::operator=(Words&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  std::swap(status_, other.status_);
  return *this;
}
Words::~Words() = default;

struct Partitions::State {};

Partitions::Partitions() = default;
Partitions::Partitions(const Device&, std::uint32_t) : why_(kNotBuilt.text()) {}
Partitions::Partitions(Partitions&& other) noexcept = default;
Partitions& Partitions::operator=(Partitions&& other) noexcept = default;
Partitions::~Partitions() = default;
std::uint32_t Partitions::parts() const { return 0; }
std::uint32_t Partitions::sms(std::uint32_t) const { return 0; }
Stream Partitions::stream(std::uint32_t, bool) const { return nullptr; }
Status Partitions::make_stream(std::uint32_t, int, Stream&) const { return kNotBuilt; }

SmProbe::SmProbe(std::uint32_t) : seen_(0) {}
Status SmProbe::launch(Stream) { return kNotBuilt; }
std::vector<std::uint32_t> SmProbe::sms() const { return {}; }
Status SmProbe::see(Stream, std::vector<std::uint32_t>&) { return kNotBuilt; }

}  // namespace carillon::cuda
