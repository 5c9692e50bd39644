// Intel's Math Kernel Library, loaded where pip or the system installed it.
#include "peers/loaders.hpp"

namespace carillon::bench {
namespace {

// BLAS and LAPACK as Fortran calls them.
struct Lapack {
  using Int = const int*;
  using Text = const char*;

  void (*herk)(Text uplo, Text trans, Int n, Int k, const float* alpha, const Value* a, Int lda,
               const float* beta, Value* c, Int ldc);
  void (*potrf)(Text uplo, Int n, Value* a, Int lda, int* info);
  void (*potrs)(Text uplo, Int n, Int columns, const Value* a, Int lda, Value* b, Int ldb,
                int* info);
  void (*gemm)(Text trans_a, Text trans_b, Int m, Int n, Int k, const Value* alpha, const Value* a,
               Int lda, const Value* b, Int ldb, const Value* beta, Value* c, Int ldc);
};

void solve(const Lapack& lapack, ZeroForce& problem, Values& gram) {
  const int m = static_cast<int>(problem.antennas), k = static_cast<int>(problem.users);
  const float one = 1, zero = 0;
  int info = 0;
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    const Value* h = &problem.h[problem.block() * i];
    Value* w = &problem.w[problem.block() * i];
    lapack.herk("U", "C", &k, &m, &one, h, &m, &zero, gram.data(), &k);
    lapack.potrf("U", &k, gram.data(), &k, &info);
    for (int antenna = 0; antenna < m; ++antenna)
      for (int user = 0; user < k; ++user) w[antenna * k + user] = std::conj(h[user * m + antenna]);
    lapack.potrs("U", &k, &m, gram.data(), &k, w, &k, &info);
  }
}

Method<ZeroForce> zero_force_method(const Lapack& lapack) {
  return {"herk + potrf + potrs", [lapack](ZeroForce& problem) -> std::function<void()> {
            const auto gram = std::make_shared<Values>(std::size_t{problem.users} * problem.users);
            return [lapack, &problem, gram] { solve(lapack, problem, *gram); };
          }};
}

Method<Product> gemm_method(const Lapack& lapack) {
  return {"cgemm", [lapack](Product& p) -> std::function<void()> {
            return [lapack, &p, rows = static_cast<int>(p.rows), inner = static_cast<int>(p.inner),
                    columns = static_cast<int>(p.columns)] {
              const Value one = 1, zero = 0;
              for (std::uint32_t i = 0; i < p.count; ++i)
                lapack.gemm("N", "N", &rows, &columns, &inner, &one, p.a_of(i), &rows, p.b_of(i),
                            &inner, &zero, p.c_of(i), &rows);
            };
          }};
}

// Code made for one shape when it is asked for.
struct Jit {
  using Kernel = void (*)(void* jitter, const Value* a, const Value* b, Value* c);

  int (*create)(void** jitter, int layout, int trans_a, int trans_b, std::size_t m, std::size_t n,
                std::size_t k, const Value* alpha, std::size_t lda, std::size_t ldb,
                const Value* beta, std::size_t ldc);
  Kernel (*kernel)(const void* jitter);
};

Method<Product> jit_method(const Jit& jit) {
  return {"JIT cgemm", [jit](Product& p) -> std::function<void()> {
            constexpr int kColumnMajor = 102, kNoTranspose = 111, kError = 2;
            const Value one = 1, zero = 0;
            void* jitter = nullptr;
            if (jit.create(&jitter, kColumnMajor, kNoTranspose, kNoTranspose, p.rows, p.columns,
                           p.inner, &one, p.rows, p.inner, &zero, p.rows) == kError)
              throw std::runtime_error("MKL: no JIT kernel");
            return [&p, jitter, kernel = jit.kernel(jitter)] {
              for (std::uint32_t i = 0; i < p.count; ++i)
                kernel(jitter, p.a_of(i), p.b_of(i), p.c_of(i));
            };
          }};
}

}  // namespace

Peer load_mkl() {
  const Library library{"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"};
  if (!library) return {};
  Lapack lapack{};
  library.bind(lapack.herk, "cherk_");
  library.bind(lapack.potrf, "cpotrf_");
  library.bind(lapack.potrs, "cpotrs_");
  library.bind(lapack.gemm, "cgemm_");
  Jit jit{};
  library.bind(jit.create, "mkl_cblas_jit_create_cgemm");
  library.bind(jit.kernel, "mkl_jit_get_cgemm_ptr");
  struct Version {
    int major, minor, update;
    const char *status, *build, *processor, *platform;
  } version{};
  void (*get_version)(Version*);
  library.bind(get_version, "mkl_get_version");
  get_version(&version);
  return {.name = "MKL " + std::to_string(version.major) + "." + std::to_string(version.minor),
          .fft = {fftw_method(library)},
          .zero_force = {zero_force_method(lapack)},
          .product = {gemm_method(lapack), jit_method(jit)}};
}

}  // namespace carillon::bench
