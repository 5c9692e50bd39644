// How much work each kernel has to do, and the least time that this core needs for it.
// docs/performance.md derives every count.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/isa.hpp"
#include "phy/ldpc/base_graph.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::bench {

/// What one item of a case amounts to; zero where it says nothing.
struct Work {
  double flops = 0;           // fp32 operations, a multiply-add is two
  double half_flops = 0;      // fp16 operations
  double int16_ops = 0;       // on 16-bit integers whose products are added in pairs, likewise
  double int8_ops = 0;        // operations on bytes in vectors
  double edges = 0;           // of LDPC parity checks
  double read_bytes = 0;      // that no register can hold …
  std::size_t footprint = 0;  // … out of so many that take turns
  double bits = 0;            // of the user's data, coded or not as the case says
};

/// A limit of this core, and the least time of an item that it allows; 0 where none is known.
struct Bound {
  double ns = 0;
  std::string_view of;
};

/// By arithmetic alone: as if every operation were one of the core's widest multiply-adds, or its
/// cheapest operation on bytes.
Bound arithmetic_bound(const Work& work, Isa isa);
/// The tightest of all limits that the work comes up against.
Bound bound(const Work& work, Isa isa);

/// A complex transform, by the custom of counting it as radix 2.
inline double fft_flops(double size) { return 5 * size * std::log2(size); }

/// HᴴH for one subcarrier, half of it: it is Hermitian.
inline double gram_flops(phy::ArrayShape shape) {
  return 4.0 * shape.antennas * shape.users * (shape.users + 1);
}

/// Gram matrix, Cholesky factor, two triangular solves with M right-hand sides, for one
/// subcarrier: 8·[MK(K + 1)/2 + K³/6 + MK²].
inline double zero_force_flops(phy::ArrayShape shape) {
  const double m = shape.antennas, k = shape.users;
  return gram_flops(shape) + 8 * (k * k * k / 6 + m * k * k);
}

/// A matrix times a vector, for one subcarrier.
inline double product_flops(phy::ArrayShape shape) { return 8.0 * shape.antennas * shape.users; }

/// Operations on bytes for an edge, as LdpcEdge (peaks.inl) has them.
inline constexpr double kEdgeOperations = 11;

/// Edges of one code block's parity checks over all iterations, where `columns` columns are sent:
/// the first two never are, and a row past the core solves for a column of its own.
inline double ldpc_edges(phy::LdpcCode code, std::uint32_t columns, std::uint32_t iterations) {
  const phy::BaseGraph graph = phy::base_graph(code);
  const std::uint32_t rows = std::max(phy::kCoreRows, columns + 2 - graph.info_columns);
  return static_cast<double>(graph.row_begin[rows]) * code.lifting * iterations;
}

}  // namespace carillon::bench
