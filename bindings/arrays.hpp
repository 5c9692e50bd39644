// Arrays that the kernels' bindings take and give.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace carillon::bindings {

namespace nb = nanobind;

template <typename T, std::size_t Dimensions>
using In = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<nb::numpy, T>;

/// "int16" and so on; of what has none, its type.
inline std::string dtype_of(const nb::object& given) {
  if (!nb::hasattr(given, "dtype"))
    return "a " + nb::cast<std::string>(given.type().attr("__name__"));
  return nb::cast<std::string>(given.attr("dtype").attr("__str__")());
}

/// An array of whole numbers, taken as it is or refused: NumPy would wrap what does not fit, and
/// cut off fractions.
template <typename T, std::size_t Dimensions>
struct Whole {
  nb::object given;

  /// `name`: of the argument. Raises TypeError for another dtype, ValueError for other dimensions.
  In<T, Dimensions> as(const char* name) const {
    const std::string wanted =
        (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
    if (const std::string its = dtype_of(given); its != wanted)
      throw nb::type_error((std::string(name) + " must be an array of " + wanted + ", not " + its +
                            ": nothing is rounded or wrapped silently; scale, round and clip it")
                               .c_str());
    if (nb::cast<std::size_t>(given.attr("ndim")) != Dimensions)
      throw nb::value_error(
          (std::string(name) + " must have " + std::to_string(Dimensions) + " dimension(s)")
              .c_str());
    return nb::cast<In<T, Dimensions>>(given);
  }
};

/// An array of 0 and 1, as uint8 or bool. Raises TypeError for another dtype, ValueError for
/// another value.
struct Bits {
  nb::object given;

  In<std::uint8_t, 1> as(const char* name) const {
    const bool truth = dtype_of(given) == "bool";
    const nb::object bytes = truth ? nb::object(given.attr("astype")("uint8")) : given;
    auto bits = Whole<std::uint8_t, 1>{bytes}.as(name);
    for (std::size_t n = 0; n < bits.shape(0); ++n)
      if (bits.data()[n] > 1)
        throw nb::value_error((std::string(name) + " must be 0 or 1, but " + name + "[" +
                               std::to_string(n) + "] is " + std::to_string(bits.data()[n]))
                                  .c_str());
    return bits;
  }
};

inline bool is_finite(float x) { return std::isfinite(x); }
inline bool is_finite(std::complex<float> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

/// Raises ValueError for NaN and infinity.
template <typename Array>
void require_finite(const Array& values, const char* name) {
  for (std::size_t n = 0; n < values.size(); ++n)
    if (!is_finite(values.data()[n]))
      throw nb::value_error(
          (std::string(name) + " must be finite, but its value " + std::to_string(n) + " is not")
              .c_str());
}

/// A variance: raises ValueError for NaN, infinity and what is below 0.
inline void require_variance(float value, const char* name) {
  if (!std::isfinite(value) || std::signbit(value))  // -0.0 too: what is divided by it has its sign
    throw nb::value_error(
        (std::string(name) + " must be finite and at least 0, but is " + std::to_string(value))
            .c_str());
}

template <typename T>
Out<T> array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), shape, owner);
}

}  // namespace carillon::bindings

namespace nanobind::detail {

template <typename T, std::size_t Dimensions>
struct type_caster<carillon::bindings::Whole<T, Dimensions>> {
  using Taken = carillon::bindings::Whole<T, Dimensions>;
  NB_TYPE_CASTER(Taken, (make_caster<carillon::bindings::In<T, Dimensions>>::Name))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

template <>
struct type_caster<carillon::bindings::Bits> {
  using Taken = carillon::bindings::Bits;
  NB_TYPE_CASTER(Taken, (make_caster<carillon::bindings::In<std::uint8_t, 1>>::Name))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

}  // namespace nanobind::detail
