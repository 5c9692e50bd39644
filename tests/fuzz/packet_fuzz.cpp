// Fuzz target: no datagram, whatever its bytes and length, is believed unless it is one of the
// cell's, and none makes the parser read beyond its end.
#include <cstdlib>
#include <cstring>
#include <span>

#include "fronthaul/packet.hpp"

using namespace carillon;
using namespace carillon::fronthaul;

namespace {

const Layout& layout() {
  static const Layout cell(1, 3, kMillisecond,
                           {{Carries::Uplink, 10, 0, 1, 0},
                            {Carries::Nothing, 9, 1, 2, 0},
                            {Carries::Uplink, 9, 2, 3, 0},
                            {Carries::Downlink, 9, 3, 4, 0}});
  return cell;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> datagram(reinterpret_cast<const std::byte*>(data), size);
  const PacketIds ids = read_ids(datagram);
  if (size < kHeaderBytes) {
    require(ids == PacketIds{});
  } else {
    std::byte header[kHeaderBytes];
    std::memcpy(header, data, kHeaderBytes);
    write_ids(ids, header);
    require(std::memcmp(header, data, kHeaderBytes) == 0);
  }
  for (const auto way : {Carries::Uplink, Carries::Downlink}) {
    if (check(ids, size, layout(), way) != Reject::None) continue;
    require(ids.cell == 1 && ids.antenna < 3 && ids.symbol < 4);
    require(layout().symbols()[ids.symbol].carries == way);
    require(size == kHeaderBytes + 4 * layout().symbols()[ids.symbol].samples);
  }
  return 0;
}
