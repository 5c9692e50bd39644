// Loads of somebody else on a card, for measurements: what MegaStation §3 puts beside the baseband.
// Spinners take SMs away (partial and, on several cards or partitions, fragmented parallelism),
// matrix products stand in the queue before it (delayed parallelism).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/device.hpp"
#include "base/cuda/words.hpp"

namespace carillon::emulator {

/// A block on each of so many SMs that lets no other block in.
///
/// While they spin, nothing may wait for the whole device: no cuda::finish(), copy_in(),
/// copy_out(), Memory::clear(), nor may memory be freed; it would wait until they end by
/// themselves. What is to run beside them has run once before, for a kernel's first launch may wait
/// as well.
class Spinners {
 public:
  /// They end by themselves then, so that a program that fails leaves no card occupied.
  static constexpr std::uint32_t kMostSeconds = 20;

  /// They spin when this returns, or why() says what is in the way. `stream`: of the partition
  /// whose SMs they take; null: of the whole current device.
  explicit Spinners(std::uint32_t sms, cuda::Stream stream = nullptr);
  Spinners(const Spinners&) = delete;
  Spinners& operator=(const Spinners&) = delete;
  ~Spinners();

  const std::string& why() const { return why_; }
  /// The SMs that are taken (%smid), in rising order.
  const std::vector<std::uint32_t>& sms() const { return sms_; }
  /// All of them still do: to be asked when what was measured beside them has ended.
  bool spinning() const;
  /// Ends them, and waits until they have ended.
  cuda::Status stop();

 private:
  cuda::Status tell(std::uint32_t stop);
  cuda::Status launch();
  std::string wait();

  cuda::Words words_;  // 0: what stop_ gets; 1…: 1 + the SM of a block that spins
  cuda::Memory stop_;  // a word that they read
  std::uint32_t count_ = 0;
  cuda::Stream stream_ = nullptr, stopping_ = nullptr;
  bool own_ = false, running_ = false;
  std::string why_;
  std::vector<std::uint32_t> sms_;
};

/// Products of 1280×1024×512, always so many in one queue. 0: none.
class Gemms {
 public:
  /// Queues them. `stream`: of the partition that they run in; null: of the whole current device.
  explicit Gemms(std::uint32_t kernels, cuda::Stream stream = nullptr);
  Gemms(const Gemms&) = delete;
  Gemms& operator=(const Gemms&) = delete;
  /// Waits for those that are queued.
  ~Gemms();

  /// What went wrong first; then no more are queued.
  const cuda::Status& status() const { return status_; }
  /// Queues one for each that has ended. To be called again and again while there are to be some.
  const cuda::Status& refill();
  /// That have ended.
  std::uint64_t ended() const { return ended_; }
  /// Waits for those that are queued.
  cuda::Status drain();

 private:
  struct State;

  void launch(std::uint32_t slot);

  std::unique_ptr<State> state_;
  cuda::Status status_;
  std::uint64_t ended_ = 0;
  std::uint32_t kernels_ = 0, oldest_ = 0;
};

}  // namespace carillon::emulator
