#include "frame/frame.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "frame/occasions.hpp"
#include "phy/pilot/pilot.hpp"

namespace carillon::frame {
namespace {

phy::OfdmShape ofdm_shape(const FrameFormat& format) {
  if (const auto problems = format.validate(); !problems.empty())
    throw std::invalid_argument(problems.front().key + " " + problems.front().message);
  const auto& n = format.numerology;
  return {n.fft_size, n.subcarriers, n.dc_hole};
}

// A tile stride that is a multiple of 4 KiB would put every tile's line into the same cache sets.
phy::ArrayShape padded_array(const FrameFormat& format) {
  const std::uint32_t lines = 4096 / sizeof(phy::Tile);
  const std::uint32_t stride = format.antennas + (format.antennas % lines == 0 ? 1 : 0);
  return {format.antennas, format.users, stride};
}

std::size_t index_of(SymbolKind kind) {
  return std::string_view("PUDG").find(static_cast<char>(kind));
}

}  // namespace

Frame::Frame(const FrameFormat& format)
    : format_(format),
      ofdm_(ofdm_shape(format)),
      array_(padded_array(format)),
      comb_(format.pilots.kind == PilotKind::Comb ? format.pilots.comb : 1),
      symbols_(lay_out_symbols(format)) {
  std::vector<Problem> problems;
  programs_ = compile(format_, symbols_, problems);
  if (scheduled_by_port()) rooms_ = room_for_any(format_, symbols_, problems);
  for (const FrameProgram& program : programs_)
    for (const Direction d : {Direction::Uplink, Direction::Downlink})
      rooms_[static_cast<std::size_t>(d)].include(program.room(d));
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    by_kind_[index_of(symbols_[i].kind)].push_back(static_cast<std::uint16_t>(i));
    samples_ += symbols_[i].samples;
  }
  lay_out_pilots();
  lay_out_downlink_reference();
  number_combiners();
}

std::span<const std::uint16_t> Frame::symbols_of(SymbolKind kind) const {
  return by_kind_[index_of(kind)];
}

std::uint32_t Frame::most_samples() const {
  return std::max_element(symbols_.begin(), symbols_.end(),
                          [](auto& a, auto& b) { return a.samples < b.samples; })
      ->samples;
}

Tick Frame::air_time(std::uint64_t sample) const {
  return std::llround(static_cast<double>(sample) / sample_rate_hz(format_.numerology) * 1e9);
}

void Frame::lay_out_pilots() {
  const auto sequence = phy::zadoff_chu(format_.numerology.subcarriers, format_.pilots.root);
  pilot_division_ = AlignedArray<phy::Tile>(tiles());
  for (std::size_t k = 0; k < sequence.size(); ++k) {
    auto& tile = pilot_division_[k / phy::kTileLanes];
    tile.re[k % phy::kTileLanes] = sequence[k].re;
    tile.im[k % phy::kTileLanes] = -sequence[k].im;
  }
}

std::vector<phy::Tile> Frame::pilot_tiles(std::uint32_t user) const {
  std::vector<phy::Tile> tiles(this->tiles());
  for (std::uint32_t k = user % comb_; k < format_.numerology.subcarriers; k += comb_) {
    const auto lane = k % phy::kTileLanes;
    const auto& division = pilot_division_[k / phy::kTileLanes];
    tiles[k / phy::kTileLanes].re[lane] = division.re[lane];
    tiles[k / phy::kTileLanes].im[lane] = -division.im[lane];
  }
  return tiles;
}

std::uint32_t Frame::pilot_symbol_of(std::uint32_t user) const { return user / comb_; }

std::uint32_t Frame::pilots_of_occasion() const {
  return static_cast<std::uint32_t>(symbols_of(SymbolKind::Pilot).size()) / occasions();
}

std::span<const std::uint16_t> Frame::pilots_of(std::uint32_t occasion) const {
  const std::uint32_t each = pilots_of_occasion();
  return symbols_of(SymbolKind::Pilot).subspan(std::size_t{occasion} * each, each);
}

void Frame::lay_out_downlink_reference() {
  downlink_reference_.resize(occasions());
  for (std::uint32_t s = 0; s < symbols_.size(); ++s) {
    if (!symbols_[s].references) continue;
    auto& reference = downlink_reference_[symbols_[s].occasion];
    reference = AlignedArray<phy::Tile>(std::size_t{tiles()} * format_.users);
    for (std::uint32_t t = 0; t < tiles(); ++t)
      downlink_reference(program().pairing(s), t, &reference[std::size_t{t} * format_.users]);
  }
}

