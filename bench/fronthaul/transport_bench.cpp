// What a packet costs, sent and received, on one core over both transports: all of it, and the part
// inside the system calls. 16 antennas, 2048 samples: datagrams of 8256 bytes; bits are theirs. And
// what its code costs where packets are authenticated, once at each end.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "fronthaul/downlink.hpp"
#include "fronthaul/ingest.hpp"
#include "fronthaul/link.hpp"
#include "fronthaul/siphash.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul;

constexpr std::uint32_t kAntennas = 16, kSymbols = 14, kSamples = 2048;
constexpr std::uint32_t kFrames = 2;

Layout cell() {
  std::vector<SymbolLayout> symbols;
  for (std::uint32_t s = 0; s < kSymbols; ++s)
    symbols.push_back({Carries::Uplink, kSamples, s * kMillisecond / kSymbols,
                       (s + 1) * kMillisecond / kSymbols, 0});
  return {0, kAntennas, kMillisecond, std::move(symbols)};
}

struct NullSink : SymbolSink {
  bool open(std::uint64_t, Tick) override { return true; }
  void arrive(std::uint64_t, std::uint32_t, std::uint32_t, const std::int16_t* samples,
              Tick) override {
    sum += samples[0];
  }
  std::int64_t sum = 0;
};

// Rounds of one direction: ns per packet.
struct Cost {
  std::vector<double> all, kernel;

  void add(Tick whole, Tick in_kernel, double packets) {
    all.push_back(static_cast<double>(whole) / packets);
    kernel.push_back(static_cast<double>(in_kernel) / packets);
  }
};

// One symbol's packets are sent, then received: both ends take turns on one core.
void measure(const bench::Bench& bench, LinkKind kind, const std::string& name) {
  const Layout layout = cell();
  const auto row = [&](const char* kernel) {
    return bench::Case{.kernel = kernel,
                       .shape = name,
                       .per = "packet",
                       .work = {.bits = 8.0 * layout.packet_bytes(0)}};
  };
  std::vector<bench::Case> rows = {row("send"), row("receive")};
  if (kind == LinkKind::Udp) {
    rows.push_back(row("send, in the kernel"));
    rows.push_back(row("receive, in the kernel"));
  }
  if (std::count_if(rows.begin(), rows.end(), [&](const auto& c) { return bench.begin(c); }) == 0)
    return;
  LinkOptions options;
  options.kind = kind;
  options.bbu_port = options.radio_port = 0;
  Link link = open_both(options, layout, {8, 1, 1, 1});
  NullSink sink;
  UplinkIngest ingest(layout, *link.baseband, sink, {.ring = 8, .ahead = 1, .paced = false});
  std::vector<Outgoing> packets;
  for (std::uint32_t a = 0; a < kAntennas; ++a)
    packets.push_back({{0, 0, 0, a}, layout.packet_bytes(0), link.radio->acquire(), 0, true});

  Cost sending, receiving;
  std::uint32_t frame = 0;
  for (int round = bench.options().quick ? 50 : 500; round > 0; --round) {
    const Tick send_kernel = link.radio->send_time().busy;
    const Tick receive_kernel = link.baseband->receive_time(0).busy;
    Tick send = 0, receive = 0;
    for (std::uint32_t f = 0; f < kFrames; ++f, ++frame) {
      for (std::uint32_t s = 0; s < kSymbols; ++s) {
        for (auto& packet : packets) packet.ids = {frame, s, 0, packet.ids.antenna};
        const Tick start = now();
        link.radio->send(packets);
        const Tick sent = now();
        for (std::size_t got = 0; got < kAntennas;) got += ingest.poll(0);
        const Tick received = now();
        send += sent - start;
        receive += received - sent;
      }
      const Tick start = now();
      ingest.release(frame);
      receive += now() - start;
    }
    const double count = double{kFrames} * kSymbols * kAntennas;
    sending.add(send, link.radio->send_time().busy - send_kernel, count);
    receiving.add(receive, link.baseband->receive_time(0).busy - receive_kernel, count);
  }
  for (const auto& packet : packets) link.radio->abandon({&packet.buffer, 1});
  std::vector<double>* const measured[] = {&sending.all, &receiving.all, &sending.kernel,
                                           &receiving.kernel};
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (bench.wants(rows[i].kernel, rows[i].shape))
      bench.report(rows[i], bench::summary(*measured[i]));
}

std::optional<SipHash> hash_of_this_machine() {
  try {
    return SipHash(Key{});
  } catch (const std::runtime_error&) {
    return std::nullopt;  // libsodium is not installed
  }
}

// Packets of an FFT of 512 and of 2048, without their prefix.
void measure_codes(const bench::Bench& bench) {
  const auto hash = hash_of_this_machine();
  if (!hash) return;
  for (const std::size_t bytes : {kHeaderBytes + 4 * 512, kHeaderBytes + 4 * 2048}) {
    const std::vector<std::byte> packet(bytes);
    volatile std::uint64_t sink = 0;
    bench.time({.kernel = "authenticate",
                .shape = std::to_string(bytes) + " B",
                .per = "packet",
                .work = {.bits = 8.0 * static_cast<double>(bytes)}},
               [&] { sink = (*hash)(packet); });
  }
}

void run(bench::Bench& bench) {
  measure(bench, LinkKind::Shm, "shm");
  measure(bench, LinkKind::Udp, "udp");
  measure_codes(bench);
}

const bench::Group group("fronthaul", run);

}  // namespace
