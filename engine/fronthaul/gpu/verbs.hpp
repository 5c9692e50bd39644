// RDMA verbs, loaded when they are asked for, so that nothing links to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fronthaul/gpu/verbs_abi.hpp"

namespace carillon::fronthaul::gpu {

inline constexpr char kVerbsLibrary[] = "libibverbs.so.1";

/// A device of libibverbs. The library is another one in tests only.
struct Card {
  std::string name;  ///< mlx5_0
  std::string library = kVerbsLibrary;
};

/// The library's functions, each as <infiniband/verbs.h> has it; stays loaded.
class VerbsLibrary {
 public:
  explicit VerbsLibrary(const std::string& file);
  /// There is none, or it lacks something: in words, and what to do. Then nothing may be called.
  const std::string& why() const { return why_; }

  verbs::Device** (*list)(int*) = nullptr;
  void (*free_list)(verbs::Device**) = nullptr;
  const char* (*name)(verbs::Device*) = nullptr;
  verbs::Context* (*open)(verbs::Device*) = nullptr;
  int (*close)(verbs::Context*) = nullptr;
  int (*query_device)(verbs::Context*, verbs::Limits*) = nullptr;
  int (*query_port)(verbs::Context*, std::uint8_t, verbs::PortState*) = nullptr;
  int (*query_gid)(verbs::Context*, std::uint8_t, int, verbs::Gid*) = nullptr;
  verbs::Domain* (*protect)(verbs::Context*) = nullptr;
  int (*unprotect)(verbs::Domain*) = nullptr;
  verbs::Region* (*by_address)(verbs::Domain*, void*, std::size_t, int) = nullptr;
  /// Null in a libibverbs older than 34.
  verbs::Region* (*by_dma_buf)(verbs::Domain*, std::uint64_t offset, std::size_t,
                               std::uint64_t address, int file, int access) = nullptr;
  int (*unregister)(verbs::Region*) = nullptr;
  verbs::CompletionQueue* (*make_queue)(verbs::Context*, int, void*, verbs::Channel*,
                                        int) = nullptr;
  int (*destroy_queue)(verbs::CompletionQueue*) = nullptr;
  verbs::QueuePair* (*make_pair)(verbs::Domain*, verbs::QueuePairPlan*) = nullptr;
  int (*modify_pair)(verbs::QueuePair*, verbs::QueuePairState*, int) = nullptr;
  int (*destroy_pair)(verbs::QueuePair*) = nullptr;
  const char* (*status_text)(int) = nullptr;

 private:
  std::string why_;
};

struct Verbs {
  std::vector<std::string> devices;  ///< mlx5_0, …
  std::string why;                   ///< there are none: in words, and what to do
  std::string library = kVerbsLibrary;
};

/// The devices of this machine.
Verbs look_for_verbs(const std::string& library = kVerbsLibrary);

}  // namespace carillon::fronthaul::gpu
