// What both directions of a frame on a GPU are made with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "frame/gpu/frame.hpp"

namespace carillon::frame {

template <typename T>
T* room(GpuMemory& memory, std::size_t count) {
  return static_cast<T*>(memory.room(std::max<std::size_t>(count, 1) * sizeof(T)));
}

template <typename T>
GpuPiece piece(T* at, std::size_t count) {
  return {const_cast<std::remove_const_t<T>*>(at), count * sizeof(T)};
}

template <typename T>
T* put(GpuMemory& memory, const std::vector<T>& values) {
  T* const to = room<T>(memory, values.size());
  if (!values.empty()) memory.write(to, values.data(), values.size() * sizeof(T));
  return to;
}

/// Symbols of a kind, or parts: ordinals [first, first + count).
struct Ordinals {
  std::uint32_t first, count;
};

/// Blocks by plan, and those of a plan by symbol, so that one launch can work on many: those of a
/// plan in consecutive symbols follow each other.
class BlockOrder {
 public:
  struct Block {
    std::uint32_t plan, ordinal, index;
    auto operator<=>(const Block&) const = default;
  };
  BlockOrder() = default;
  explicit BlockOrder(std::vector<Block> blocks) : blocks_(std::move(blocks)) {
    std::ranges::sort(blocks_);
    places_.resize(blocks_.size());
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) places_[blocks_[i].index] = i;
  }

  std::span<const Block> blocks() const { return blocks_; }
  std::uint32_t place(std::uint32_t index) const { return places_[index]; }

  /// visit(place of the first, blocks of one plan in those symbols), for each plan that has some.
  template <typename Visit>
  void for_plans(Ordinals symbols, Visit&& visit) const {
    for (auto begin = blocks_.begin(); begin != blocks_.end();) {
      const auto end =
          std::find_if(begin, blocks_.end(), [&](const Block& b) { return b.plan != begin->plan; });
      const auto before = [&](std::uint32_t ordinal) {
        return std::partition_point(begin, end,
                                    [&](const Block& b) { return b.ordinal < ordinal; });
      };
      const auto from = before(symbols.first), to = before(symbols.first + symbols.count);
      if (from != to)
        visit(static_cast<std::uint32_t>(from - blocks_.begin()), std::span(from, to));
      begin = end;
    }
  }

 private:
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> places_;  // [index]
};

/// A block, and where two things of it lie.
struct Offsets {
  std::size_t block, a, b;

  friend Offsets operator-(const Offsets& x, const Offsets& y) {
    return {x.block - y.block, x.a - y.a, x.b - y.b};
  }
  bool operator==(const Offsets&) const = default;
};

/// Cuts blocks into stretches in which all of this grows evenly: visit(offsets of the first, step,
/// count).
template <typename OffsetsOf, typename Visit>
void for_stretches(std::span<const BlockOrder::Block> blocks, OffsetsOf&& offsets_of,
                   Visit&& visit) {
  std::vector<Offsets> all;
  for (const auto& block : blocks) all.push_back(offsets_of(block.index));
  std::ranges::sort(all, {}, &Offsets::block);
  for (std::uint32_t first = 0, count = 0; first < all.size(); first += count) {
    const Offsets step = first + 1 < all.size() ? all[first + 1] - all[first] : Offsets{};
    for (count = 1; first + count < all.size(); ++count)
      if (all[first + count] - all[first + count - 1] != step) break;
    visit(all[first], step, count);
  }
}

/// Whether a direction's products are in half precision, which tensor cores sum in single.
bool in_half(const Frame& frame, Direction direction);

/// Combiners as ZeroForce leaves them and others read them; null: not kept so.
struct GpuCombiners {
  phy::Tile* tiles = nullptr;
  phy::Complex* scalars = nullptr;
  phy::HalfTile* half_tiles = nullptr;
  phy::HalfComplex* half_scalars = nullptr;
  float* half_scale = nullptr;
  float* post_noise = nullptr;
  float* power = nullptr;  // of the precoder, [csi tile][antenna]
  /// Of the precoder: ZeroForce finds it, or if that is in parts, none of which knows all power,
  /// Precode for its symbol.
  phy::cuda::GainTask gain{};
  bool in_parts = false;

  phy::cuda::GainTask gain_of(std::uint32_t downlink_symbol) const {
    phy::cuda::GainTask task = gain;
    if (in_parts) task.gain += downlink_symbol;
    return task;
  }
};

/// Of one kind of symbol: [ordinal][antenna], each as long as the frame's longest symbol, so that
/// all transforms begin at the same place.
struct GpuSamples {
  GpuSamples(const Frame& frame, SymbolKind kind, GpuMemory& memory)
      : length(frame.most_samples()),
        prefix(length - frame.ofdm().shape().fft_size),
        antennas(frame.format().antennas),
        iq(room<std::int16_t>(memory, 2 * frame.symbols_of(kind).size() * antennas * length)) {}

  /// Where transforms of the symbol begin.
  std::int16_t* at(std::uint32_t ordinal) const {
    return iq + 2 * (std::size_t{ordinal} * antennas * length + prefix);
  }

  /// Of all antennas in a symbol.
  GpuPiece symbol(std::uint32_t ordinal) const {
    const std::size_t samples = std::size_t{antennas} * length;
    return {iq + 2 * ordinal * samples, samples * 4};
  }

  std::uint32_t length, prefix, antennas;
  std::int16_t* iq;
};

