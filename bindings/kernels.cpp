// The kernels one by one, for experiments and tests: arrays in, arrays out, no tiles. Bits are
// arrays of 0 and 1 (uint8 or bool). Whole numbers are taken in their own dtype only; complex128
// and float64 are rounded to single precision. `isa` chooses the variant; None is the one in use.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <complex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "base/isa.hpp"
#include "bindings.hpp"
#include "phy/crc/crc.hpp"
#include "phy/demap/demap.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/estimate/estimate.hpp"
#include "phy/gold/gold.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "phy/pilot/pilot.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::bindings {

using phy::kTileLanes;
using phy::Tile;

namespace {

using Value = std::complex<float>;
using Name = std::optional<std::string>;
constexpr std::uint32_t kMostIterations = 65535;  // that are counted

void require(bool good, const char* message) {
  if (!good) throw nb::value_error(message);
}

Isa isa_of(const Name& name) {
  if (!name) return active_isa();
  for (const Isa isa : available_isas())
    if (to_string(isa) == *name) return isa;
  throw nb::value_error(("this machine has no " + *name + "; see available_isas()").c_str());
}

void put(Tile& tile, std::size_t lane, Value v) {
  tile.re[lane] = v.real();
  tile.im[lane] = v.imag();
}
Value get(const Tile& tile, std::size_t lane) { return {tile.re[lane], tile.im[lane]}; }

std::vector<Tile> to_tiles(const Value* values, std::size_t count) {
  std::vector<Tile> tiles(phy::tiles_for(static_cast<std::uint32_t>(count)));
  for (std::size_t k = 0; k < count; ++k) put(tiles[k / kTileLanes], k % kTileLanes, values[k]);
  return tiles;
}

Out<Value> from_tiles(const std::vector<Tile>& tiles, std::size_t count) {
  std::vector<Value> values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = get(tiles[k / kTileLanes], k % kTileLanes);
  return array(std::move(values), {count});
}

// The most significant bit first (information) or last (codewords).
std::vector<std::uint8_t> pack(const std::uint8_t* bits, std::size_t count, bool msb_first) {
  std::vector<std::uint8_t> bytes((count + 7) / 8);
  for (std::size_t n = 0; n < count; ++n)
    bytes[n / 8] |= static_cast<std::uint8_t>((bits[n] & 1) << (msb_first ? 7 - n % 8 : n % 8));
  return bytes;
}

Out<std::uint8_t> unpack(const std::vector<std::uint8_t>& bytes, std::size_t count,
                         bool msb_first) {
  std::vector<std::uint8_t> bits(count);
  for (std::size_t n = 0; n < count; ++n)
    bits[n] = (bytes[n / 8] >> (msb_first ? 7 - n % 8 : n % 8)) & 1;
  return array(std::move(bits), {count});
}

phy::OfdmPlan ofdm_plan(std::size_t fft_size, std::size_t subcarriers, bool dc_hole) {
  return phy::OfdmPlan(
      {static_cast<std::uint32_t>(fft_size), static_cast<std::uint32_t>(subcarriers), dc_hole});
}

Out<Value> ofdm_receive(const Whole<std::int16_t, 2>& given, std::uint32_t subcarriers,
                        bool dc_hole, const Name& isa) {
  const auto samples = given.as("samples");
  require(samples.shape(1) == 2, "samples must be pairs of I and Q");
  const auto plan = ofdm_plan(samples.shape(0), subcarriers, dc_hole);
  phy::OfdmScratch scratch(plan);
  std::vector<Tile> out(plan.tiles());
  phy::ofdm_kernels(isa_of(isa)).receive(plan, samples.data(), out.data(), 1, scratch);
  return from_tiles(out, subcarriers);
}

std::tuple<Out<Value>, float> ofdm_receive_pilot(const Whole<std::int16_t, 2>& given,
                                                 In<Value, 1> pilot, bool dc_hole,
                                                 const Name& isa) {
  const auto samples = given.as("samples");
  require_finite(pilot, "pilot");
  require(samples.shape(1) == 2, "samples must be pairs of I and Q");
  const auto plan = ofdm_plan(samples.shape(0), pilot.shape(0), dc_hole);
  phy::OfdmScratch scratch(plan);
  std::vector<Tile> row(plan.tiles());
  const float noise =
      phy::ofdm_kernels(isa_of(isa))
          .receive_pilot(plan, samples.data(), to_tiles(pilot.data(), pilot.shape(0)).data(),
                         row.data(), scratch);
  return {from_tiles(row, pilot.shape(0)), noise};
}

std::tuple<Out<std::int16_t>, std::uint32_t> ofdm_transmit(In<Value, 1> subcarriers,
                                                           std::uint32_t fft_size, float gain,
                                                           std::uint32_t prefix, bool dc_hole,
                                                           const Name& isa) {
  require_finite(subcarriers, "subcarriers");
  require(std::isfinite(gain), "gain must be finite");
  require(prefix <= fft_size, "the prefix must not be longer than the symbol");
  const auto plan = ofdm_plan(fft_size, subcarriers.shape(0), dc_hole);
  phy::OfdmScratch scratch(plan);
  const auto in = to_tiles(subcarriers.data(), subcarriers.shape(0));
  std::vector<std::int16_t> samples(2 * (std::size_t{prefix} + fft_size));
  const auto saturated = phy::ofdm_kernels(isa_of(isa))
                             .transmit(plan, in.data(), 1, gain, prefix, samples.data(), scratch);
  return {array(std::move(samples), {std::size_t{prefix} + fft_size, 2}), saturated};
}

Out<Value> estimate(In<Value, 1> row, std::uint32_t comb, std::uint32_t offset, std::uint32_t group,
                    const Name& isa) {
  require_finite(row, "row");
  const auto count = static_cast<std::uint32_t>(row.shape(0));
  const phy::EstimatePlan plan(count, comb, offset, group);
  const auto tiles = to_tiles(row.data(), count);
  std::vector<Tile> csi(phy::csi_tiles(count, group));
  phy::estimate_kernels(isa_of(isa)).estimate(plan, tiles.data(), csi.data(), 1);
  return from_tiles(csi, (count + group - 1) / group);
}

// Coefficients as [tile][user][antenna] tiles, from or to arrays of [subcarrier][user][antenna]
// (channel: [subcarrier][antenna][user]).
struct Matrices {
  std::size_t count, antennas, users;

