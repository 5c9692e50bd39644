// A network card that is open: one of its ports, and the memory that it may read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fronthaul/gpu/verbs.hpp"

namespace carillon::fronthaul::gpu {

/// Given back by a function of the library.
template <typename T>
using Owned = std::unique_ptr<T, int (*)(T*)>;

class OpenCard {
 public:
  /// One port, or, with 0, the first that is active. why() says whether that went well.
  explicit OpenCard(const Card& card, std::uint8_t port = 0);
  OpenCard(const OpenCard&) = delete;
  OpenCard& operator=(const OpenCard&) = delete;

  /// Empty: it is open. Else what is missing or has failed, and what to do.
  const std::string& why() const { return why_; }
  const std::string& name() const { return name_; }
  const VerbsLibrary& library() const { return library_; }
  const verbs::Limits& limits() const { return limits_; }
  std::uint8_t port() const { return port_; }
  const verbs::PortState& state() const { return state_; }
  verbs::Context* context() const { return context_.get(); }

  // Each of these is null when it did not go well, and `why` says what did not.

  /// Lets the card read memory, or with rights (verbs::kLocalWrite …) more than that. `what` is for
  /// the words. `dma_buf` is the memory's file descriptor, -1: by its address, which for a GPU's
  /// memory needs the module nvidia-peermem.
  Owned<verbs::Region> give(const char* what, void* memory, std::size_t bytes, int rights,
                            int dma_buf, std::string& why);
  Owned<verbs::CompletionQueue> make_queue(std::uint32_t room, std::string& why);
  Owned<verbs::QueuePair> make_pair(verbs::QueuePairPlan& plan, std::string& why);

  /// Empty when the queue pair went on to the state, else that it cannot do `to`.
  std::string modify(verbs::QueuePair* pair, const char* to, verbs::QueuePairState& state,
                     int mask) const;

 private:
  void open(const std::string& name);
  bool find_port(std::uint8_t wanted);

  VerbsLibrary library_;
  std::string name_, why_;
  verbs::Limits limits_ = {};
  std::uint8_t port_ = 0;
  verbs::PortState state_ = {};
  Owned<verbs::Context> context_{nullptr, nullptr};
  Owned<verbs::Domain> domain_{nullptr, nullptr};
};

/// What was tried, and errno's words for why it failed.
std::string failed(const std::string& what, int error);
std::uint64_t address_of(const void* memory);

}  // namespace carillon::fronthaul::gpu
