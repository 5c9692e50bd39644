// How soon the host sees that a kernel is over: by a word that the stream writes, as the executor
// of a pool does it, by one that the kernel's last block writes, by events and by waiting for the
// stream. What an issue's calls cost the host, and a symbol's kernels, launched one by one or as
// graphs. Both goals are 2 µs, for nine of ten.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/cuda/driver.hpp"
#include "base/cuda/words.hpp"
#include "cuda/completion_kernels.hpp"
#include "cuda/frames.hpp"

namespace carillon::bench {
namespace {

constexpr std::uint32_t kTrips = 500;      // of a comparison of clocks
constexpr std::uint32_t kRounds = 1000;    // of a way to see the end
constexpr std::uint32_t kStayNs = 30'000;  // long enough for the host to begin to look
constexpr Tick kMostWait = kSecond;        // for anything
constexpr std::uint32_t kIssues = 4000, kInARow = 16;
constexpr std::uint32_t kSymbols = 14, kChain = 12, kFrames = 50;
constexpr std::uint32_t kAsked = 0, kTold = 32, kWords = 64;  // cache lines apart

double us_between(Tick begin, Tick end) { return static_cast<double>(end - begin) * 1e-3; }

/// Looks again and again; false: in vain.
template <typename Look>
bool await(Look&& look) {
  for (const Tick most = now() + kMostWait; !look();)
    if (now() > most) return false;
  return true;
}

/// Whose stream all of it runs on, with words as an executor's.
std::unique_ptr<cuda::Driver> make_driver(const cuda::Device& device) {
  cuda::Status status;
  std::unique_ptr<cuda::Driver> driver = cuda::make_driver({device}, {.words = 1}, status);
  require(status);
  require(driver->use(0));
  return driver;
}

/// The device's clock beside the host's.
class DeviceClock {
 public:
  explicit DeviceClock(cudaStream_t stream) : stream_(stream) {
    require(words_.status());
    require(watch_clock(shown_.data(), kTrips, stream_));
    std::vector<double> jumps;
    for (const std::uint64_t each : shown()) jumps.push_back(static_cast<double>(each));
    std::ranges::sort(jumps);
    step_ = static_cast<Tick>(share(jumps, 0.5));  // some are long, after an interruption
  }

  Tick step() const { return step_; }

  /// By round trips over words of the host's.
  std::optional<Offset> compare() {
    words_.set(kAsked, 0);
    words_.set(kTold, 0);
    std::uint32_t* data = words_.data();
    require(show_clock({data + kAsked, data + kTold, shown_.data(), kTrips}, stream_));
    std::vector<Reading> readings(kTrips);
    for (std::uint32_t i = 0; i < kTrips; ++i) {
      readings[i].before = now();
      words_.set(kAsked, i + 1);
      if (!await([&] { return words_.get(kTold) == i + 1; })) break;
      readings[i].after = now();
    }
    const std::vector<std::uint64_t> shown = this->shown();
    if (words_.get(kTold) != kTrips) return std::nullopt;
    for (std::uint32_t i = 0; i < kTrips; ++i) readings[i].device = static_cast<Tick>(shown[i]);
    return bench::compare(readings, step_);
  }

 private:
  std::vector<std::uint64_t> shown() const {
    std::vector<std::uint64_t> values(kTrips);
    require(cuda::Status(cudaStreamSynchronize(stream_)));
    require(cuda::copy_out(values.data(), shown_.data(), values.size() * sizeof(values[0])));
    return values;
  }

