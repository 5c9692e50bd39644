// The same work by NVIDIA's libraries, where the toolkit has them: cuFFT, cuBLAS, cuSOLVER. They
// take and leave plain arrays: what our kernels do on the way (conversion, selection, pilots,
// demodulation) is left out of their time.
#pragma once

#include <memory>

#include "cuda/bench.hpp"

namespace carillon::bench {

/// Complex transforms of `size`, so many at once, out of place. enqueue() is empty without cuFFT.
class FftPeer {
 public:
  FftPeer(std::uint32_t size, std::uint32_t count);
  FftPeer(const FftPeer&) = delete;
  FftPeer& operator=(const FftPeer&) = delete;
  ~FftPeer();
  Enqueue enqueue();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// W·Y, users × antennas by antennas × 16 complex numbers, `count` at once, in single precision.
class ProductPeer {
 public:
  ProductPeer(std::uint32_t users, std::uint32_t antennas, std::uint32_t count);
  ProductPeer(const ProductPeer&) = delete;
  ProductPeer& operator=(const ProductPeer&) = delete;
  ~ProductPeer();
  Enqueue enqueue();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// HᴴH, its Cholesky factor and two triangular solves for Hᴴ, `count` at once.
class InversePeer {
 public:
  InversePeer(std::uint32_t antennas, std::uint32_t users, std::uint32_t count);
  InversePeer(const InversePeer&) = delete;
  InversePeer& operator=(const InversePeer&) = delete;
  ~InversePeer();
  Enqueue enqueue();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carillon::bench
