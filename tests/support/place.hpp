// Where the tests of CUDA kernels run: emulated on the host, once with the threads in rising and
// once in falling order; or, for `test-… --device`, on this machine's first CUDA device.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "base/cuda/device.hpp"
#include "support/emulated_cta.hpp"
#include "support/test.hpp"

namespace carillon::test {

enum class Where : std::uint8_t { Rising, Falling, Device };

/// What the program was asked for; Device only where there is one.
std::vector<Where>& wheres();

/// Exit status of a program that was asked to use a device where there is none.
inline constexpr int kSkipped = 77;

class Place {
 public:
  explicit Place(Where where) : where_(where) {}
  bool on_device() const { return where_ == Where::Device; }

  /// Copies of host memory, zeros, and back; kept until the place is gone.
  template <typename T>
  T* put(const std::vector<T>& values) {
    T* const to = room<T>(values.size());
    write(to, values.data(), values.size() * sizeof(T));
    return to;
  }
  template <typename T>
  T* room(std::size_t count) {
    return static_cast<T*>(allocate(std::max<std::size_t>(count * sizeof(T), 1)));
  }
  template <typename T>
  std::vector<T> get(const T* from, std::size_t count) {
    std::vector<T> values(count);
    read(values.data(), from, count * sizeof(T));
    return values;
  }

  void write(void* to, const void* from, std::size_t bytes);

  /// body(cta, task) emulated, or launch(task, stream) on the device, to its end.
  template <typename Task, typename Body>
  void run(const Task& task, Body&& body, cuda::Status (*launch)(const Task&, cuda::Stream)) {
    const phy::simt::Launch shape = launch_of(task);
    EXPECT_LE(shape.shared_bytes, phy::simt::kMostSharedBytes);
    EXPECT_LE(shape.threads, phy::simt::kMostThreads);
    EXPECT_EQ(shape.threads % phy::simt::kWarp, 0U);
    EXPECT_LE(shape.y, phy::simt::kMostBlocks);
    EXPECT_LE(shape.z, phy::simt::kMostBlocks);
    EXPECT_TRUE(shape.x > 0 && shape.y > 0 && shape.z > 0 && shape.threads > 0);
    if (where_ == Where::Device) {
      const cuda::Status launched = launch(task, nullptr), done = cuda::finish();
      EXPECT_TRUE(launched.ok()) << launched.text();
      EXPECT_TRUE(done.ok()) << done.text();
      return;
    }
    const Order order = where_ == Where::Rising ? Order::Rising : Order::Falling;
    emulate(shape, order, [&](EmulatedCta& cta) { body(cta, task); });
  }

 private:
  void* allocate(std::size_t bytes);
  void read(void* to, const void* from, std::size_t bytes);

  Where where_;
  std::list<AlignedArray<std::byte>> host_;
  std::list<cuda::Memory> device_;
};

/// GPU_TEST(Suite, Name) { … place … }: the body in each place that was asked for.
#define GPU_TEST(suite, name)                                            \
  static void suite##_##name##_at(carillon::test::Place& place);         \
  TEST(suite, name) {                                                    \
    for (const carillon::test::Where where : carillon::test::wheres()) { \
      carillon::test::Place place(where);                                \
      suite##_##name##_at(place);                                        \
    }                                                                    \
  }                                                                      \
  static void suite##_##name##_at(carillon::test::Place& place)

}  // namespace carillon::test
