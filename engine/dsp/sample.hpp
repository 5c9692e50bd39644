// Samples as radios' files have them.
#pragma once

namespace carillon::dsp {

/// Single precision, real part first.
struct Complex {
  float re = 0, im = 0;
  bool operator==(const Complex&) const = default;
};

}  // namespace carillon::dsp
