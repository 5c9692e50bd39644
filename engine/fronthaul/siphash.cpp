#include "fronthaul/siphash.hpp"

#include <dlfcn.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace carillon::fronthaul {

static_assert(std::endian::native == std::endian::little, "the reference's values are");

SipHash::SipHash(const Key& key, const std::string& library) : key_(key), function_(nullptr) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    throw std::runtime_error("needs " + library +
                             ", which is not installed; apt install libsodium23");
  function_ = reinterpret_cast<Function>(::dlsym(handle, "crypto_shorthash_siphash24"));
  if (function_ == nullptr)
    throw std::runtime_error(library + " has no crypto_shorthash_siphash24");
}

std::uint64_t SipHash::operator()(std::span<const std::byte> message) const noexcept {
  std::array<unsigned char, 8> code{};
  function_(code.data(), reinterpret_cast<const unsigned char*>(message.data()), message.size(),
            reinterpret_cast<const unsigned char*>(key_.data()));
  std::uint64_t value = 0;
  std::memcpy(&value, code.data(), sizeof value);
  return value;
}

}  // namespace carillon::fronthaul