void Frame::downlink_reference(const Pairing& pairing, std::uint32_t tile, phy::Tile* users) const {
  std::fill_n(users, format_.users, phy::Tile{});
  const std::uint32_t first = tile * phy::kTileLanes;
  const std::uint32_t end = std::min(format_.numerology.subcarriers, first + phy::kTileLanes);
  for (std::uint32_t k = first; k < end; ++k) {
    const std::uint32_t user = pairing.turn(k);
    if (user >= format_.users) continue;
    users[user].re[k - first] = pilot_division_[tile].re[k - first];
    users[user].im[k - first] = -pilot_division_[tile].im[k - first];
  }
}

void Frame::number_combiners() {
  first_combiner_ = {0};
  for (std::uint32_t occasion = 0; occasion < occasions(); ++occasion)
    first_combiner_.push_back(static_cast<std::uint32_t>(combiners() + count_pairings(occasion)));
}

// The most that a frame has of an occasion. The first is the downlink's; an uplink slot has one.
std::size_t Frame::count_pairings(std::uint32_t occasion) const {
  std::size_t most = 0;
  if (scheduled_by_port()) {
    std::set<std::uint16_t> slots;
    for (const auto s : symbols_of(SymbolKind::Uplink))
      if (symbols_[s].occasion == occasion) slots.insert(symbols_[s].slot);
    most = slots.size() + (sends(occasion) ? 1 : 0);
  }
  for (const FrameProgram& p : programs_) most = std::max(most, p.pairings(occasion).size());
  return most;
}

std::uint32_t Frame::most_together() const {
  if (scheduled_by_port()) return std::min(format_.users, format_.antennas);
  std::uint32_t most = 0;
  for (const FrameProgram& p : programs_) most = std::max(most, p.most_together());
  return most;
}

std::optional<Problem> Frame::why_not_on_devices() const {
  const auto frames = [](std::string why) { return Problem{"grants.frames", std::move(why)}; };
  if (occasions() > 1)
    return Problem{"pilots.occasions",
                   "is " + std::to_string(occasions()) +
                       ", but devices make one combiner of all pilots of a frame"};
  if (scheduled_by_port())
    return frames(
        "is 1, but frames are scheduled while they come (grants.kind is port or scheduler), and "
        "devices do the same in every frame");
  if (programs_.size() > 1)
    return frames("is " + std::to_string(programs_.size()) +
                  ", but devices do the same in every frame");
  if (format_.users > format_.antennas)
    return frames("is 1, but there are more users than antennas, and devices separate all of them");
  for (std::uint32_t s = 0; s < symbols_.size(); ++s) {
    const auto all = program().allocations(s);
    if (std::ranges::adjacent_find(all, {}, &Allocation::user) != all.end())
      return frames("is 1, but a user has several grants in symbol " + std::to_string(s) +
                    ", of which devices do one");
  }
  return std::nullopt;
}

Tick Frame::uplink_deadline(std::uint32_t last_symbol) const {
  return symbols_[last_symbol].end +
         std::llround(format_.deadlines.uplink_budget_ms * static_cast<double>(kMillisecond));
}

Tick Frame::downlink_deadline(std::uint32_t symbol) const {
  return symbols_[first_of_unit(symbol)].start - least_lead();
}

Tick Frame::least_lead() const {
  return std::llround(format_.deadlines.downlink_lead_ms * static_cast<double>(kMillisecond));
}

Tick Frame::most_lead() const {
  const auto downlink = symbols_of(SymbolKind::Downlink);
  if (downlink.empty()) return least_lead();
  const Tick age = format_.deadlines.precoder_age * duration();
  Tick room = std::numeric_limits<Tick>::max();
  for (const auto s : downlink) {
    const Tick known = symbols_[pilots_of(symbols_[s].occasion).back()].end;
    // The precoder is chosen when the frame is begun.
    room = std::min(room, age + downlink_deadline(s) - known - (age == 0 ? 0 : kHeadStart));
  }
  const Tick kept = 3 * duration() - kHeadStart - least_lead();  // of four frames
  return least_lead() + std::clamp<Tick>(std::min(room / 2, kept), 0, duration());
}

std::uint16_t Frame::first_of_unit(std::uint32_t symbol) const {
  return frame::first_of_unit(format_, symbols_, symbol);
}

Tick Frame::last_deadline(bool uplink) const {
  Tick last = std::numeric_limits<Tick>::min();
  for (const auto s : symbols_of(SymbolKind::Downlink)) last = std::max(last, downlink_deadline(s));
  if (uplink)
    for (const auto s : symbols_of(SymbolKind::Uplink)) last = std::max(last, uplink_deadline(s));
  return last;
}

const Coding& Frame::coding(Direction d) const {
  return d == Direction::Uplink ? format_.uplink : format_.downlink;
}

}  // namespace carillon::frame
