#include "fronthaul/siphash.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

#include "base/loaded.hpp"

namespace carillon::fronthaul {

static_assert(std::endian::native == std::endian::little, "the reference's values are");

SipHash::SipHash(const Key& key, const std::string& library) : key_(key), function_(nullptr) {
  Loaded loaded(library, "apt install libsodium23");
  loaded.find(function_, "crypto_shorthash_siphash24");
  if (!loaded.why().empty()) throw std::runtime_error(loaded.why());
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