  phy::ArrayShape shape() const {
    const auto m = static_cast<std::uint32_t>(antennas);
    return {m, static_cast<std::uint32_t>(users), m};
  }
  std::size_t block() const { return users * antennas; }
  std::uint32_t tiles() const { return phy::tiles_for(static_cast<std::uint32_t>(count)); }
  std::size_t tile_of(std::size_t n, std::size_t user, std::size_t antenna) const {
    return n / kTileLanes * block() + user * antennas + antenna;
  }
  std::vector<Tile> load(const Value* from, bool channel) const {
    std::vector<Tile> to(tiles() * block());
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t u = 0; u < users; ++u)
        for (std::size_t a = 0; a < antennas; ++a) {
          const std::size_t place = channel ? a * users + u : u * antennas + a;
          put(to[tile_of(n, u, a)], n % kTileLanes, from[n * block() + place]);
        }
    return to;
  }
  Out<Value> store(const std::vector<Tile>& from) const {
    std::vector<Value> to;
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t u = 0; u < users; ++u)
        for (std::size_t a = 0; a < antennas; ++a)
          to.push_back(get(from[tile_of(n, u, a)], n % kTileLanes));
    return array(std::move(to), {count, users, antennas});
  }
};

phy::Detector detector_of(const std::string& name) {
  if (name == "zf") return phy::Detector::ZeroForcing;
  if (name == "mmse") return phy::Detector::Mmse;
  require(name == "mrc", "detector must be zf, mmse or mrc");
  return phy::Detector::Conjugate;
}

std::tuple<Out<Value>, Out<float>> combine(In<Value, 3> channel, float noise,
                                           const std::string& detector, const Name& isa) {
  const Matrices m{channel.shape(0), channel.shape(1), channel.shape(2)};
  require(m.users >= 1 && m.users <= m.antennas && m.users <= 128 && m.antennas <= 256,
          "channel must be [subcarriers, antennas, users] with 1 to 128 users and no more users "
          "than antennas, of which there may be 256");
  require_finite(channel, "channel");
  require_variance(noise, "noise");
  const auto& kernels = phy::zeroforce_kernels(isa_of(isa));
  const auto csi = m.load(channel.data(), true);
  std::vector<Tile> w(csi.size());
  std::vector<float> post(m.tiles() * m.users * kTileLanes);
  phy::ZeroForceScratch scratch(m.shape().users);
  for (std::size_t t = 0; t < m.tiles(); ++t)
    kernels.combine(detector_of(detector), m.shape(), noise, &csi[t * m.block()], &w[t * m.block()],
                    &post[t * m.users * kTileLanes], scratch);
  std::vector<float> ordered;
  for (std::size_t n = 0; n < m.count; ++n)
    for (std::size_t u = 0; u < m.users; ++u)
      ordered.push_back(post[(n / kTileLanes * m.users + u) * kTileLanes + n % kTileLanes]);
  return {m.store(w), array(std::move(ordered), {m.count, m.users})};
}

