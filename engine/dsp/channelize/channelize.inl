// Included inside an instruction set's namespace (dsp/simd/*_begin.inl). Lanes are outputs of a
// channel, one after the other: branches and channels are rows.
#include "base/simd/fft.inl"

namespace {

// Branch p gets x[t·M - p], t from J - 1 before the first of `count` outputs.
void deal_out(Channelizer& c, const Complex* x, std::size_t count) {
  const std::size_t M = c.channels(), all = count + c.length() - 1, room = c.samples_of_branch();
  for (std::size_t p = 0; p < M; ++p) {
    float* const to = c.samples(p);
    const Complex* from = x + (M - 1 - p);
    for (std::size_t t = 0; t < all; ++t, from += M) {
      to[t] = from->re;
      to[room + t] = from->im;
    }
  }
}

// A vector of outputs of a branch's filter. The transform over branches is an inverse one: re and
// im are exchanged before and after it.
[[gnu::always_inline]] inline Cx<kLanes> filtered(Channelizer& c, std::size_t p, std::size_t n) {
  const std::size_t J = c.length(), room = c.samples_of_branch();
  const float *const taps = c.taps(p), *const newest = c.samples(p) + n + J - 1;
  Cx<kLanes> sum{};
  for (std::size_t j = 0; j < J; ++j) {
    const Vf tap = broadcast(taps[j]);
    sum.re += tap * load(newest + room - j);
    sum.im += tap * load(newest - j);
  }
  return sum;
}

void channelize_block(Channelizer& c, const Complex* x, Complex* y, std::size_t count) {
  const FftTables& tables = c.tables();
  const std::uint16_t* const frequency = tables.frequency_at.data();
  const std::size_t M = c.channels();
  deal_out(c, x, count);
  for (std::size_t n = 0; n < count; n += kLanes) {
    const std::size_t now = std::min<std::size_t>(kLanes, count - n);
    const auto load_branch = [&c, n ](std::uint32_t p) __attribute__((always_inline)) {
      return filtered(c, p, n);
    };
    const auto store_channel = [=](std::uint32_t place, Cx<kLanes> made)
        __attribute__((always_inline)) {
      Complex apart[kLanes];
      store(floats_of(apart), interleaved({made.im, made.re}, 0));
      store(floats_of(apart) + kLanes, interleaved({made.im, made.re}, kLanes / 2));
      Complex* to = y + n * M + frequency[place];
      for (std::size_t lane = 0; lane < now; ++lane, to += M) *to = apart[lane];
    };
    transform_rows<kLanes>(tables, c.scratch(), load_branch, store_channel);
  }
}

void channelize(Channelizer& c, const Complex* x, Complex* y, std::size_t count) noexcept {
  for (std::size_t done = 0; done < count; done += Channelizer::kAtOnce) {
    const std::size_t now = std::min(Channelizer::kAtOnce, count - done), at = done * c.channels();
    channelize_block(c, x + at, y + at, now);
  }
}

}  // namespace

const ChannelizeKernels channelize_kernels{.channelize = channelize};
