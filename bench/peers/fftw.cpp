// Transforms through FFTW's interface, which MKL exports too. FFTW is under the GPL: it is loaded
// when it is there, never linked.
#include "peers/loaders.hpp"

namespace carillon::bench {
namespace {

struct Interface {
  using Plan = void*;

  Plan (*plan_many_dft)(int rank, const int* size, int count, Value* in, const int* in_embed,
                        int in_stride, int in_distance, Value* out, const int* out_embed,
                        int out_stride, int out_distance, int sign, unsigned flags);
  void (*execute)(Plan);
};

}  // namespace

Method<Fft> fftw_method(const Library& library) {
  Interface api{};
  library.bind(api.plan_many_dft, "fftwf_plan_many_dft");
  library.bind(api.execute, "fftwf_execute");
  return {"float", [api](Fft& problem) -> std::function<void()> {
            constexpr unsigned kMeasure = 0;
            const int size = static_cast<int>(problem.size);
            const Values in = problem.in;  // which the planner overwrites
            const auto plan = api.plan_many_dft(
                1, &size, static_cast<int>(problem.count), problem.in.data(), nullptr, 1, size,
                problem.out.data(), nullptr, 1, size, problem.inverse ? 1 : -1, kMeasure);
            if (plan == nullptr) throw std::runtime_error("FFTW: no plan");
            std::copy(in.begin(), in.end(), problem.in.begin());
            return [api, plan] { api.execute(plan); };
          }};
}

Peer load_fftw() {
  const Library library{"libfftw3f.so.3"};
  if (!library) return {};
  const char* version;  // "fftw-3.3.10-sse2-avx"
  library.bind(version, "fftwf_version");
  return {.name = "FFTW " + std::string(version).substr(5),
          .fft = {fftw_method(library)},
          .zero_force = {},
          .product = {}};
}

}  // namespace carillon::bench
