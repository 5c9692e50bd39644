#include "emulator/contingency.hpp"

#include <cmath>

#include "frame/transmit.hpp"
#include "phy/ofdm/ofdm.hpp"

namespace carillon::emulator {

void write_references(const frame::Frame& frame, RadioUnit& radio) {
  const auto& shape = frame.ofdm().shape();
  const auto gain = static_cast<float>(
      std::sqrt(double{frame::kTransmitPower} * shape.fft_size / shape.subcarriers));
  phy::OfdmScratch scratch(frame.ofdm());
  // Of all users, whoever is to receive something in the frame that it stands in for.
  const std::uint32_t users = frame.format().users;
  const auto everyone = frame::Pairing::whole(frame.format());
  AlignedArray<phy::Tile> references(std::size_t{frame.tiles()} * users);
  for (std::uint32_t t = 0; t < frame.tiles(); ++t)
    frame.downlink_reference(everyone, t, &references[std::size_t{t} * users]);
  for (const auto s : frame.symbols_of(frame::SymbolKind::Downlink)) {
    if (!frame.symbol(s).references) continue;
    for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
      phy::ofdm_kernels().transmit(frame.ofdm(), &references[a % users], users, gain,
                                   frame.symbol(s).prefix, radio.contingency_samples(s, a),
                                   scratch);
  }
}

}  // namespace carillon::emulator
