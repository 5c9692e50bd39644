// WAV files: mono is real samples, stereo is I and Q of complex ones.
#include <cmath>
#include <stdexcept>

#include "base/fields.hpp"
#include "dataflow/blocks/types.hpp"
#include "dataflow/io/samples_file.hpp"
#include "dataflow/io/wav.hpp"

namespace carillon::dataflow {
namespace {

Wav look_at(const std::string& path) {
  File file(path);
  file.open_to_read();
  try {
    if (!file.is_plain()) throw std::runtime_error("is no file; read pipes with raw-source");
    return read_wav(file.bytes(), [&](std::uint64_t byte, std::span<std::byte> to) {
      return file.read_at(byte, to);
    });
  } catch (const std::runtime_error& wrong) {
    throw std::runtime_error(path + ": " + wrong.what());
  }
}

class WavReader final : public FileReader {
 public:
  WavReader(const std::string& path, const Wav& wav, double rate_hz, bool repeat)
      : FileReader(path, wav.format,
                   {wav.offset_bytes,
                    wav.samples,
                    repeat,
                    {{0, TagKind::Rate, static_cast<double>(wav.rate_hz), {}}}}),
        path_(path),
        rate_hz_(wav.rate_hz),
        wanted_hz_(rate_hz),
        missing_bytes_(wav.missing_bytes) {}

  // Here, because a graph makes blocks before it knows their rates.
  void open() override {
    if (std::abs(wanted_hz_ - rate_hz_) > 1e-9 * rate_hz_)
      throw std::runtime_error(path_ + ": has " + detail::number_text(rate_hz_) +
                               " samples a second, and the graph says " +
                               detail::number_text(wanted_hz_));
    FileReader::open();
  }
  std::vector<Figure> figures() const override {
    std::vector<Figure> all = FileReader::figures();
    if (missing_bytes_ > 0)
      all.push_back({"cut off", "bytes", static_cast<double>(missing_bytes_)});
    return all;
  }

 private:
  std::string path_;
  double rate_hz_, wanted_hz_;
  std::uint64_t missing_bytes_;
};

// The header is right whenever the file is: it follows what is written.
class WavWriter final : public FileWriter {
 public:
  WavWriter(std::string path, const Format& format, std::uint32_t rate_hz)
      : FileWriter(std::move(path), format, wav_header(format, rate_hz, 0).size()),
        rate_hz_(rate_hz) {}

  void open() override {
    FileWriter::open();
    if (!file().is_plain())
      throw std::runtime_error(name() + ": is no file; write pipes and devices with raw-sink");
    write_header();
  }
  std::size_t write(const float* from, std::size_t samples, const Stop& stop) override {
    const std::size_t taken = FileWriter::write(from, samples, stop);
    write_header();
    return taken;
  }
  void close(const Stop& stop) override {
    FileWriter::close(stop);
    write_header();
    if (whole_bytes() % 2 != 0)
      file().write_at(begin_bytes() + whole_bytes(), std::vector<std::byte>(1));
    file().close();
  }

 private:
  void write_header() { file().write_at(0, wav_header(format(), rate_hz_, whole_bytes())); }

  std::uint32_t rate_hz_;
};

std::unique_ptr<Block> make_source(const Values& values) {
  const std::string& path = path_of(values);
  const Wav wav = look_at(path);
  return std::make_unique<DeviceSource>(
      wav.format.items,
      std::make_unique<WavReader>(path, wav, number(values, "rate_hz"), flag(values, "repeat")),
      buffer_samples(values));
}

std::unique_ptr<Block> make_sink(const Values& values) {
  const std::string& kind = text(values, "kind");
  const double rate = number(values, "rate_hz");
  if (rate != std::round(rate) || rate > 0xffffffff)
    throw std::invalid_argument("rate_hz: a WAV file has whole ones, up to 4294967295");
  const bool is_float = kind == "float32";
  const Format format{items(values), is_float ? NumberKind::Float : NumberKind::Signed,
                      static_cast<std::uint8_t>(kind == "pcm16"   ? 2
                                                : kind == "pcm24" ? 3
                                                                  : 4),
                      false};
  return std::make_unique<DeviceSink>(
      format.items,
      std::make_unique<WavWriter>(path_of(values), format, static_cast<std::uint32_t>(rate)),
      buffer_samples(values));
}

}  // namespace

BlockType wav_source_type() {
  return {"wav-source",
          "sources",
          "Reads a WAV file: mono is real samples, stereo is I and Q.",
          {path_parameter("The file."), repeat_parameter(), rate_parameter(), buffer_parameter()},
          make_source};
}

BlockType wav_sink_type() {
  return {"wav-sink",
          "sinks",
          "Writes a WAV file: real samples as mono, complex ones as stereo.",
          {path_parameter("The file, which is written over."),
           {.name = "kind",
            .text = "How samples lie in it; integers are from -1 to 1.",
            .kind = ParameterKind::Text,
            .standard = "pcm16",
            .choices = {"pcm16", "pcm24", "pcm32", "float32"}},
           samples_parameter(),
           rate_parameter(),
           buffer_parameter()},
          make_sink};
}

}  // namespace carillon::dataflow
