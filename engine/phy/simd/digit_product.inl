// Sums of complex products of 16-bit integers, as int16.inl has them, in registers that hold a
// matrix of bytes (AMX): integers in two digits of a byte, four products of digits for one of
// integers, and the same sums in the end, bit for bit. Included inside an instruction set's
// namespace, after int16.inl.
#include "phy/simd/matrix.inl"

namespace {

/// The factor that all sums share: a matrix of 64 rows' bytes for each block of terms and digit.
struct DigitFactors {
  static constexpr std::uint32_t kRows = DigitBlock::kTerms / 2;
  using Plane = Vi[kRows];  // [two terms][four bytes of each lane], see DigitBlock

  Plane at[Int16Factors::kMost / DigitBlock::kTerms][2];
  Vf scale;

  [[gnu::always_inline]] DigitFactors(const Tile* from, std::uint32_t terms) {
    const Int16Scale common(from, 1, terms, 0);
    scale = common.scale;
    const auto term = [&](std::uint32_t n) __attribute__((always_inline)) {
      const ComplexVf x = load(from[n], 0);
      return paired(rounded(x.re * common.factor), rounded(x.im * common.factor));
    };
    const std::uint32_t rows = (terms + DigitBlock::kTerms - 1) / DigitBlock::kTerms * kRows;
    std::uint32_t row = 0;
    for (; row < terms / 2; ++row) put(row, term(2 * row), term(2 * row + 1));
    if (terms % 2 != 0) put(row++, term(terms - 1), Vi{});
    for (; row < rows; ++row) put(row, Vi{}, Vi{});
  }

 private:
  [[gnu::always_inline]] void put(std::uint32_t row, Vi even, Vi odd) {
    constexpr std::int32_t upper = static_cast<std::int32_t>(0xFF00FF00);
    Plane* const to = at[row / kRows];
    to[DigitBlock::High][row % kRows] = (odd & upper) | (even >> 8 & ~upper);
    to[DigitBlock::Low][row % kRows] = (odd << 8 & upper) | (even & ~upper);
  }
};

/// Of a block of sums: products of high digits, of high and low ones, of low digits.
struct DigitSums {
  enum Part { High, Mixed, Low, kParts };
  Vi real[kParts][DigitBlock::kSums], imaginary[kParts][DigitBlock::kSums];

  [[gnu::always_inline]] DigitSums(const DigitBlock* w, const DigitFactors& in,
                                   std::uint32_t terms) {
    using M = MatrixRegisters;
    using enum M::Bytes;
    unroll<kLeft>([](auto sums) __attribute__((always_inline)) { M::clear<sums>(); });
    for (const DigitFactors::Plane* right = in.at[0]; terms > 0; ++w) {
      M::load<kRight>(*right++);
      add<SignedSigned, kReal + High>(w->real[DigitBlock::High]);
      add<UnsignedSigned, kReal + Mixed>(w->real[DigitBlock::Low]);
      add<SignedSigned, kImaginary + High>(w->imaginary[DigitBlock::High]);
      add<UnsignedSigned, kImaginary + Mixed>(w->imaginary[DigitBlock::Low]);
      M::load<kRight>(*right++);
      add<UnsignedUnsigned, kReal + Low>(w->real[DigitBlock::Low]);
      add<SignedUnsigned, kReal + Mixed>(w->real[DigitBlock::High]);
      add<UnsignedUnsigned, kImaginary + Low>(w->imaginary[DigitBlock::Low]);
      add<SignedUnsigned, kImaginary + Mixed>(w->imaginary[DigitBlock::High]);
      terms -= std::min(terms, DigitBlock::kTerms);
    }
    unroll<kParts>([&](auto part) __attribute__((always_inline)) {
      M::store<kReal + part>(real[part]);
      M::store<kImaginary + part>(imaginary[part]);
    });
  }

  [[gnu::always_inline]] static Vf number(const Vi (&parts)[kParts][DigitBlock::kSums],
                                          std::uint32_t i) {
    const Vi sum = (parts[High][i] << 16) + (parts[Mixed][i] << 8) + parts[Low][i];
    return __builtin_convertvector(sum, Vf);
  }

 private:
  static constexpr int kReal = 0, kImaginary = kParts, kLeft = 2 * kParts, kRight = kLeft + 1;

  template <MatrixRegisters::Bytes Bytes, int Sums>
  [[gnu::always_inline]] static void add(const DigitBlock::Plane& left) {
    MatrixRegisters::load<kLeft>(left);
    MatrixRegisters::multiply_add<Bytes, Sums, kLeft, kRight>();
  }
};

/// int16_product() of scalars: w is [block of sums][block of terms].
void digit_product(const DigitBlock* w, const float* scale, std::uint32_t sums, std::uint32_t terms,
                   const Tile* in, Tile* out) {
  const DigitFactors factors(in, terms);
  const MatrixRegisters registers;
  for (std::uint32_t first = 0; first < sums; first += DigitBlock::kSums) {
    const DigitSums parts(w, factors, terms);
    w += digit_blocks(1, terms);
    for (std::uint32_t i = 0; i < std::min(DigitBlock::kSums, sums - first); ++i) {
      const Vf both = broadcast(scale[first + i]) * factors.scale;
      store(
          out[first + i], 0,
          {DigitSums::number(parts.real, i) * both, DigitSums::number(parts.imaginary, i) * both});
    }
  }
}

}  // namespace
