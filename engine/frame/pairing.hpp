// Which users share subcarriers, and so a combiner and a precoder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame/format.hpp"

namespace carillon::frame {

/// A user, and the lanes of a CSI tile (groups of subcarriers) in which it takes part, a bit each.
struct PairedUser {
  std::uint16_t user;
  std::uint16_t lanes;

  bool operator==(const PairedUser&) const = default;
};

/// Of each CSI tile, the users that a combiner separates there; who has other subcarriers is not
/// among them.
class Pairing {
 public:
  /// Nobody, nowhere.
  explicit Pairing(const FrameFormat& format);
  /// All users everywhere.
  static Pairing whole(const FrameFormat& format);

  /// A user takes part in `count` subcarriers from `first` on, and in all that share a combiner
  /// with one of them.
  void add(std::uint32_t user, std::uint32_t first, std::uint32_t count);

  /// Users of a CSI tile, ascending.
  std::span<const PairedUser> at(std::uint32_t csi_tile) const { return tiles_[csi_tile]; }
  /// Lanes of a CSI tile in which a user takes part.
  std::uint32_t lanes_of(std::uint32_t csi_tile, std::uint32_t user) const;
  /// Of the n users that take part in subcarrier k the (k mod n)-th; more than there are: none
  /// does.
  std::uint32_t turn(std::uint32_t k) const;
  /// Whether each user has its turn somewhere.
  bool gives_all_a_turn() const;
  /// How many take part in it.
  std::uint32_t together(std::uint32_t k) const;
  /// All users take part everywhere.
  bool is_whole() const;
  bool is_empty() const;
  /// Users that share a subcarrier, where most do.
  std::uint32_t most_together() const;

  bool operator==(const Pairing&) const = default;

 private:
  std::uint32_t users_, group_, subcarriers_, lanes_;  // … and all groups of subcarriers
  std::vector<std::vector<PairedUser>> tiles_;         // [CSI tile]
};

}  // namespace carillon::frame
