// The executor's scenarios by the driver of real devices, over an imaginary CUDA runtime.
#include "runtime/cuda_executor_scenarios.inl"
#include "support/fake_cudart.hpp"

namespace carillon::runtime {
namespace {

// The real one, but for time, which is the devices', and that a device that was lost may come back:
// a real one does not as long as the process lives.
class RealDriver final : public cuda::Driver {
 public:
  RealDriver(test::FakeCudart& devices, const cuda::DriverOptions& options) : devices_(devices) {
    cuda::Status status;
    driver_ = cuda::make_driver(devices.devices(), options, status);
    EXPECT_TRUE(status.ok()) << status.text();
  }

  Tick now() const noexcept override { return devices_.time(); }
  cuda::Status revive(std::uint16_t device) noexcept override {
    (void)devices_.come_back(device);
    return driver_->revive(device);
  }

  std::uint16_t devices() const override { return driver_->devices(); }
  cuda::Stream stream(std::uint16_t device, std::uint32_t stream) const noexcept override {
    return driver_->stream(device, stream);
  }
  cuda::Status use(std::uint16_t device) noexcept override { return driver_->use(device); }
  cuda::Status mark(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    return driver_->mark(d, s, mark);
  }
  cuda::Status wait(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    return driver_->wait(d, s, mark);
  }
  cuda::Status tell(std::uint16_t d, std::uint32_t s, std::uint32_t word,
                    std::uint32_t value) noexcept override {
    return driver_->tell(d, s, word, value);
  }
  cuda::Status await(std::uint16_t d, std::uint32_t s, std::uint16_t teller, std::uint32_t word,
                     std::uint32_t value) noexcept override {
    return driver_->await(d, s, teller, word, value);
  }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    return driver_->told(device, word);
  }
  void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept override {
    driver_->release(device, word, value);
  }
  cuda::Status answers(std::uint16_t device) noexcept override { return driver_->answers(device); }

 private:
  test::FakeCudart& devices_;
  std::unique_ptr<cuda::Driver> driver_;
};

}  // namespace

Gpus make_gpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed) {
  const auto cudart = std::make_shared<test::FakeCudart>(devices, seed);
  return {cudart, std::make_shared<RealDriver>(*cudart, options)};
}

}  // namespace carillon::runtime
