// Imaginary devices under cuda::Driver, in the place of a driver.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cuda/driver.hpp"
#include "support/imaginary_devices.hpp"

namespace carillon::test {

class FakeGpus : public cuda::Driver, public ImaginaryDevices {
 public:
  FakeGpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed)
      : ImaginaryDevices(devices, seed), gpus_(devices) {
    for (std::uint16_t d = 0; d < devices; ++d) {
      for (std::uint32_t s = 0; s < options.first + options.urgent + options.background; ++s)
        gpus_[d].streams.push_back(&make_stream(d));
      gpus_[d].marks.resize(options.words);
      gpus_[d].words.resize(options.words);
    }
  }

  Tick now() const noexcept override { return time(); }
  std::uint16_t devices() const override { return count(); }
  cuda::Stream stream(std::uint16_t device, std::uint32_t stream) const noexcept override {
    return reinterpret_cast<cuda::Stream>(gpus_[device].streams[stream]);
  }
  cuda::Status use(std::uint16_t device) noexcept override { return take(device); }
  cuda::Status mark(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    return record(gpus_[d].marks[mark], *gpus_[d].streams[s]);
  }
  cuda::Status wait(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    return wait_for(gpus_[d].marks[mark], *gpus_[d].streams[s]);
  }
  cuda::Status tell(std::uint16_t d, std::uint32_t s, std::uint32_t word,
                    std::uint32_t value) noexcept override {
    return give(*gpus_[d].streams[s],
                {.work = [&told = gpus_[d].words[word], value] { told = value; }});
  }
  cuda::Status await(std::uint16_t d, std::uint32_t s, std::uint16_t teller, std::uint32_t word,
                     std::uint32_t value) noexcept override {
    return give(*gpus_[d].streams[s], {.may = [&told = gpus_[teller].words[word], value] {
      return reached(told, value);
    }});
  }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    return gpus_[device].words[word];
  }
  void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept override {
    gpus_[device].words[word] = value;
  }
  cuda::Status answers(std::uint16_t device) noexcept override {
    return lost(device) ? cuda::Status(kLost) : cuda::Status();
  }
  cuda::Status revive(std::uint16_t device) noexcept override {
    if (!come_back(device)) return cuda::Status(kLost);
    return idle(device) ? cuda::Status() : cuda::kNotReady;
  }

 private:
  struct Gpu {
    std::vector<Orders*> streams = {};
    std::vector<Event> marks = {};
    std::vector<std::uint32_t> words = {};
  };

  std::vector<Gpu> gpus_;
};

}  // namespace carillon::test
