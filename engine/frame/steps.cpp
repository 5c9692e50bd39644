#include "frame/steps.hpp"

#include <limits>
#include <utility>

namespace carillon::frame {
namespace {

using Places = std::vector<std::uint16_t>;

constexpr std::uint16_t kNone = std::numeric_limits<std::uint16_t>::max();

class Pipeline {
 public:
  Pipeline(const Frame& frame, std::span<const SymbolNeeds> needs)
      : frame_(frame),
        needs_(needs),
        receive_(none()),
        equalize_(none()),
        decode_(none()),
        encode_(none()) {}

  std::vector<Step> steps() {
    receive();
    zero_force();
    const auto uplink = frame_.symbols_of(SymbolKind::Uplink);
    for (const auto s : uplink) equalize(s);
    for (const auto s : uplink) decode(s);
    for (const auto s : uplink) assemble(s);
    const auto downlink = frame_.symbols_of(SymbolKind::Downlink);
    for (const auto s : downlink)
      if (needs_[s].encodes > 0) encode_[s] = add(Op::Encode, s, {});
    for (const auto s : downlink) transmit(s);
    return std::move(steps_);
  }

 private:
  Places none() const { return Places(frame_.symbols().size(), kNone); }

  std::uint16_t add(Op op, std::uint16_t symbol, Places takes, std::uint32_t combiner = 0) {
    steps_.push_back({op, symbol, combiner, std::move(takes)});
    return static_cast<std::uint16_t>(steps_.size() - 1);
  }

  void receive() {
    for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s) {
      const SymbolKind kind = frame_.symbol(s).kind;
      if (kind == SymbolKind::Pilot) receive_[s] = add(Op::PilotFft, s, {});
      if (kind == SymbolKind::Uplink) receive_[s] = add(Op::UplinkFft, s, {});
    }
  }

  void zero_force() {
    for (std::uint32_t occasion = 0; occasion < frame_.occasions(); ++occasion) {
      const auto pilots = frame_.pilots_of(occasion);
      Places channels;
      for (const auto s : pilots) channels.push_back(receive_[s]);
      const std::uint32_t first = frame_.first_combiner(occasion);
      for (std::uint32_t i = 0; i < frame_.most_pairings(occasion); ++i)
        zero_force_.push_back(add(Op::ZeroForce, pilots.back(), channels, first + i));
    }
  }

  void equalize(std::uint16_t s) {
    if (!needs_[s].anyone) return;
    Places takes = {receive_[s]};
    for (const auto combiner : needs_[s].combiners) takes.push_back(zero_force_[combiner]);
    equalize_[s] = add(Op::EqualizeDemodulate, s, takes);
  }

  void decode(std::uint16_t s) {
    if (needs_[s].decodes == 0) return;
    Places takes;
    for (std::size_t t = needs_[s].decodes_from; t <= s; ++t)
      if (equalize_[t] != kNone) takes.push_back(equalize_[t]);
    decode_[s] = add(Op::Decode, s, takes);
  }

  void assemble(std::uint16_t s) {
    if (needs_[s].assembles == 0) return;
    Places takes;
    for (const auto t : needs_[s].assembled_of)
      if (decode_[t] != kNone) takes.push_back(decode_[t]);
    add(Op::Store, s, takes);
  }

  void transmit(std::uint16_t s) {
    Places takes;
    if (carries_data(frame_.symbol(s), Direction::Downlink) && needs_[s].anyone) {
      Places coded;
      for (const auto first : needs_[s].encoded_at) coded.push_back(encode_[first]);
      takes.push_back(add(Op::Modulate, s, coded));
    }
    takes.push_back(zero_force_[frame_.first_combiner(frame_.symbol(s).occasion)]);
    const auto precode = add(Op::Precode, s, takes);
    add(Op::Ifft, s, {precode});
  }

  const Frame& frame_;
  const std::span<const SymbolNeeds> needs_;  // [symbol]
  std::vector<Step> steps_;
  Places receive_, equalize_, decode_, encode_;  // [symbol]
  Places zero_force_;                            // [combiner]
};

}  // namespace

std::vector<Step> steps_of(const Frame& frame, std::span<const SymbolNeeds> needs) {
  return Pipeline(frame, needs).steps();
}

}  // namespace carillon::frame
