// Fuzz target: no Ethernet frame, whatever its bytes and length, is believed to have samples in
// their place unless its headers are as long as they should be, and none makes the parser read
// beyond what lies there.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "fronthaul/gpu/headers.hpp"

using namespace carillon::fronthaul::gpu;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr Destination kOurs{{2, 0, 0, 0, 0, 7}, 0x7f000001, 8000, 0x7f000002, 9000};
  const std::span<const std::byte> frame(reinterpret_cast<const std::byte*>(data), size);
  const auto first = frame.first(std::min<std::size_t>(size, kBeforeSamples));
  const Headers found = read_headers(first, size, kOurs);
  if (found.misfit != Misfit::None) {
    require(found.bytes == 0);
    return 0;
  }
  require(kNetworkBytes + found.bytes <= size);
  require(data[12] == 0x08 && data[13] == 0x00 && data[14] == 0x45 && data[23] == 17);
  require((data[20] & 0x3f) == 0 && data[21] == 0);
  require(data[30] == 127 && data[33] == 1 && data[36] * 256 + data[37] == 8000);
  require(data[26] == 127 && data[29] == 2 && data[34] * 256 + data[35] == 9000);
  return 0;
}