class GpuUplink {
 public:
  GpuUplink(const Frame& frame, GpuMemory& memory, std::uint32_t zero_force_parts);

  GpuTask gather(SymbolKind kind, std::uint32_t ordinal, const std::int16_t* const* packets) const;
  std::vector<GpuTask> pilot_fft(Ordinals symbols) const;
  std::vector<GpuTask> uplink_fft(Ordinals symbols) const;
  std::vector<GpuTask> zero_force(Ordinals parts) const;
  std::vector<GpuTask> equalize_demodulate(Ordinals symbols) const;
  std::vector<GpuTask> decode(Ordinals symbols) const;
  std::vector<GpuTask> store(Ordinals symbols) const;

  std::vector<GpuPiece> loaded(SymbolKind kind, std::uint32_t ordinal) const;
  std::vector<GpuPiece> estimates(std::uint32_t ordinal) const;
  std::vector<GpuPiece> combiner(std::uint32_t part) const;
  std::vector<GpuPiece> received(std::uint32_t ordinal) const;
  std::vector<GpuPiece> soft_bits(std::uint32_t ordinal) const;
  std::vector<GpuPiece> decoded(std::uint32_t ordinal) const;
  std::vector<GpuPiece> stored(std::uint32_t ordinal) const;

  const GpuCombiners& combiners() const { return combiners_; }
  const BlockOrder& code_blocks() const { return code_blocks_; }

  GpuSamples pilot_samples, samples;
  std::uint8_t *pilot_missing, *missing;
  std::uint8_t* payload;
  std::uint8_t *good, *judged;
  phy::DecodeResult* results;

 private:
  void lay_out_estimates(GpuMemory& memory);
  void lay_out_deviations(GpuMemory& memory, const std::vector<phy::EstimatePlan>& plans);
  void lay_out_combiners(GpuMemory& memory);
  void lay_out_grid(GpuMemory& memory);
  void lay_out_blocks(GpuMemory& memory);
  std::size_t row() const { return std::size_t{frame_.tiles()} * frame_.array().antenna_stride; }
  std::size_t altered_row() const {
    return std::size_t{frame_.tiles()} * frame_.format().users * phy::kTileLanes;
  }
  phy::cuda::LeaveOutTask leave_out_of(const phy::cuda::EqualizeTask& of, Ordinals symbols) const;

  /// Of csi tiles.
  Ordinals tiles_of(Ordinals parts) const;

  const Frame& frame_;
  const std::uint32_t parts_;
  bool half_, single_;
  phy::cuda::OfdmView ofdm_{};
  phy::Tile *pilot_division_ = nullptr, *pilot_rows_ = nullptr, *csi_ = nullptr;
  float* noise_ = nullptr;
  phy::GroupDeviation* deviations_ = nullptr;  // null: no groups
  phy::cuda::EstimateTask estimate_{};
  phy::cuda::CombineTask combine_{};
  phy::cuda::SurveyTask survey_{};
  phy::cuda::ExpandTask expand_{};
  GpuCombiners combiners_;
  phy::Tile* grid_ = nullptr;
  phy::HalfTile* half_grid_ = nullptr;
  phy::cuda::Alterations altered_{};
  phy::Runs runs_{};
  std::int8_t *soft_ = nullptr, *recovered_ = nullptr;
  std::uint8_t* info_ = nullptr;
  BlockOrder code_blocks_, transport_blocks_;
  // [place]
  const std::int8_t** soft_list_ = nullptr;
  std::uint8_t **info_list_ = nullptr, **payload_list_ = nullptr;
  phy::cuda::Recovery* recoveries_ = nullptr;  // of the blocks whose bits repeat
  std::vector<std::uint32_t> recoveries_at_;   // [place] how many of the places before have one
};

class GpuDownlink {
 public:
  GpuDownlink(const Frame& frame, GpuMemory& memory, const GpuCombiners& combiners);

  std::vector<GpuTask> encode(Ordinals symbols) const;
  std::vector<GpuTask> precode(Ordinals symbols) const;
  std::vector<GpuTask> ifft(Ordinals symbols) const;

  std::vector<GpuPiece> loaded(std::uint32_t ordinal) const;
  std::vector<GpuPiece> encoded(std::uint32_t ordinal) const;
  std::vector<GpuPiece> modulated(std::uint32_t ordinal) const;
  std::vector<GpuPiece> precoded(std::uint32_t ordinal) const;
  std::vector<GpuPiece> transmitted(std::uint32_t ordinal) const;

  GpuSamples samples;
  std::uint8_t* payload;

 private:
  void lay_out_blocks(GpuMemory& memory);

  const Frame& frame_;
  const GpuCombiners& combiners_;
  phy::cuda::OfdmView ofdm_{};
  phy::Runs runs_{};
  phy::Tile *reference_ = nullptr, *grid_ = nullptr;
  std::uint32_t *coded_ = nullptr, *saturated_ = nullptr;
  GpuPiece coded_of(std::uint32_t transport_block) const;

  std::vector<std::size_t> coded_at_;  // words, [transport block]
  BlockOrder transport_blocks_;
};

/// The tables of who has which subcarriers in the symbols of a direction; buffers_of(transport
/// block) → bytes of each of its code blocks' buffers.
phy::Runs put_runs(const Frame& frame, Direction direction, GpuMemory& memory,
                   const std::vector<std::vector<std::size_t>>& buffers);

}  // namespace carillon::frame
