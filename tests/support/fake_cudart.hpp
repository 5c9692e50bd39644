// The CUDA runtime, and the driver's writes and waits of streams, on imaginary devices: a program
// that is linked with fake_cudart.cpp calls these in the place of NVIDIA's. They demand what the
// documentation does and, where it says nothing, the more: that the current device is the stream's.
// What nobody would notice otherwise is a complaint.
//
// Graphs are not imitated. Where a device that is lost may tell so at once or later, dice decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cuda/device.hpp"
#include "support/imaginary_devices.hpp"

struct CUevent_st;

namespace carillon::test {

class FakeCudart final : public ImaginaryDevices {
 public:
  struct Options {
    int greatest = -5;         ///< priority of streams; the least is 0
    bool peers = true;         ///< devices reach each other's memory
    std::string missing = {};  ///< a function that the driver does not have
  };
  /// One at a time: it is what the runtime's functions are about.
  FakeCudart(std::uint16_t devices, std::uint64_t seed, Options options);
  FakeCudart(std::uint16_t devices, std::uint64_t seed) : FakeCudart(devices, seed, Options{}) {}
  /// What is left is one more complaint. The test fails by each that it has not taken.
  ~FakeCudart() override;

  std::vector<std::string> complaints() { return std::exchange(complaints_, {}); }
  /// Streams, events and memory that were made and not given back.
  std::size_t things() const;
  /// Of a device's streams, as they were made.
  std::vector<int> priorities(std::uint16_t device) const;
  std::vector<cuda::Device> devices() const;

  /// A launch of this thread.
  cuda::Status add(cuda::Stream stream, std::function<void()> work,
                   std::uint16_t reads = kNobody) override;

  // For the runtime's functions.
  enum class Kind : std::uint8_t { Stream, Event, Memory, Pinned, Registered };
  struct Thing {
    Kind kind = Kind::Stream;
    std::uint16_t device = 0;
    bool there = true;
    int priority = 0;
    std::size_t bytes = 0;
    std::uint32_t order = 0;  // in which it was made
  };
  using ImaginaryDevices::Event;
  using ImaginaryDevices::give;
  using ImaginaryDevices::lost;
  using ImaginaryDevices::Order;
  using ImaginaryDevices::Orders;
  using ImaginaryDevices::reached;
  using ImaginaryDevices::record;
  using ImaginaryDevices::take;
  using ImaginaryDevices::wait_for;

  static FakeCudart& the();
  static inline thread_local std::uint16_t current = 0;  // device
  static inline thread_local int last_error = 0;
  const Options& options() const { return options_; }
  void complain(const std::string& what) { complaints_.push_back(what); }
  /// In half the cases.
  bool perhaps() { return random_.next() % 2 == 0; }

  void* new_stream(std::uint16_t device, int priority);
  void* new_event(std::uint16_t device);
  void* new_memory(Kind kind, std::uint16_t device, std::size_t bytes);
  void note(const void* what, Thing thing);
  /// Ends it; false, with a complaint: there is no such thing.
  bool end(const void* what, Kind kind);
  /// What that is; null, with a complaint: there is no such thing.
  const Thing* find(const void* what, Kind kind);
  /// What memory that lies in which a stream may reach; null: in none.
  const Thing* reach(const void* at, std::size_t bytes) const;
  Orders* stream(cuda::Stream stream);
  Event* event(CUevent_st* event);
  bool let_reach(std::uint16_t from, std::uint16_t to) { return peers_.emplace(from, to).second; }

 private:
  Options options_;
  std::map<std::uintptr_t, Thing> things_;
  // As long as this lives, that no address is used again.
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<Event>> events_;
  std::set<std::pair<std::uint16_t, std::uint16_t>> peers_;
  std::vector<std::string> complaints_;
};

}  // namespace carillon::test
