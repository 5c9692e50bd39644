// Values with which each block is measured, and tried.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "dataflow/blocks/type.hpp"

namespace carillon::bench {

using dataflow::Value;
using dataflow::Values;

inline std::vector<double> low_pass(std::size_t taps, double cutoff) {
  std::vector<double> h;
  for (std::size_t k = 0; k < taps; ++k) {
    const double t = static_cast<double>(k) - static_cast<double>(taps - 1) / 2;
    const double x = 2 * std::numbers::pi * cutoff * t;
    h.push_back(2 * cutoff * (t == 0 ? 1 : std::sin(x) / x));
  }
  return h;
}

struct Trial {
  std::string shape;
  Values values;
};

// Of all blocks there are: none where they have a device.
inline const std::map<std::string, std::vector<Trial>>& trials() {
  using namespace std::string_literals;
  const Value rate = 1e6;
  static const std::map<std::string, std::vector<Trial>> all{
      {"null-source", {{"complex", {}}}},
      {"signal-source",
       {{"exponential", {{"frequency_hz", 1e4}, {"rate_hz", rate}}},
        {"real sine",
         {{"waveform", "sine"s}, {"samples", "real"s}, {"frequency_hz", 1e4}, {"rate_hz", rate}}}}},
      {"noise-source", {{"complex", {}}}},
      {"fm-test-signal", {{"250 kHz", {{"rate_hz", 250e3}}}}},
      {"null-sink", {{"complex", {}}}},
      {"fir",
       {{"64 taps", {{"taps", low_pass(64, 0.1)}}},
        {"64 taps, real", {{"taps", low_pass(64, 0.1)}, {"samples", "real"s}}},
        {"64 taps, 1 of 10", {{"taps", low_pass(64, 0.1)}, {"decimation", std::int64_t{10}}}},
        {"512 taps", {{"taps", low_pass(512, 0.1)}}}}},
      {"translating-fir",
       {{"64 taps, 1 of 10",
         {{"taps", low_pass(64, 0.05)},
          {"decimation", std::int64_t{10}},
          {"centre_hz", 1e5},
          {"rate_hz", rate}}}}},
      {"resampler",
       {{"3/2, 48 taps",
         {{"taps", low_pass(48, 0.2)},
          {"interpolation", std::int64_t{3}},
          {"decimation", std::int64_t{2}}}}}},
      {"channelizer",
       {{"16 channels, 256 taps",
         {{"channels", std::int64_t{16}}, {"taps", low_pass(256, 0.03)}}}}},
      {"deemphasis", {{"real", {{"time_s", 75e-6}, {"rate_hz", rate}}}}},
      {"dc-blocker", {{"complex", {{"cutoff_hz", 30.0}, {"rate_hz", rate}}}}},
      {"squelch", {{"open", {{"level_db", -20.0}, {"rate_hz", rate}}}}},
      {"agc", {{"complex", {}}}},
      {"rotator", {{"complex", {{"frequency_hz", 1e4}, {"rate_hz", rate}}}}},
      {"add", {{"complex", {{"value", 0.5}}}}},
      {"multiply", {{"complex", {{"value", 0.5}, {"imaginary", 0.5}}}}},
      {"add-two", {{"complex", {}}}},
      {"multiply-two", {{"complex", {}}}},
      {"convert",
       {{"magnitude", {{"to", "magnitude"s}}},
        {"phase", {{"to", "phase"s}}},
        {"complex", {{"to", "complex"s}}}}},
      {"quadrature-demodulator", {{"complex", {{"deviation_hz", 5e3}, {"rate_hz", rate}}}}},
      {"fm-modulator", {{"real", {{"deviation_hz", 5e3}, {"rate_hz", rate}}}}},
      {"probe", {{"complex", {}}}},
      {"correlator", {{"64 samples", {{"sequence", low_pass(128, 0.1)}}}}},
      {"fft-power", {{"1024", {}}}},
      {"waterfall-sink", {{"1024", {{"span_hz", 1e6}}}}},
      {"head", {{"endless", {{"count", std::int64_t{1'000'000'000'000'000}}}}}},
      {"skip", {{"100", {{"count", std::int64_t{100}}}}}},
      {"pick", {{"1 of 8", {{"channels", std::int64_t{8}}, {"channel", std::int64_t{3}}}}}},
      {"raw-source", {}},
      {"wav-source", {}},
      {"udp-source", {}},
      {"zmq-source", {}},
      {"soapy-source", {}},
      {"raw-sink", {}},
      {"wav-sink", {}},
      {"udp-sink", {}},
      {"zmq-sink", {}},
  };
  return all;
}

}  // namespace carillon::bench