  cudaStream_t stream_;
  cuda::Words words_{kWords};
  OnDevice<std::uint64_t> shown_{kTrips};
  Tick step_ = 0;
};

/// A way to see that a kernel is over. signal() follows the kernel in its stream; seen() returns
/// when the host knows, false: it never did.
struct Way {
  std::string how;
  std::function<cuda::Status(std::uint32_t round)> signal;
  std::function<bool(std::uint32_t round)> seen;
  std::uint32_t* word = nullptr;  ///< that the kernel is to write
};

cuda::Status nothing(std::uint32_t) { return {}; }

/// All rounds of a way, by both clocks; empty: the host waited in vain.
std::vector<Round> rounds_of(const Way& way, std::uint32_t blocks, cudaStream_t stream) {
  const OnDevice<std::uint64_t> ends(kRounds);
  const OnDevice<std::uint32_t> left(kRounds);
  std::vector<Round> rounds(kRounds);
  for (std::uint32_t r = 0; r < kRounds; ++r) {
    const Stay task = {kStayNs, left.data() + r, ends.data() + r, way.word, r + 1};
    require(stay(task, blocks, stream));
    require(way.signal(r + 1));
    rounds[r].ready = now();
    if (!way.seen(r + 1)) return {};
    rounds[r].seen = now();
    require(cuda::Status(cudaStreamSynchronize(stream)));
  }
  std::vector<std::uint64_t> shown(kRounds);
  require(cuda::copy_out(shown.data(), ends.data(), shown.size() * sizeof(shown[0])));
  for (std::uint32_t r = 0; r < kRounds; ++r) rounds[r].end = static_cast<Tick>(shown[r]);
  return rounds;
}

void add(Completion& completion, Latency row) {
  std::printf("%s\n", text(row).c_str());
  std::fflush(stdout);
  completion.rows.push_back(std::move(row));
}

void measure(GpuBench& bench, const Way& way, DeviceClock& clock, cudaStream_t stream,
             Completion& completion) {
  const std::string what = kEndSeen;
  const std::optional<Offset> first = clock.compare();
  const std::vector<Round> rounds = rounds_of(way, bench.device().sms, stream);
  const std::optional<Offset> second = clock.compare();
  if (rounds.empty()) return bench.fail(what + ", " + way.how + ": waited for in vain");
  if (!first || !second)
    return bench.fail(what + ", " + way.how + ": the clocks could not be compared");
  const Clocks clocks(*first, *second, clock.step());
  std::vector<double> samples = seen_after(rounds, clocks);
  if (samples.size() < kRounds / 2)
    return bench.fail(what + ", " + way.how + ": most kernels were over before the host looked");
  ClockRow& worst = completion.clock;
  worst.error = std::max(worst.error, clocks.error());
  if (std::abs(clocks.drift()) > std::abs(worst.drift)) worst.drift = clocks.drift();
  const double error = static_cast<double>(clocks.error()) * 1e-3;
  add(completion, latency(what, way.how, std::move(samples), error, kCompletionGoal));
}

void measure_words(GpuBench& bench, cuda::Driver& driver, DeviceClock& clock,
                   Completion& completion) {
  cudaStream_t stream = driver.stream(0, 0);
  const Way by_stream = {
      kByStream, [&](std::uint32_t round) { return driver.tell(0, 0, 0, round); },
      [&](std::uint32_t round) { return await([&] { return driver.told(0, 0) == round; }); }};
  measure(bench, by_stream, clock, stream, completion);
  const cuda::Words words(1);
  require(words.status());
  const Way by_kernel = {
      "by a word that its last block writes", nothing,
      [&](std::uint32_t round) { return await([&] { return words.get(0) == round; }); },
      words.data()};
  measure(bench, by_kernel, clock, stream, completion);
}

void measure_event(GpuBench& bench, DeviceClock& clock, cudaStream_t stream,
                   Completion& completion) {
  cudaEvent_t event = nullptr;
  require(cuda::Status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
  const Way way = {"by cudaEventQuery",
                   [&](std::uint32_t) { return cuda::Status(cudaEventRecord(event, stream)); },
                   [&](std::uint32_t) {
                     return await([&] { return cudaEventQuery(event) != cudaErrorNotReady; });
                   }};
  measure(bench, way, clock, stream, completion);
  require(cuda::Status(cudaEventDestroy(event)));
}

void measure_waiting(GpuBench& bench, DeviceClock& clock, cudaStream_t stream,
                     Completion& completion) {
  const std::pair<const char*, unsigned> kinds[] = {{"spinning", cudaDeviceScheduleSpin},
                                                    {"blocking", cudaDeviceScheduleBlockingSync}};
  unsigned before = 0;
  require(cuda::Status(cudaGetDeviceFlags(&before)));
  for (const auto& [name, flags] : kinds) {
    const Way way = {std::string("by cudaStreamSynchronize, ") + name, nothing,
                     [&](std::uint32_t) { return cudaStreamSynchronize(stream) == cudaSuccess; }};
    const cuda::Status set(cudaSetDeviceFlags((before & ~cudaDeviceScheduleMask) | flags));
    if (set.ok())
      measure(bench, way, clock, stream, completion);
    else
      bench.fail(way.how + ": " + set.text());
  }
  require(cuda::Status(cudaSetDeviceFlags(before)));
}

/// The calls of an issue, each by itself and all together, on streams that are nearly idle. What
/// reading the clock takes, some 20 ns, is part of each.
void measure_issue(cuda::Driver& driver, Completion& completion) {
  std::uint32_t told = 0;
  const std::pair<const char*, std::function<cuda::Status()>> calls[] = {
      {"launch of a kernel", [&] { return idle(0, driver.stream(0, 0)); }},
      {"event recorded", [&] { return driver.mark(0, 0, 0); }},
      {"stream told to wait for it", [&] { return driver.wait(0, 1, 0); }},
      {"word written", [&] { return driver.tell(0, 0, 0, ++told); }}};
  std::vector<double> times[std::size(calls)], all;
  const auto finish = [&](std::uint32_t i) {
    if (i % kInARow != 0) return;
    for (const std::uint32_t s : {0U, 1U})
      require(cuda::Status(cudaStreamSynchronize(driver.stream(0, s))));
  };
  for (std::uint32_t i = 0; i < kIssues; ++i) {
    for (std::size_t c = 0; c < std::size(calls); ++c) {
      const Tick begin = now();
      require(calls[c].second());
      times[c].push_back(us_between(begin, now()));
    }
    finish(i);
  }
  for (std::uint32_t i = 0; i < kIssues; ++i) {
    const Tick begin = now();
    for (const auto& [name, call] : calls) require(call());
    all.push_back(us_between(begin, now()));
    finish(i);
  }
  for (std::size_t c = 0; c < std::size(calls); ++c)
    add(completion, latency("host's time for a call", calls[c].first, std::move(times[c]), 0, 0));
  add(completion, latency(kIssue, kAllCalls, std::move(all), 0, kCompletionGoal));
}

/// µs of a symbol, of so many frames: of the host to launch it, and of the device.
struct Costs {
  std::vector<double> host, device;
};

Costs cost_of(const Enqueue& frame, cudaStream_t stream) {
  cudaEvent_t begin = nullptr, end = nullptr;
  require(cuda::Status(cudaEventCreate(&begin)));
  require(cuda::Status(cudaEventCreate(&end)));
  Costs costs;
  for (std::uint32_t i = 0; i <= kFrames; ++i) {
    require(cuda::Status(cudaEventRecord(begin, stream)));
    const Tick from = now();
    require(frame(stream));
    const Tick to = now();
    require(cuda::Status(cudaEventRecord(end, stream)));
    require(cuda::Status(cudaStreamSynchronize(stream)));
    float milliseconds = 0;
    require(cuda::Status(cudaEventElapsedTime(&milliseconds, begin, end)));
    if (i == 0) continue;  // it loads kernels and graphs
    costs.host.push_back(us_between(from, to) / kSymbols);
    costs.device.push_back(1e3 * static_cast<double>(milliseconds) / kSymbols);
  }
  require(cuda::Status(cudaEventDestroy(begin)));
  require(cuda::Status(cudaEventDestroy(end)));
  return costs;
}

/// A frame's symbols, one after the other: launched one by one, a graph for each, one for all.
void measure_chain(const std::string& name, const std::vector<Enqueue>& symbols,
                   cudaStream_t stream, Completion& completion) {
  const Enqueue one_by_one = [&](cuda::Stream on) {
    for (const Enqueue& symbol : symbols)
      if (const cuda::Status status = symbol(on); !status.ok()) return status;
    return cuda::Status();
  };
  std::vector<cuda::Graph> graphs;
  for (const Enqueue& symbol : symbols) require(graphs.emplace_back(symbol).status());
  const Enqueue by_symbol = [&](cuda::Stream on) {
    for (const cuda::Graph& graph : graphs)
      if (const cuda::Status status = graph.launch(on); !status.ok()) return status;
    return cuda::Status();
  };
  const cuda::Graph whole(one_by_one);
  require(whole.status());
  const Enqueue by_frame = [&](cuda::Stream on) { return whole.launch(on); };
  const std::pair<const char*, const Enqueue*> ways[] = {{", a graph of the frame", &by_frame},
                                                         {", a graph of each symbol", &by_symbol},
                                                         {", one by one", &one_by_one}};
  double graph_us = 0;
  for (const auto& [way, frame] : ways) {
    Costs costs = cost_of(*frame, stream);
    const Latency host =
        latency("host's time for a symbol's launches", name + way, std::move(costs.host), 0, 0);
    Latency device =
        latency("device's time for a symbol", name + way, std::move(costs.device), 0, 0);
    if (frame == &by_frame)
      graph_us = device.p50;
    else
      device.note = launches(host.p50, device.p50, graph_us);
    add(completion, host);
    add(completion, std::move(device));
  }
}

void measure_chains(const cuda::Device& device, cudaStream_t stream, Completion& completion) {
  int khz = 0;
  require(cuda::Status(
      cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, static_cast<int>(device.index))));
  for (const std::uint32_t us : {0U, 2U, 5U, 10U}) {
    const std::uint64_t cycles = std::uint64_t{us} * static_cast<std::uint64_t>(khz) / 1000;
    const Enqueue symbol = [cycles](cuda::Stream on) {
      cuda::Status worst;
      for (std::uint32_t i = 0; i < kChain && worst.ok(); ++i) worst = idle(cycles, on);
      return worst;
    };
    const std::string name = std::to_string(kChain) + " kernels of " + std::to_string(us) + " µs";
    measure_chain(name, std::vector<Enqueue>(kSymbols, symbol), stream, completion);
  }
  const DeviceFrame frame({64, 16}, 'U');
  std::vector<Enqueue> symbols;
  std::size_t count = 0;
  for (std::vector<frame::GpuTask>& part : frame.parts(true)) {
    count += part.size();
    symbols.push_back(enqueue(std::move(part)));
  }
  const std::string launches = " of " + std::to_string(count) + " launches";
  measure_chain("64x16 uplink frame" + launches, symbols, stream, completion);
}

}  // namespace

void measure_completion(GpuBench& bench, Completion& completion) {
  const std::unique_ptr<cuda::Driver> driver = make_driver(bench.device());
  cudaStream_t stream = driver->stream(0, 0);
  {
    DeviceClock clock(stream);
    completion.clock.step = clock.step();
    measure_words(bench, *driver, clock, completion);
    measure_event(bench, clock, stream, completion);
    measure_waiting(bench, clock, stream, completion);
  }
  measure_issue(*driver, completion);
  measure_chains(bench.device(), stream, completion);
}

}  // namespace carillon::bench
