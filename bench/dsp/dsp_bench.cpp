// Kernels of flowgraphs, on 1000 outputs at a time, filters also on one.
#include <string>

#include "dsp/demodulate/demodulate.hpp"
#include "dsp/fir/fir.hpp"
#include "dsp/rotate/rotate.hpp"
#include "dsp/scale/scale.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::dsp;

constexpr std::size_t kOutputs = 1000;

bench::Case of(std::string kernel, std::string shape, Isa isa, bench::Work work = {},
               std::size_t outputs = kOutputs) {
  return {.kernel = std::move(kernel),
          .shape = std::move(shape),
          .isa = std::string(to_string(isa)),
          .per = "sample",
          .items = static_cast<double>(outputs),
          .work = work};
}

struct Kind {
  const char* name;
  FirKind kind;
  std::size_t parts, products;  // floats of a tap; of a tap and a sample
};

void filter(bench::Bench& bench, Isa isa, const Kind& one, std::size_t taps, std::size_t decimation,
            std::size_t outputs) {
  const Fir fir(one.kind, std::vector<float>(taps * one.parts, 0.01F), decimation);
  const std::vector<float> x(2 * fir.reads(outputs), 0.5F);
  std::vector<float> y(2 * outputs);
  std::string shape = std::to_string(taps);
  if (decimation > 1) shape += " ÷" + std::to_string(decimation);
  if (outputs == 1) shape += ", one output";
  const bench::Work work{.flops = 2.0 * static_cast<double>(taps * one.products)};
  bench.time(of(one.name, shape, isa, work, outputs),
             [&] { fir_kernels(isa).filter(fir, x.data(), y.data(), outputs); });
}

void filters(bench::Bench& bench, Isa isa) {
  for (const Kind& one :
       {Kind{"fir real", FirKind::Real, 1, 1}, Kind{"fir real taps", FirKind::RealTaps, 1, 2},
        Kind{"fir complex taps", FirKind::ComplexTaps, 2, 4}})
    for (const std::size_t decimation : {1U, 5U}) {
      for (const std::size_t taps : {16U, 64U, 256U})
        filter(bench, isa, one, taps, decimation, kOutputs);
      filter(bench, isa, one, 64, decimation, 1);
    }
}

void run(bench::Bench& bench) {
  const std::vector<Complex> x(kOutputs + 1, Complex{0.6F, -0.7F});
  std::vector<Complex> y(kOutputs);
  std::vector<float> z(2 * kOutputs);
  Rotation rotation(0.01);
  for (const Isa isa : bench.isas()) {
    filters(bench, isa);
    bench.time(of("rotate", "", isa),
               [&] { rotate_kernels(isa).rotate(&rotation, x.data(), y.data(), kOutputs); });
    bench.time(of("multiply", "complex", isa), [&] {
      scale_kernels(isa).multiply_complex(x.data(), {0.5F, 0.1F}, y.data(), kOutputs);
    });
    bench.time(of("add", "complex", isa), [&] {
      scale_kernels(isa).add_complex(x.data(), {0.5F, 0.1F}, y.data(), kOutputs);
    });
    bench.time(of("demodulate", "", isa),
               [&] { demodulate_kernels(isa).quadrature(x.data(), 1, z.data(), kOutputs); });
  }
}

const bench::Group group("dsp", run);

}  // namespace
