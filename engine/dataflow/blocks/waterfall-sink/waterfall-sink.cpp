// Spectra over time, for a picture.
#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 26;

/// However long it runs, there is room for all: when it is full, two neighbours become one.
class WaterfallSink final : public Block {
 public:
  WaterfallSink(std::size_t size, std::size_t most, double center_hz, double span_hz)
      : Block({{{Items::Real, size, size}}, {}}),
        size_(size),
        most_(most),
        center_hz_(center_hz),
        span_hz_(span_hz),
        values_(std::make_unique_for_overwrite<float[]>(size * most)) {}

  // So that no execution is the first to touch a page.
  void start() override { std::fill_n(values_.get(), size_ * most_, 0.0F); }

  void execute(const float* const* in, float*, std::size_t count) noexcept override {
    for (std::size_t n = 0; n < count; ++n) take(*in + n * size_);
    came_.store(came_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }

  std::vector<Figure> figures() const override {
    return {{"rows", "", static_cast<double>(came_.load(std::memory_order_relaxed))},
            finite_.figure()};
  }

  std::optional<Rows> rows() const override {
    const double step_hz = span_hz_ / static_cast<double>(size_);
    Rows rows{.width = size_,
              .first_hz = center_hz_ - static_cast<double>(size_ / 2) * step_hz,
              .step_hz = step_hz,
              .values = {values_.get(), values_.get() + full_ * size_},
              .came = came_.load(),
              .merged = merged_};
    for (std::size_t i = 0; pending_ > 0 && i < size_; ++i)
      rows.values.push_back(row(full_)[i] / static_cast<float>(pending_));
    return rows;
  }

 private:
  float* row(std::size_t n) const { return values_.get() + n * size_; }

  void take(const float* x) noexcept {
    float* const sum = row(full_);
    if (pending_ == 0) std::fill_n(sum, size_, 0.0F);
    for (std::size_t i = 0; i < size_; ++i) sum[i] += finite_(x[i]);
    if (++pending_ < merged_) return;
    for (std::size_t i = 0; i < size_; ++i) sum[i] /= static_cast<float>(merged_);
    pending_ = 0;
    if (++full_ == most_) halve();
  }

  void halve() noexcept {
    for (std::size_t n = 0; n < most_ / 2; ++n)
      for (std::size_t i = 0; i < size_; ++i) row(n)[i] = (row(2 * n)[i] + row(2 * n + 1)[i]) / 2;
    full_ = most_ / 2;
    merged_ *= 2;
  }

  std::size_t size_, most_;
  double center_hz_, span_hz_;
  std::unique_ptr<float[]> values_;
  std::size_t full_ = 0;                    // rows
  std::uint64_t merged_ = 1, pending_ = 0;  // rows that came, in each and in the next one
  std::atomic<std::uint64_t> came_{0};
  Finite finite_;
};

std::unique_ptr<Block> made(const Values& values) {
  const auto size = static_cast<std::size_t>(whole(values, "size"));
  const auto most = static_cast<std::size_t>(whole(values, "most_rows"));
  if (most % 2 != 0) throw std::invalid_argument("most_rows: must be even");
  if (size * most > kMostValues)
    throw std::invalid_argument("most_rows: of at most 67108864 values in all");
  return std::make_unique<WaterfallSink>(size, most, number(values, "center_hz"),
                                         number(values, "span_hz"));
}

}  // namespace

BlockType waterfall_sink_type() {
  return {
      "waterfall-sink",
      "measurement",
      "Keeps rows of powers, as fft-power makes them, for a picture of frequencies over time "
      "that is drawn when the run has ended. Rows that are too many become means of two: the "
      "execution that finds no room goes through all that is kept.",
      {{.name = "size",
        .text = "Frequencies in a row, the lowest first.",
        .kind = ParameterKind::Whole,
        .standard = 1024,
        .least = 2,
        .most = 65536},
       {.name = "span_hz",
        .text = "What a row covers: samples a second of what fft-power reads.",
        .unit = "Hz",
        .least = 1e-9,
        .most = 1e18},
       {.name = "center_hz", .text = "The frequency in the middle.", .standard = 0.0, .unit = "Hz"},
       {.name = "most_rows",
        .text = "Rows that are kept: an even number.",
        .kind = ParameterKind::Whole,
        .standard = 512,
        .least = 2,
        .most = 65536}},
      made};
}

}  // namespace carillon::dataflow
