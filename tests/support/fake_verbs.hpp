// A network card that is none: tests/support/fake_verbs.cpp is built as a library of its own that
// stands in for libibverbs, carries out what is posted by copying, late and in order, and refuses
// what a card would. It goes wrong where it is told to.
#pragma once

#include <cstddef>
#include <cstdint>

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

  // What it has seen.
  std::uint64_t registrations = 0, posts = 0, writes = 0, reads_done = 0;
  std::uint64_t most_in_flight = 0;  // blocks
  int alive = 0;                     // objects that were not given back
};

}  // namespace carillon::test

/// The one that the library has.
extern "C" carillon::test::FakeCard* carillon_fake_card();
