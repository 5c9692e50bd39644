// Kernels of flowgraphs, to try (engine/dsp).
#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <complex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "dsp/demodulate/demodulate.hpp"
#include "dsp/fir/fir.hpp"
#include "dsp/rotate/rotate.hpp"
#include "dsp/scale/scale.hpp"

namespace carillon::bindings {

namespace {

using Value = std::complex<float>;

template <typename T>
constexpr const char* kDtype = std::is_same_v<T, float> ? "float32" : "complex64";

// complex64 and float32 alone: others would be converted without a word.
template <typename T>
In<T, 1> exactly(const nb::object& given, const char* name) {
  if (const std::string its = dtype_of(given); its != kDtype<T>)
    throw nb::type_error(
        (std::string(name) + " must be an array of " + kDtype<T> + ", not " + its).c_str());
  require(nb::cast<std::size_t>(given.attr("ndim")) == 1, "arrays must have one dimension");
  return nb::cast<In<T, 1>>(given);
}

template <typename T>
Out<T> line(std::vector<T> values) {
  const std::size_t size = values.size();
  return array(std::move(values), {size});
}

const float* floats_of(const In<float, 1>& values) { return values.data(); }
const float* floats_of(const In<Value, 1>& values) {
  return reinterpret_cast<const float*>(values.data());
}
const dsp::Complex* samples_of(const In<Value, 1>& values) {
  return reinterpret_cast<const dsp::Complex*>(values.data());
}

std::size_t outputs(std::size_t samples, std::size_t taps, std::size_t decimation) {
  require(taps >= 1 && decimation >= 1, "there must be a tap at least, and a decimation of one");
  return samples < taps ? 0 : (samples - taps) / decimation + 1;
}

template <typename Sample, typename Tap>
nb::object filtered(dsp::FirKind kind, const nb::object& x, const nb::object& taps,
                    std::size_t decimation) {
  const auto samples = exactly<Sample>(x, "x");
  const auto own = exactly<Tap>(taps, "taps");
  std::vector<Sample> y(outputs(samples.size(), own.size(), decimation));
  const dsp::Fir filter(kind, {floats_of(own), own.size() * (sizeof(Tap) / sizeof(float))},
                        decimation);
  if (!y.empty())
    dsp::fir_kernels().filter(filter, floats_of(samples), reinterpret_cast<float*>(y.data()),
                              y.size());
  return nb::cast(line(std::move(y)));
}

nb::object fir(const nb::object& x, const nb::object& taps, std::size_t decimation) {
  if (dtype_of(x) == kDtype<float>)
    return filtered<float, float>(dsp::FirKind::Real, x, taps, decimation);
  if (dtype_of(taps) == kDtype<Value>)
    return filtered<Value, Value>(dsp::FirKind::ComplexTaps, x, taps, decimation);
  return filtered<Value, float>(dsp::FirKind::RealTaps, x, taps, decimation);
}

// One kernel for real samples, one for complex ones.
template <auto kReal, auto kComplex>
nb::object with_constant(const nb::object& x, std::complex<double> constant) {
  const auto re = static_cast<float>(constant.real()), im = static_cast<float>(constant.imag());
  const dsp::ScaleKernels& kernels = dsp::scale_kernels();
  if (dtype_of(x) == kDtype<float>) {
    require(im == 0, "x is real, so that the constant must be, too");
    const auto samples = exactly<float>(x, "x");
    std::vector<float> y(samples.size());
    (kernels.*kReal)(samples.data(), re, y.data(), y.size());
    return nb::cast(line(std::move(y)));
  }
  const auto samples = exactly<Value>(x, "x");
  std::vector<Value> y(samples.size());
  (kernels.*kComplex)(samples_of(samples), {re, im}, reinterpret_cast<dsp::Complex*>(y.data()),
                      y.size());
  return nb::cast(line(std::move(y)));
}

Out<Value> rotate(const nb::object& x, double turns_per_sample, double turns) {
  require(std::isfinite(turns_per_sample) && std::isfinite(turns), "turns must be finite");
  const auto samples = exactly<Value>(x, "x");
  std::vector<Value> y(samples.size());
  dsp::Rotation rotation(turns_per_sample, turns);
  dsp::rotate_kernels().rotate(&rotation, samples_of(samples),
                               reinterpret_cast<dsp::Complex*>(y.data()), y.size());
  return line(std::move(y));
}

Out<float> demodulate(const nb::object& x, float gain) {
  const auto samples = exactly<Value>(x, "x");
  std::vector<float> y(samples.size() < 2 ? 0 : samples.size() - 1);
  if (!y.empty())
    dsp::demodulate_kernels().quadrature(samples_of(samples), gain, y.data(), y.size());
  return line(std::move(y));
}

}  // namespace

void bind_dsp(nb::module_& core) {
  using namespace nb::literals;
  core.def(
      "fir", &fir, "x"_a, "taps"_a, "decimation"_a = 1,
      "y[n] = sum over k of taps[k]·x[n·decimation + K - 1 - k], where all K samples are there.\n\n"
      "x: [samples] float32 or complex64; taps: [K] float32, of complex64 samples also\n"
      "complex64. Raises TypeError for another dtype.",
      nb::sig("def fir(x: numpy.typing.NDArray[typing.Any], taps: "
              "numpy.typing.NDArray[typing.Any], decimation: int = 1) -> "
              "numpy.typing.NDArray[typing.Any]"));
  using Kernels = dsp::ScaleKernels;
  core.def("multiply_constant", &with_constant<&Kernels::multiply, &Kernels::multiply_complex>,
           "x"_a, "factor"_a,
           "factor·x[n]. x: [samples] float32 or complex64; real samples take a real factor.",
           nb::sig("def multiply_constant(x: numpy.typing.NDArray[typing.Any], factor: complex) "
                   "-> numpy.typing.NDArray[typing.Any]"));
  core.def("add_constant", &with_constant<&Kernels::add, &Kernels::add_complex>, "x"_a,
           "constant"_a,
           "x[n] + constant. x: [samples] float32 or complex64; real samples take a real one.",
           nb::sig("def add_constant(x: numpy.typing.NDArray[typing.Any], constant: complex) -> "
                   "numpy.typing.NDArray[typing.Any]"));
  core.def("rotate", &rotate, "x"_a, "turns_per_sample"_a, "turns"_a = 0.0,
           "x[n]·exp(2πj(turns + n·turns_per_sample)). x: [samples] complex64.",
           nb::sig("def rotate(x: numpy.typing.NDArray[numpy.complex64], turns_per_sample: float, "
                   "turns: float = 0.0) -> numpy.typing.NDArray[numpy.complex64]"));
  core.def(
      "quadrature_demodulate", &demodulate, "x"_a, "gain"_a = 1.0F,
      "gain·arg(x[n + 1]·conj(x[n])). x: [samples] complex64; one output less.",
      nb::sig("def quadrature_demodulate(x: numpy.typing.NDArray[numpy.complex64], gain: float "
              "= 1.0) -> numpy.typing.NDArray[numpy.float32]"));
}

}  // namespace carillon::bindings
