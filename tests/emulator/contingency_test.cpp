#include "emulator/contingency.hpp"

#include <algorithm>
#include <cmath>

#include "../frame/cell.hpp"
#include "frame/transmit.hpp"
#include "fronthaul/link.hpp"
#include "support/fourier.hpp"

namespace carillon::emulator {
namespace {

using test::Value;

std::vector<Value> subcarriers(const frame::Frame& frame, const frame::Symbol& symbol,
                               const std::int16_t* samples) {
  const auto& n = frame.format().numerology;
  std::vector<Value> x;
  for (std::uint32_t i = symbol.prefix; i < symbol.samples; ++i)
    x.emplace_back(samples[2 * i] / 32768.0, samples[2 * i + 1] / 32768.0);
  return test::used_first(test::transform(x), n.subcarriers);
}

// Six antennas: users 0 to 2 from two each, as strong as a resource element when all antennas send
// data at full power.
TEST(Contingency, HasEachUsersReferencesAndNothingElse) {
  const frame::Frame frame(test::changed([](auto& f) {
    f.users = 3;
    f.schedule = "PPPGDDD";
    f.deadlines.downlink_lead_ms = 0.01;
  }));
  const fronthaul::Layout layout(frame);
  auto link = fronthaul::open_both({}, layout, {});
  RadioUnit radio(layout, *link.radio, {.replay = 1});
  write_references(frame, radio);
  const double element =
      std::sqrt(double{frame::kTransmitPower} * 128 / 72);  // the others' bins are empty
  for (std::uint32_t a = 0; a < 6; ++a) {
    const auto& first = frame.symbol(4);
    const std::int16_t* samples = radio.contingency_samples(4, a);
    EXPECT_TRUE(std::equal(samples, samples + 2 * first.prefix,
                           samples + 2 * (first.samples - first.prefix)));
    const auto bins = subcarriers(frame, first, samples);
    for (std::uint32_t k = 0; k < bins.size(); ++k) {
      const bool own = k < 72 && k % 3 == a % 3;
      const auto& tile = frame.downlink_reference()[k / 16 * 3 + a % 3];
      const Value expected =
          own ? element * Value(double{tile.re[k % 16]}, double{tile.im[k % 16]}) : Value(0);
      EXPECT_LE(std::abs(bins[k] - expected), 2e-4) << "antenna " << a << " bin " << k;
    }
    for (const std::uint32_t s : {5U, 6U}) {
      const std::int16_t* later = radio.contingency_samples(s, a);
      EXPECT_TRUE(std::all_of(later, later + 2 * frame.symbol(s).samples,
                              [](std::int16_t v) { return v == 0; }));
    }
  }
}

TEST(Contingency, OfACellWithoutDownlinkIsNothing) {
  const frame::Frame frame(test::small_format());
  const fronthaul::Layout layout(frame);
  auto link = fronthaul::open_both({}, layout, {});
  RadioUnit radio(layout, *link.radio, {.replay = 1});
  write_references(frame, radio);
}

}  // namespace
}  // namespace carillon::emulator
