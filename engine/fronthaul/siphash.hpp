// A code that shows who made a packet: SipHash-2-4 of libsodium, which is loaded when it is asked
// for, so that nothing links to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace carillon::fronthaul {

inline constexpr char kSodiumLibrary[] = "libsodium.so.23";

using Key = std::array<std::byte, 16>;

/// SipHash-2-4 under one key (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012).
/// Without the key one can only guess among 2⁶⁴ values. As a pseudorandom function it needs no
/// nonce; it does not keep anybody from sending the same packet again.
class SipHash {
 public:
  /// Throws std::runtime_error that says what to install. The library is another one in tests only.
  explicit SipHash(const Key& key, const std::string& library = kSodiumLibrary);

  /// Of a message of any length and alignment. Any thread.
  std::uint64_t operator()(std::span<const std::byte> message) const noexcept;

 private:
  using Function = int (*)(unsigned char* out, const unsigned char* in, unsigned long long length,
                           const unsigned char* key);
  Key key_;
  Function function_;
};

}  // namespace carillon::fronthaul
