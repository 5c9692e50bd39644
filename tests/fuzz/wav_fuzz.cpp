// Fuzz target: no WAV file, whatever its bytes, is said to have samples where it has none.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>

#include "dataflow/io/wav.hpp"

using namespace carillon::dataflow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read_at = [&](std::uint64_t at, std::span<std::byte> to) {
    if (at > size || to.size() > size - at) std::abort();  // it knows how long the file is
    std::memcpy(to.data(), data + at, to.size());
    return to.size();
  };
  try {
    const Wav wav = read_wav(size, read_at);
    if (wav.offset_bytes > size || wav.rate_hz == 0) std::abort();
    if (wav.samples > (size - wav.offset_bytes) / wav.format.item_bytes()) std::abort();
  } catch (const std::runtime_error&) {
  }
  return 0;
}
