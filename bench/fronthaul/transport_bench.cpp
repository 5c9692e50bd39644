// What a packet costs, sent and received, on one core over both transports: all of it, and the part
// inside the system calls. 16 antennas, 2048 samples: datagrams of 8256 bytes.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "fronthaul/downlink.hpp"
#include "fronthaul/ingest.hpp"
#include "fronthaul/link.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul;

constexpr std::uint32_t kAntennas = 16, kSymbols = 14, kSamples = 2048;
constexpr std::uint32_t kFrames = 2, kRounds = 500;

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

struct Cost {
  double all = 1e30, kernel = 1e30;  // ns per packet
};

void keep_best(Cost& best, Tick all, Tick kernel, double packets) {
  best.all = std::min(best.all, static_cast<double>(all) / packets);
  best.kernel = std::min(best.kernel, static_cast<double>(kernel) / packets);
}

void print(const char* kind, const char* what, const Cost& cost, double bytes) {
  std::printf(
      "%-4s %-8s %8.0f ns per packet (%.0f ns in the kernel)  %6.2f Mpackets/s  %6.1f Gb/s\n", kind,
      what, cost.all, cost.kernel, 1e3 / cost.all, bytes * 8 / cost.all);
}

// One symbol's packets are sent, then received: both ends take turns on one core.
void measure(LinkKind kind, const char* name) {
  const Layout layout = cell();
  LinkOptions options;
  options.kind = kind;
  options.bbu_port = options.radio_port = 0;
  Link link = open_both(options, layout, {8, 1, 1, 1});
  for (const auto& note : link.baseband->notes()) std::printf("note: %s\n", note.c_str());
  NullSink sink;
  UplinkIngest ingest(layout, *link.baseband, sink, {.ring = 8, .ahead = 1, .paced = false});
  std::vector<Outgoing> packets;
  for (std::uint32_t a = 0; a < kAntennas; ++a)
    packets.push_back({{0, 0, 0, a}, layout.packet_bytes(0), link.radio->acquire(), 0, true});

  Cost sending, receiving;
  std::uint32_t frame = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
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
    keep_best(sending, send, link.radio->send_time().busy - send_kernel, count);
    keep_best(receiving, receive, link.baseband->receive_time(0).busy - receive_kernel, count);
  }
  print(name, "send", sending, layout.packet_bytes(0));
  print(name, "receive", receiving, layout.packet_bytes(0));
  print(name, "both", {sending.all + receiving.all, sending.kernel + receiving.kernel},
        layout.packet_bytes(0));
  for (const auto& packet : packets) link.radio->abandon({&packet.buffer, 1});
}

}  // namespace

int main() {
  measure(LinkKind::Shm, "shm");
  measure(LinkKind::Udp, "udp");
}
