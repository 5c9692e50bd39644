// Eigen, called once per subcarrier.
#include <Eigen/Dense>

#include "peers/peer.hpp"

using namespace carillon::bench;

namespace {

using Matrix = Eigen::MatrixXcf;

std::function<void()> invert(ZeroForce& p) {
  return [&p, gram = Matrix(p.users, p.users), factor = Eigen::LLT<Matrix>(p.users)]() mutable {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const Eigen::Map<const Matrix> h(&p.h[p.block() * i], p.antennas, p.users);
      Eigen::Map<Matrix> w(&p.w[p.block() * i], p.users, p.antennas);
      gram.setZero();
      gram.selfadjointView<Eigen::Lower>().rankUpdate(h.adjoint());
      factor.compute(gram);
      w = h.adjoint();
      factor.solveInPlace(w);
    }
  };
}

// Right: Matrix, or Vector where there is one column, which Eigen multiplies by other means.
template <typename Right>
std::function<void()> multiply_by(Product& p) {
  return [&p] {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const Eigen::Map<const Matrix> a(p.a_of(i), p.rows, p.inner);
      const Eigen::Map<const Right> b(p.b_of(i), p.inner, p.columns);
      Eigen::Map<Right> c(p.c_of(i), p.rows, p.columns);
      c.noalias() = a * b;
    }
  };
}

std::function<void()> multiply(Product& p) {
  return p.columns == 1 ? multiply_by<Eigen::VectorXcf>(p) : multiply_by<Matrix>(p);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] Peer carillon_peer() {
  return {.name = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                  std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION),
          .fft = {},
          .zero_force = {{"LLT", invert}},
          .product = {{"product", multiply}}};
}
