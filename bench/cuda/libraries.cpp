#include "cuda/libraries.hpp"

#include <random>
#include <type_traits>

#ifdef CARILLON_HAS_CUFFT
#include <cufft.h>
#endif
#ifdef CARILLON_HAS_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef CARILLON_HAS_CUSOLVER
#include <cusolverDn.h>
#endif

namespace carillon::bench {
namespace {

// Errors of a library have numbers of their own; that there was one is enough here.
template <typename Code>
[[maybe_unused]] cuda::Status told(Code code) {
  return cuda::Status(static_cast<int>(code) == 0 ? 0 : cudaErrorUnknown);
}

}  // namespace

// --- cuFFT
// ----------------------------------------------------------------------------------------

#ifdef CARILLON_HAS_CUFFT

struct FftPeer::State {
  State(std::uint32_t size, std::uint32_t count)
      : in(std::size_t{size} * count), out(std::size_t{size} * count) {
    require(told(cufftPlan1d(&plan, static_cast<int>(size), CUFFT_C2C, static_cast<int>(count))));
  }
  OnDevice<cufftComplex> in, out;
  cufftHandle plan = 0;
};

FftPeer::FftPeer(std::uint32_t size, std::uint32_t count)
    : state_(std::make_unique<State>(size, count)) {}
FftPeer::~FftPeer() { (void)cufftDestroy(state_->plan); }

Enqueue FftPeer::enqueue() {
  return [this](cuda::Stream stream) {
    if (const auto code = cufftSetStream(state_->plan, stream); code != CUFFT_SUCCESS)
      return told(code);
    return told(cufftExecC2C(state_->plan, state_->in.data(), state_->out.data(), CUFFT_FORWARD));
  };
}

#else

struct FftPeer::State {};
FftPeer::FftPeer(std::uint32_t, std::uint32_t) {}
FftPeer::~FftPeer() = default;
Enqueue FftPeer::enqueue() { return {}; }

#endif

// --- cuBLAS
// ---------------------------------------------------------------------------------------

#ifdef CARILLON_HAS_CUBLAS

struct ProductPeer::State {
  State(std::uint32_t of_users, std::uint32_t of_antennas, std::uint32_t of_count)
      : users(static_cast<int>(of_users)),
        antennas(static_cast<int>(of_antennas)),
        count(static_cast<int>(of_count)),
        w(std::size_t{of_users} * of_antennas * of_count),
        y(std::size_t{of_antennas} * 16 * of_count),
        s(std::size_t{of_users} * 16 * of_count) {
    require(told(cublasCreate(&handle)));
  }
  int users, antennas, count;
  OnDevice<cuComplex> w, y, s;
  cublasHandle_t handle = nullptr;
};

ProductPeer::ProductPeer(std::uint32_t users, std::uint32_t antennas, std::uint32_t count)
    : state_(std::make_unique<State>(users, antennas, count)) {}
ProductPeer::~ProductPeer() { (void)cublasDestroy(state_->handle); }

Enqueue ProductPeer::enqueue() {
  return [this](cuda::Stream stream) {
    const State& of = *state_;
    const cuComplex one{1, 0}, zero{0, 0};
    if (const auto code = cublasSetStream(of.handle, stream); code != CUBLAS_STATUS_SUCCESS)
      return told(code);
    return told(cublasCgemmStridedBatched(
        of.handle, CUBLAS_OP_N, CUBLAS_OP_N, of.users, 16, of.antennas, &one, of.w.data(), of.users,
        static_cast<long long>(of.users) * of.antennas, of.y.data(), of.antennas,
        16LL * of.antennas, &zero, of.s.data(), of.users, 16LL * of.users, of.count));
  };
}

#else

struct ProductPeer::State {};
ProductPeer::ProductPeer(std::uint32_t, std::uint32_t, std::uint32_t) {}
ProductPeer::~ProductPeer() = default;
Enqueue ProductPeer::enqueue() { return {}; }

#endif

// --- cuSOLVER
// -------------------------------------------------------------------------------------

#if defined(CARILLON_HAS_CUBLAS) && defined(CARILLON_HAS_CUSOLVER)

namespace {

// Of zeros there is no Cholesky factor, and looking for one ends at once. The same numbers again
// and again: drawing 10⁸ takes a minute.
std::vector<cuComplex> channels_of(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<cuComplex> numbers(9973), all(count);
  for (cuComplex& each : numbers) {
    const float re = normal(random);
    each = {re, normal(random)};
  }
  for (std::size_t i = 0; i < count; ++i) all[i] = numbers[i % numbers.size()];
  return all;
}

}  // namespace

// Leaves H(HᴴH)⁻¹ in H's place, of which the next time makes H again.
struct InversePeer::State {
  State(std::uint32_t of_antennas, std::uint32_t of_users, std::uint32_t of_count)
      : antennas(static_cast<int>(of_antennas)),
        users(static_cast<int>(of_users)),
        count(static_cast<int>(of_count)),
        h(channels_of(std::size_t{of_antennas} * of_users * of_count)),
        gram(std::size_t{of_users} * of_users * of_count),
        grams(of_count),
        channels(of_count),
        info(of_count) {
    require(told(cublasCreate(&blas)));
    require(told(cusolverDnCreate(&solver)));
    std::vector<cuComplex*> squares(of_count), all(of_count);
    for (std::uint32_t i = 0; i < of_count; ++i) {
      squares[i] = gram.data() + std::size_t{of_users} * of_users * i;
      all[i] = h.data() + std::size_t{of_antennas} * of_users * i;
    }
    require(cuda::copy_in(grams.data(), squares.data(), squares.size() * sizeof(cuComplex*)));
    require(cuda::copy_in(channels.data(), all.data(), all.size() * sizeof(cuComplex*)));
  }
  int antennas, users, count;
  OnDevice<cuComplex> h, gram;
  OnDevice<cuComplex*> grams, channels;
  OnDevice<int> info;
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
};

InversePeer::InversePeer(std::uint32_t antennas, std::uint32_t users, std::uint32_t count)
    : state_(std::make_unique<State>(antennas, users, count)) {}
InversePeer::~InversePeer() {
  (void)cublasDestroy(state_->blas);
  (void)cusolverDnDestroy(state_->solver);
}

Enqueue InversePeer::enqueue() {
  return [this](cuda::Stream stream) {
    const State& of = *state_;
    const cuComplex one{1, 0}, zero{0, 0};
    int worst = static_cast<int>(cublasSetStream(of.blas, stream));
    worst |= static_cast<int>(cusolverDnSetStream(of.solver, stream));
    worst |= static_cast<int>(cublasCgemmStridedBatched(
        of.blas, CUBLAS_OP_C, CUBLAS_OP_N, of.users, of.users, of.antennas, &one, of.h.data(),
        of.antennas, static_cast<long long>(of.antennas) * of.users, of.h.data(), of.antennas,
        static_cast<long long>(of.antennas) * of.users, &zero, of.gram.data(), of.users,
        static_cast<long long>(of.users) * of.users, of.count));
    worst |= static_cast<int>(cusolverDnCpotrfBatched(of.solver, CUBLAS_FILL_MODE_LOWER, of.users,
                                                      of.grams.data(), of.users, of.info.data(),
                                                      of.count));
    for (const cublasOperation_t turn : {CUBLAS_OP_C, CUBLAS_OP_N})
      worst |= static_cast<int>(
          cublasCtrsmBatched(of.blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, turn,
                             CUBLAS_DIAG_NON_UNIT, of.antennas, of.users, &one, of.grams.data(),
                             of.users, of.channels.data(), of.antennas, of.count));
    return told(worst);
  };
}

#else

struct InversePeer::State {};
InversePeer::InversePeer(std::uint32_t, std::uint32_t, std::uint32_t) {}
InversePeer::~InversePeer() = default;
Enqueue InversePeer::enqueue() { return {}; }

#endif

}  // namespace carillon::bench
