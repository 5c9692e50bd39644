// The headers of WAV files (RIFF, and RF64 for more than 4 GiB: EBU Tech 3306).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dataflow/io/format.hpp"

namespace carillon::dataflow {

struct Wav {
  Format format;  ///< mono is real, stereo complex
  std::uint32_t rate_hz = 0;
  std::uint64_t offset_bytes = 0, samples = 0;
  std::uint64_t missing_bytes = 0;  ///< that the header tells of and the file has not
};

/// Reads at a byte of the file; returns how many there were.
using ReadAt = std::function<std::size_t(std::uint64_t byte, std::span<std::byte> to)>;

/// Of a file of so many bytes. A header that was never completed is one whose samples go on to the
/// end. Throws std::runtime_error that says what it is instead, without its name.
Wav read_wav(std::uint64_t file_bytes, const ReadAt& read_at);

/// What precedes so many bytes of samples; always of the same length. `format`: little-endian,
/// floats of 4 bytes or integers of 2 to 4.
std::vector<std::byte> wav_header(const Format& format, std::uint32_t rate_hz,
                                  std::uint64_t data_bytes);

}  // namespace carillon::dataflow