Out<Value> equalize(In<Value, 3> combiner, In<Value, 2> received, const Name& isa) {
  const Matrices m{combiner.shape(0), combiner.shape(2), combiner.shape(1)};
  require(received.shape(0) == m.count && received.shape(1) == m.antennas,
          "combiner must be [subcarriers, users, antennas], received [subcarriers, antennas]");
  require_finite(combiner, "combiner");
  require_finite(received, "received");
  const auto& kernels = phy::equalize_kernels(isa_of(isa));
  const auto w = m.load(combiner.data(), false);
  const auto y = Matrices{m.count, m.antennas, 1}.load(received.data(), false);
  std::vector<Tile> s(m.tiles() * m.users);
  for (std::size_t t = 0; t < m.tiles(); ++t)
    kernels.per_group(m.shape(), {}, &w[t * m.block()], &y[t * m.antennas], &s[t * m.users]);
  std::vector<Value> values;
  for (std::size_t n = 0; n < m.count; ++n)
    for (std::size_t u = 0; u < m.users; ++u)
      values.push_back(get(s[n / kTileLanes * m.users + u], n % kTileLanes));
  return array(std::move(values), {m.count, m.users});
}

Out<std::int8_t> demap(In<Value, 1> symbols, In<float, 1> noise, std::uint32_t bits,
                       const Name& isa) {
  const std::size_t count = symbols.shape(0);
  require(noise.shape(0) == count, "noise must have one variance for each symbol");
  require(bits == 2 || bits == 4 || bits == 6 || bits == 8, "bits must be 2, 4, 6 or 8");
  require_finite(symbols, "symbols");
  for (std::size_t n = 0; n < count; ++n) require_variance(noise.data()[n], "noise");
  const auto tiles = to_tiles(symbols.data(), count);
  const auto elements = static_cast<std::uint32_t>(count);
  std::vector<float> variances(tiles.size() * kTileLanes, 1.0F);
  std::copy_n(noise.data(), count, variances.begin());
  const std::vector<std::uint16_t> signs(tiles.size() + 1);
  const phy::SoftMap map{.E = elements * bits,
                         .plane_stride = elements,
                         .bits = static_cast<std::uint8_t>(bits),
                         .direct = false};
  std::vector<std::int8_t> planes(count * bits), soft(count * bits);
  phy::demap_kernels(isa_of(isa))
      .demap(static_cast<phy::Modulation>(bits), {.map = map,
                                                  .count = elements,
                                                  .s = tiles.data(),
                                                  .noise = variances.data(),
                                                  .signs = signs.data(),
                                                  .soft = planes.data()});
  for (std::size_t i = 0; i < bits; ++i)
    for (std::size_t n = 0; n < count; ++n) soft[n * bits + i] = planes[i * count + n];
  return array(std::move(soft), {count, bits});
}

phy::LdpcCode ldpc_code(std::uint8_t base_graph, std::uint16_t lifting) {
  const phy::LdpcCode code{base_graph, lifting};
  require(code.valid(), "base_graph must be 1 or 2, and lifting one of 38.212 table 5.3.2-1");
  return code;
}

Out<std::uint8_t> ldpc_encode(std::uint8_t base_graph, std::uint16_t lifting, const Bits& given,
                              const Name& isa) {
  const auto info = given.as("info");
  const auto code = ldpc_code(base_graph, lifting);
  require(info.shape(0) == code.info_bits(), "info must be 22 or 10 times lifting bits long");
  phy::LdpcScratch scratch;
  const auto packed = pack(info.data(), info.shape(0), true);
  std::vector<std::uint8_t> codeword((code.length() + 7) / 8);
  phy::ldpc_kernels(isa_of(isa)).encode(code, packed.data(), codeword.data(), scratch);
  return unpack(codeword, code.length(), false);
}

std::tuple<Out<std::uint8_t>, std::uint32_t, bool> ldpc_decode(
    std::uint8_t base_graph, std::uint16_t lifting, const Whole<std::int8_t, 1>& given,
    std::uint32_t fillers, std::uint32_t iterations, bool early_stop, const Name& isa) {
  const auto soft = given.as("soft");
  const auto code = ldpc_code(base_graph, lifting);
  require(soft.shape(0) == code.length(), "soft must be 66 or 50 times lifting values long");
  require(fillers < code.info_bits(), "fillers must be fewer than the information bits");
  require(iterations >= 1 && iterations <= kMostIterations, "iterations must be 1 to 65535");
  phy::LdpcScratch scratch;
  phy::DecodeOptions options;
  options.fillers = fillers;
  options.sent = code.length();
  while (options.sent > 1 && soft.data()[options.sent - 1] == 0) --options.sent;
  options.max_iterations = iterations;
  options.early_stop = early_stop;
  std::vector<std::uint8_t> info((code.info_bits() + 7) / 8);
  phy::DecodeBlock block{soft.data(), info.data()};
  phy::ldpc_kernels(isa_of(isa)).decode(code, {&block, 1}, options, scratch);
  return {unpack(info, code.info_bits(), true), block.result.iterations, block.result.parity};
}

