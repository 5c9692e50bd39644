// What an executor asks of devices: streams, order between them, and words in the host's memory
// that tell what is done. Behind an interface, so that tests can put others in their place, which
// fail when they are told to.
//
// Streams are numbered by device, marks and words too. Nothing waits but on a device; what comes
// back is whether the device took the order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/cuda/partition.hpp"
#include "base/tick.hpp"

namespace carillon::cuda {

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::uint16_t devices() const = 0;
  /// The clock by which devices are waited for.
  virtual Tick now() const noexcept { return carillon::now(); }
  virtual Stream stream(std::uint16_t device, std::uint32_t stream) const noexcept = 0;
  /// Launches of this thread go to that device from now on.
  virtual Status use(std::uint16_t device) noexcept = 0;

  /// Where the stream is now. The newest of a number counts.
  virtual Status mark(std::uint16_t device, std::uint32_t stream, std::uint32_t mark) noexcept = 0;
  /// What comes after it in the stream waits for what came before a mark of the same device.
  virtual Status wait(std::uint16_t device, std::uint32_t stream, std::uint32_t mark) noexcept = 0;

  /// When all before it in the stream is done, the device's word has that value.
  virtual Status tell(std::uint16_t device, std::uint32_t stream, std::uint32_t word,
                      std::uint32_t value) noexcept = 0;
  /// What comes after it in the stream waits until another device has told that value or a later
  /// one; values count up and around.
  virtual Status await(std::uint16_t device, std::uint32_t stream, std::uint16_t teller,
                       std::uint32_t word, std::uint32_t value) noexcept = 0;
  /// What a device has told. Does not ask it: a read of the host's own memory.
  virtual std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept = 0;
  /// Tells in the stead of a device that no longer can, so that nobody awaits it for ever.
  virtual void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept = 0;

  /// Whether the device still takes orders, as far as the host knows without waiting for it.
  virtual Status answers(std::uint16_t device) noexcept = 0;
  /// Whether the device answers again, and is done with all that it was ever given; kNotReady: it
  /// answers, and is not done. Does not wait for it. Other threads may use other devices meanwhile.
  virtual Status revive(std::uint16_t device) noexcept = 0;
};

struct DriverOptions {
  std::uint32_t first = 1;       ///< streams of each device that go before its others
  std::uint32_t urgent = 1;      ///< streams of each, numbered next
  std::uint32_t background = 1;  ///< streams of each that run on what those leave
  std::uint32_t words = 1;       ///< of each device, and as many marks
};

/// This machine's devices of those numbers. Status says what went wrong, and then it is null.
std::unique_ptr<Driver> make_driver(const std::vector<Device>& devices,
                                    const DriverOptions& options, Status& status);
/// One card's partitions as devices, for whom SMs are all that they do not share: a failure of the
/// card is that of all of them.
std::unique_ptr<Driver> make_driver(Partitions partitions, const Device& card,
                                    const DriverOptions& options, Status& status);

}  // namespace carillon::cuda
