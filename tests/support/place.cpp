#include "support/place.hpp"

#include <cstring>

namespace carillon::test {

std::vector<Where>& wheres() {
#ifdef __SANITIZE_THREAD__
  static std::vector<Where> all = {Where::Rising};  // threads share the work, in any order
#else
  static std::vector<Where> all = {Where::Rising, Where::Falling};
#endif
  return all;
}

void* Place::allocate(std::size_t bytes) {
  if (where_ != Where::Device) return host_.emplace_back(bytes).data();
  void* const memory = device_.emplace_back(bytes).data();
  EXPECT_TRUE(memory != nullptr) << device_.back().status().text();
  const cuda::Status cleared = device_.back().clear();
  EXPECT_TRUE(cleared.ok()) << cleared.text();
  return memory;
}

void Place::write(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (where_ != Where::Device) {
    std::memcpy(to, from, bytes);
    return;
  }
  const cuda::Status status = cuda::copy_in(to, from, bytes);
  EXPECT_TRUE(status.ok()) << status.text();
}

void Place::read(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (where_ != Where::Device) {
    std::memcpy(to, from, bytes);
    return;
  }
  const cuda::Status status = cuda::copy_out(to, from, bytes);
  EXPECT_TRUE(status.ok()) << status.text();
}

}  // namespace carillon::test
