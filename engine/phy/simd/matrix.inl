// Registers that hold a matrix of bytes, and products of them (AMX-INT8). Included inside an
// instruction set's namespace, after its begin file.

namespace {

/// The eight registers, each 16 rows of 64 bytes, while this is there. (By assembler: GCC 12's
/// intrinsics do not tell the compiler what they read.)
class MatrixRegisters {
 public:
  /// What a product's left and right bytes are.
  enum class Bytes { SignedSigned, SignedUnsigned, UnsignedSigned, UnsignedUnsigned };

  MatrixRegisters() { asm volatile("ldtilecfg %0" ::"m"(kShapes)); }
  ~MatrixRegisters() { asm volatile("tilerelease"); }
  MatrixRegisters(const MatrixRegisters&) = delete;
  MatrixRegisters& operator=(const MatrixRegisters&) = delete;

  template <int To>
  [[gnu::always_inline]] static void clear() {
    asm volatile("tilezero %%tmm%c0" ::"i"(To));
  }
  template <int To>
  [[gnu::always_inline]] static void load(const void* from) {
    asm volatile("tileloadd (%0,%1), %%tmm%c2" ::"r"(from), "r"(kRowBytes), "i"(To) : "memory");
  }
  template <int From>
  [[gnu::always_inline]] static void store(void* to) {
    asm volatile("tilestored %%tmm%c2, (%0,%1)" ::"r"(to), "r"(kRowBytes), "i"(From) : "memory");
  }
  /// 32-bit sums[row][lane] += Σ left[row][n]·right[n / 4][4·lane + n % 4].
  template <Bytes Kinds, int Sums, int Left, int Right>
  [[gnu::always_inline]] static void multiply_add() {
#define CARILLON_MULTIPLY_ADD(instruction) \
  asm volatile(instruction " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right))
    if constexpr (Kinds == Bytes::SignedSigned)
      CARILLON_MULTIPLY_ADD("tdpbssd");
    else if constexpr (Kinds == Bytes::SignedUnsigned)
      CARILLON_MULTIPLY_ADD("tdpbsud");
    else if constexpr (Kinds == Bytes::UnsignedSigned)
      CARILLON_MULTIPLY_ADD("tdpbusd");
    else
      CARILLON_MULTIPLY_ADD("tdpbuud");
#undef CARILLON_MULTIPLY_ADD
  }

 private:
  static constexpr long kRowBytes = 64;
  struct Shapes {
    std::uint8_t palette_and_reserved[16];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  alignas(64) static constexpr Shapes kShapes = {.palette_and_reserved = {1},
                                                 .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                                 .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
};

}  // namespace
