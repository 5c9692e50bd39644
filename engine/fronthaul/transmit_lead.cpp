#include "fronthaul/transmit_lead.hpp"

#include <algorithm>
#include <cmath>

namespace carillon::fronthaul {

void TransmitLead::note(Tick delay) noexcept {
  if (options_.quantile <= 0) return;
  delays_[noted_++ % kFrames] = delay;
  if (noted_ % kAnew != 0) return;
  const auto count = static_cast<std::ptrdiff_t>(std::min(noted_, kFrames));
  std::copy_n(delays_.begin(), count, sorted_.begin());
  // The least delay that so large a share of the frames did not exceed.
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(options_.quantile * static_cast<double>(count)));
  const auto place = sorted_.begin() + std::clamp<std::ptrdiff_t>(rank, 1, count) - 1;
  std::nth_element(sorted_.begin(), place, sorted_.begin() + count);
  lead_.store(std::clamp(*place, options_.least, options_.most), std::memory_order_relaxed);
}

}  // namespace carillon::fronthaul
