// Fuzz target: a format made from any bytes (the schedule among them) is refused or can be built
// into a frame and its task graph.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "frame/graph.hpp"

using namespace carillon;
using namespace carillon::frame;

namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint32_t next() { return at_ < size_ ? data_[at_++] : 0; }
  std::string rest() { return {reinterpret_cast<const char*>(data_) + at_, size_ - at_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

Coding coding(Bytes& bytes) {
  Coding c;
  c.block = static_cast<BlockSpan>(bytes.next() % 3);
  c.crc = bytes.next() % 2 == 0;
  c.mcs_table = static_cast<McsTable>(bytes.next() % 4);
  if (c.mcs_table != McsTable::None) c.mcs_index = {bytes.next() % 32U};
  c.modulation = static_cast<ModulationChoice>(bytes.next() % 4);
  c.rate = bytes.next() / 255.0;
  c.base_graph = bytes.next() % 3;
  c.lifting = bytes.next() * 2;
  c.redundancy_version = bytes.next() % 4;
  c.buffer_limit = bytes.next() / 255.0;
  return c;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  FrameFormat f;
  f.antennas = bytes.next() % 10;
  f.users = bytes.next() % 8;
  f.numerology.fft_size = 128U << bytes.next() % 2;
  f.numerology.subcarriers = bytes.next();
  f.numerology.dc_hole = bytes.next() % 2 == 1;
  f.pilots = {static_cast<PilotKind>(bytes.next() % 2), 1, bytes.next()};
  if (f.pilots.kind == PilotKind::Comb) f.pilots.comb = bytes.next() % 18;
  f.combiner.group = bytes.next() % 18;
  f.symbols_per_slot = bytes.next();
  f.deadlines.precoder_age = bytes.next() % 4;
  f.deadlines.downlink_lead_ms = bytes.next() / 100.0;
  f.uplink = coding(bytes);
  f.downlink = coding(bytes);
  f.grants.kind = static_cast<GrantKind>(bytes.next() % 3);
  for (std::uint32_t n = f.grants.kind == GrantKind::List ? kGrantNumbers * (bytes.next() % 8) : 0;
       n > 0; --n)
    f.grants.list.push_back(bytes.next());
  f.schedule = bytes.rest();
  if (f.validate().empty()) build_graph(Frame(f));
  return 0;
}
