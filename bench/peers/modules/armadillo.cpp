// Armadillo on OpenBLAS, called once per subcarrier: the design of the published systems.
#include <armadillo>

#include "peers/peer.hpp"

using namespace carillon::bench;

namespace {

// Views of the problem's memory.
arma::cx_fmat matrix(const Value* values, std::uint32_t rows, std::uint32_t columns) {
  return {const_cast<Value*>(values), rows, columns, false, true};
}

std::function<void()> pinv(ZeroForce& p) {
  return [&p] {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      arma::cx_fmat w = matrix(&p.w[p.block() * i], p.users, p.antennas);
      w = arma::pinv(matrix(&p.h[p.block() * i], p.antennas, p.users));
    }
  };
}

// A product with one column goes to cgemv, else to cgemm.
std::function<void()> multiply(Product& p) {
  return [&p] {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      arma::cx_fmat c = matrix(p.c_of(i), p.rows, p.columns);
      c = matrix(p.a_of(i), p.rows, p.inner) * matrix(p.b_of(i), p.inner, p.columns);
    }
  };
}

}  // namespace

extern "C" [[gnu::visibility("default")]] Peer carillon_peer() {
  return {.name = "Armadillo " + std::to_string(ARMA_VERSION_MAJOR) + "." +
                  std::to_string(ARMA_VERSION_MINOR) + " + OpenBLAS",
          .fft = {},
          .zero_force = {{"pinv", pinv}},
          .product = {{"product", multiply}}};
}
