// Reads the little-endian vector files of tests/data: words, packed bits, arrays of floats.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace carillon::test {

class Vectors {
 public:
  explicit Vectors(const std::string& name) {
    std::ifstream file(std::string(CARILLON_TEST_DATA) + "/" + name, std::ios::binary);
    if (!file) throw std::runtime_error("tests/data/" + name + " is missing");
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }

  bool done() const { return at_ == bytes_.size(); }
  std::uint32_t word() { return array<std::uint32_t>(1)[0]; }
  /// Packed bits with 8 spare bytes behind them.
  std::vector<std::uint8_t> bits(std::size_t count) {
    auto packed = array<std::uint8_t>((count + 7) / 8);
    packed.resize(packed.size() + 8);
    return packed;
  }
  template <typename T>
  std::vector<T> array(std::size_t count) {
    if (at_ + count * sizeof(T) > bytes_.size()) throw std::runtime_error("vector file too short");
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }

 private:
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

inline bool msb_bit(const std::vector<std::uint8_t>& packed, std::size_t n) {
  return (packed[n / 8] >> (7 - n % 8) & 1) != 0;
}
inline bool lsb_bit(const std::vector<std::uint8_t>& packed, std::size_t n) {
  return (packed[n / 8] >> n % 8 & 1) != 0;
}

}  // namespace carillon::test
