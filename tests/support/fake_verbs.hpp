// A network card that is none: tests/support/fake_verbs.cpp is built as a library of its own that
// stands in for libibverbs, carries out what is posted by copying, late and in order, and refuses
// what a card would. It goes wrong where it is told to. Frames come from a test, not from a cable.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace carillon::test {

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct FakeCard {
  // What it is. Two ports, of which the first is down.
  bool present = true;
  bool opens = true;
  bool dma_buf = true;  // takes one, of whatever file
  int active_ports = 1;
  bool ethernet = true;  // else InfiniBand
  bool has_gid = true, has_lid = true;
  int requests = 1024;  // of a queue
  int reads = 16;
  std::uint32_t message_bytes = 1U << 30;
  bool raw = true;        // may receive frames
  bool rules = true;      // knows rules for them
  bool checksums = true;  // looks at them
  int pieces = 30;

  // What goes wrong. Counts are of blocks' writes, from 0.
  std::uint64_t refuse_registration = kNever;  // of so many
  int registration_error = 12;                 // ENOMEM
  int refuse_state = 0;                        // a queue pair does not come to it; 0: to all
  std::uint64_t refuse_post = kNever;
  std::uint64_t fail_at = kNever;  // completes with …
  int fail_with = 10;              // … IBV_WC_REM_ACCESS_ERR
  std::uint64_t damage_at = kNever;
  std::uint64_t port_down_at = kNever;  // retries are then exceeded
  std::uint64_t silent_at = kNever;     // nothing is heard after so many, their last echo included
  int empty_polls = 0;                  // before each completion
  bool refuse_rule = false;
  std::uint64_t fail_receive_at = kNever;  // of frames that it takes, with fail_with
  bool reads_nothing = false;              // what is posted on queue pairs to itself waits

  // What it has seen.
  std::uint64_t registrations = 0, posts = 0, writes = 0, reads_done = 0;
  std::uint64_t most_in_flight = 0;  // blocks
  int alive = 0;                     // objects that were not given back
  std::uint64_t taken = 0;           // frames that a rule was for
  std::uint64_t dropped = 0;         // of those, for want of a request
  std::uint64_t wild = 0;            // pieces whose memory it may not write
};

/// As the library was built, by which it is loaded.
class FakeVerbs {
 public:
  explicit FakeVerbs(const char* file)
      : library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {}

  /// Read while nobody else is at it.
  FakeCard& card() const { return *function<FakeCard*()>("carillon_fake_card")(); }
  /// The card as it comes, for a test to change. No frame is under way any more.
  FakeCard& fresh() const {
    function<void()>("carillon_fake_forget")();
    return card() = {};
  }
  /// Also while somebody is at it.
  void change(void (*what)(FakeCard&)) const {
    function<void(void (*)(FakeCard&))>("carillon_fake_change")(what);
  }
  /// An Ethernet frame comes over the cable. False: no rule is for it, it is the system's.
  bool come(std::span<const std::byte> frame) const {
    return function<bool(const std::byte*, std::size_t)>("carillon_fake_come")(frame.data(),
                                                                               frame.size());
  }

 private:
  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  void* library_;
};

}  // namespace carillon::test
