// Imaginary devices that carry out what they are given whenever the host looks whether it is done,
// and fail when another thread wishes so.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "frame/gpu/imaginary_place.hpp"
#include "frame/gpu/server.hpp"
#include "support/fake_gpus.hpp"

namespace carillon::test {

/// What shall become of all devices.
enum class Wish : std::uint8_t { None, Lose, Hang, Mend };

class WorkingGpus final : public FakeGpus {
 public:
  WorkingGpus(std::uint16_t devices, const cuda::DriverOptions& options, std::atomic<Wish>& wish)
      : FakeGpus(devices, options, 1), wish_(wish) {
    ++there_are;
  }
  WorkingGpus(const WorkingGpus&) = delete;
  WorkingGpus& operator=(const WorkingGpus&) = delete;
  ~WorkingGpus() override { --there_are; }
  static inline std::atomic<int> there_are{0};

  Tick now() const noexcept override { return carillon::now(); }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    auto& self = const_cast<WorkingGpus&>(*this);
    self.obey();
    self.step();
    return FakeGpus::told(device, word);
  }
  cuda::Status use(std::uint16_t device) noexcept override {
    obey();
    return FakeGpus::use(device);
  }
  cuda::Status answers(std::uint16_t device) noexcept override {
    obey();
    return FakeGpus::answers(device);
  }
  cuda::Status revive(std::uint16_t device) noexcept override {
    obey();
    for (int i = 0; i < 100; ++i) step();
    return FakeGpus::revive(device);
  }

 private:
  void obey() {
    const Wish wish = wish_.exchange(Wish::None);
    for (std::uint16_t d = 0; d < devices(); ++d) switch (wish) {
        case Wish::None: break;
        case Wish::Lose: lose(d); break;
        case Wish::Hang: hang(d); break;
        case Wish::Mend: mend(d); break;
      }
  }

  std::atomic<Wish>& wish_;
};

/// A pool of them; `wish` outlives it. `own`: memory of theirs that a card writes samples into,
/// once they are made. The patience is long, so that no busy machine makes one look hung.
inline frame::GpuPool working_gpus(std::uint16_t devices, std::atomic<Wish>& wish,
                                   const std::span<std::byte>* own = nullptr) {
  frame::GpuPool pool;
  pool.name = "imaginary";
  pool.devices = devices;
  pool.sms = 132;
  pool.patience = 60 * kSecond;
  pool.driver = [devices, &wish](const cuda::DriverOptions& options) {
    return std::make_unique<WorkingGpus>(devices, options, wish);
  };
  pool.place = [devices, own](cuda::Driver& driver) {
    auto place = std::make_unique<ImaginaryPlace>(dynamic_cast<FakeGpus&>(driver), devices);
    if (own != nullptr) place->reach(*own);
    return place;
  };
  return pool;
}

}  // namespace carillon::test