std::uint32_t crc(const std::string& kind, const Bits& given) {
  const auto bits = given.as("bits");
  static constexpr std::array<std::pair<const char*, phy::Crc>, 3> kKinds{
      {{"16", phy::Crc::Crc16}, {"24a", phy::Crc::Crc24A}, {"24b", phy::Crc::Crc24B}}};
  for (const auto& [name, value] : kKinds)
    if (kind == name)
      return phy::crc(value, pack(bits.data(), bits.shape(0), true).data(), bits.shape(0));
  throw nb::value_error("kind must be 16, 24a or 24b");
}

Out<std::uint8_t> gold(std::uint32_t seed, std::size_t first, std::size_t count) {
  constexpr std::size_t kMost = std::size_t{1} << 32;
  if (count > kMost || first > kMost)
    throw nb::value_error("first and count must be at most 2^32 each");
  std::vector<std::uint8_t> bytes((count + 7) / 8);
  phy::gold(seed, first, count, bytes.data());
  return unpack(bytes, count, false);
}

Out<Value> zadoff_chu(std::uint32_t length, std::uint32_t root) {
  std::vector<Value> values;
  for (const auto& v : phy::zadoff_chu(length, root)) values.emplace_back(v.re, v.im);
  return array(std::move(values), {length});
}

}  // namespace

void bind_kernels(nb::module_& core) {
  using nb::arg, nb::kw_only, nb::none;
  const auto isa = [] { return nb::arg("isa") = nb::none(); };
  core.def("ofdm_receive", &ofdm_receive, arg("samples"), arg("subcarriers"), kw_only(),
           arg("dc_hole") = false, isa(),
           "Used subcarriers of a symbol [fft_size, 2] of int16 I, Q without prefix: unitary, "
           "32768 is 1.");
  core.def("ofdm_receive_pilot", &ofdm_receive_pilot, arg("samples"), arg("pilot"), kw_only(),
           arg("dc_hole") = false, isa(),
           "The same times `pilot` (one value per used subcarrier), and the noise per subcarrier "
           "as measured on unused ones.");
  core.def("ofdm_transmit", &ofdm_transmit, arg("subcarriers"), arg("fft_size"), kw_only(),
           arg("gain") = 1.0F, arg("prefix") = 0, arg("dc_hole") = false, isa(),
           "int16 samples [prefix + fft_size, 2] of used subcarriers, and how many components "
           "were saturated.");
  core.def("estimate", &estimate, arg("row"), kw_only(), arg("comb") = 1, arg("offset") = 0,
           arg("group") = 1, isa(),
           "A user's channel per group of subcarriers from the values at its pilots.");
  core.def("combine", &combine, arg("channel"), arg("noise"), arg("detector") = "zf", kw_only(),
           isa(),
           "Combiners [subcarriers, users, antennas] (zf, mmse or mrc) for a channel "
           "[subcarriers, antennas, users] and the noise's variance after them.");
  core.def("equalize", &equalize, arg("combiner"), arg("received"), kw_only(), isa(),
           "Users' symbols [subcarriers, users] from [subcarriers, antennas].");
  core.def("demap", &demap, arg("symbols"), arg("noise"), arg("bits"), kw_only(), isa(),
           "Max-log LLRs [symbols, bits] times 4 as int8, positive for 0; noise variance per "
           "symbol.");
  core.def("ldpc_encode", &ldpc_encode, arg("base_graph"), arg("lifting"), arg("info"), kw_only(),
           isa(), "Codeword without its first 2·lifting bits, fillers as 0 (38.212 5.3.2).");
  core.def("ldpc_decode", &ldpc_decode, arg("base_graph"), arg("lifting"), arg("soft"), kw_only(),
           arg("fillers") = 0, arg("iterations") = 8, arg("early_stop") = true, isa(),
           "Information bits, iterations done, and whether every parity check holds; 0 marks "
           "what was not received.");
  core.def("crc", &crc, arg("kind"), arg("bits"), "Parity of 38.212 5.1: 16, 24a or 24b.");
  core.def("gold", &gold, arg("seed"), arg("first"), arg("count"),
           "c(first) and on of 38.211 5.2.1.");
  core.def("zadoff_chu", &zadoff_chu, arg("length"), arg("root"), "Pilots of unit modulus.");
}

}  // namespace carillon::bindings
