// Which row of an MCS table a user gets: by its measured SNR, corrected until the share of failed
// blocks is the target's. The formulas are those of python/carillon/mac/link_adaptation.py; a test
// of each has the same numbers (tests/data/mac/rows.txt).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frame/format.hpp"
#include "phy/modulation.hpp"

namespace carillon::mac {

/// A row of an MCS table (TS 38.214 5.1.3.1).
struct Row {
  std::uint32_t mcs = 0;
  phy::Modulation modulation = phy::Modulation::Qpsk;
  double rate = 0;

  std::uint32_t bits() const { return static_cast<std::uint32_t>(modulation); }
  double efficiency() const { return bits() * rate; }  // bits of a resource element
  /// SNR from which it may do, in dB.
  double needed_db() const;
  /// Whether so many resource elements have room for parity beside the block's check.
  bool fits(std::uint32_t elements) const;
};

/// A user's rows of a direction's table, of the 64QAM table where it names none, the slowest first:
/// those that are no faster than the cell's own coding, for which frames have room. One at least.
std::vector<Row> rows_of(const frame::Coding& coding, std::uint32_t user);

/// An offset to the SNR, in dB: lower after each block that failed, and by so much less higher
/// after each good one that the two balance where the target's share fails.
struct OuterLoop {
  static constexpr double kDownDb = 0.5, kLimitDb = 10;

  double target = 0.1;
  double offset_db = 0;

  double up_db() const { return kDownDb * target / (1 - target); }
  void heard(bool good) {
    offset_db = std::clamp(offset_db + (good ? up_db() : -kDownDb), -kLimitDb, kLimitDb);
  }
};

/// One user's, in one direction.
class LinkAdaptation {
 public:
  /// `rows`: of rows_of.
  LinkAdaptation(std::vector<Row> rows, double target_bler);

  /// Of a block that was decoded, with its SNR where that was measured.
  void heard(bool good, std::optional<double> snr_db) noexcept;
  /// For the next block: the slowest until something was measured.
  const Row& row() const noexcept { return rows_[place()]; }
  /// For a block of so many resource elements: a slower one if it is too small for that.
  const Row& row_for(std::uint32_t elements) const noexcept;

  /// Smoothed.
  std::optional<double> snr_db() const { return snr_db_; }
  double offset_db() const { return loop_.offset_db; }

 private:
  std::size_t place() const noexcept;

  std::vector<Row> rows_;
  std::vector<double> needed_db_;
  OuterLoop loop_;
  std::optional<double> snr_db_;
};

}  // namespace carillon::mac
