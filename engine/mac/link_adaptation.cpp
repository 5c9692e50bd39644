#include "mac/link_adaptation.hpp"

#include <cmath>
#include <utility>

#include "phy/transport/transport.hpp"

namespace carillon::mac {
namespace {

// Of a code of short blocks to Shannon's limit. A guess will do: the outer loop corrects it.
constexpr double kGapDb = 2;
constexpr double kSmoothing = 0.1;  // a measurement's weight
constexpr double kMostDb = 10;  // that one may differ: of a frame of lost packets it says anything
constexpr double kMostRate = 0.93;  // check included; phy::TransportPlan takes no more than 0.95
constexpr double kCheckBits = 24;   // at most
// That a rate may be below a row's where it is that of a block, whose size TS 38.214 5.1.3.2
// rounds.
constexpr double kRounding = 1.0 / 64;

phy::Modulation modulation_of(frame::ModulationChoice choice) {
  return static_cast<phy::Modulation>(2 * (static_cast<std::uint32_t>(choice) + 1));
}

// Of the fastest row that frames have room for.
double most_efficiency(const frame::Coding& coding, std::uint32_t user) {
  if (coding.mcs_table == frame::McsTable::None)
    return Row{.mcs = 0, .modulation = modulation_of(coding.modulation), .rate = coding.rate}
               .efficiency() *
           (1 + kRounding);
  const auto own = phy::mcs(static_cast<phy::McsTable>(coding.mcs_table), coding.mcs_of(user));
  return own ? Row{.mcs = 0, .modulation = own->modulation, .rate = own->rate}.efficiency() : 0;
}

}  // namespace

double Row::needed_db() const { return 10 * std::log10(std::exp2(efficiency()) - 1) + kGapDb; }

bool Row::fits(std::uint32_t elements) const {
  return efficiency() * elements + kCheckBits <= kMostRate * bits() * elements;
}

std::vector<Row> rows_of(const frame::Coding& coding, std::uint32_t user) {
  const auto table = coding.mcs_table == frame::McsTable::None
                         ? phy::McsTable::Qam64
                         : static_cast<phy::McsTable>(coding.mcs_table);
  const double most = most_efficiency(coding, user);
  std::vector<Row> rows;
  for (std::uint32_t index = 0; const auto row = phy::mcs(table, index); ++index)
    rows.push_back({.mcs = index, .modulation = row->modulation, .rate = row->rate});
  std::ranges::stable_sort(rows, {}, &Row::efficiency);
  const auto beyond =
      std::ranges::find_if(rows, [&](const Row& row) { return row.efficiency() > most; });
  rows.erase(std::max(beyond, rows.begin() + 1), rows.end());
  return rows;
}

LinkAdaptation::LinkAdaptation(std::vector<Row> rows, double target_bler)
    : rows_(std::move(rows)), loop_{.target = target_bler} {
  for (const Row& row : rows_) needed_db_.push_back(row.needed_db());
}

void LinkAdaptation::heard(bool good, std::optional<double> snr_db) noexcept {
  loop_.heard(good);
  if (!snr_db) return;
  const double before = snr_db_.value_or(*snr_db);
  snr_db_ = before + kSmoothing * std::clamp(*snr_db - before, -kMostDb, kMostDb);
}

const Row& LinkAdaptation::row_for(std::uint32_t elements) const noexcept {
  for (std::size_t r = place() + 1; r-- > 0;)
    if (rows_[r].fits(elements)) return rows_[r];
  return rows_.front();
}

std::size_t LinkAdaptation::place() const noexcept {
  if (!snr_db_) return 0;
  const auto above = std::ranges::upper_bound(needed_db_, *snr_db_ + loop_.offset_db);
  return std::max<std::ptrdiff_t>(above - needed_db_.begin() - 1, 0);
}

}  // namespace carillon::mac
