// A radio for those who have none, loaded by its path in place of libSoapySDR: the functions of its
// C interface that are used. A sample is its own number.
#include "support/fake_soapy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

using carillon::test::FakeRadio;

namespace {

FakeRadio radio;
std::string error;

int done(const char* what) {
  error = "no such " + std::string(what);
  return radio.refuses == what ? -1 : 0;
}

}  // namespace

extern "C" {

FakeRadio* fake_radio() { return &radio; }

void* SoapySDRDevice_makeStrArgs(const char* arguments) {
  error = "no device matches";
  if (radio.refuses == "device" || std::strcmp(arguments, "driver=fake") != 0) return nullptr;
  ++radio.open;
  return &radio;
}
int SoapySDRDevice_unmake(void*) {
  --radio.open;
  return 0;
}
const char* SoapySDRDevice_lastError() { return error.c_str(); }
const char* SoapySDR_errToStr(int) { return "STREAM_ERROR"; }
int SoapySDRDevice_setSampleRate(void*, int, std::size_t, double rate) {
  radio.rate = rate + radio.rate_error;
  return done("rate");
}
double SoapySDRDevice_getSampleRate(const void*, int, std::size_t) { return radio.rate; }
int SoapySDRDevice_setFrequency(void*, int, std::size_t, double frequency, const void*) {
  radio.frequency = frequency;
  return done("frequency");
}
int SoapySDRDevice_setGain(void*, int, std::size_t, double gain) {
  radio.gain = gain;
  return done("gain");
}
int SoapySDRDevice_setGainMode(void*, int, std::size_t, bool automatic) {
  radio.automatic_gain = automatic;
  return 0;
}
bool SoapySDRDevice_hasGainMode(const void*, int, std::size_t) { return true; }
int SoapySDRDevice_setAntenna(void*, int, std::size_t, const char* name) {
  radio.antenna = name;
  return done("antenna");
}
void* SoapySDRDevice_setupStream(void*, int, const char*, const std::size_t*, std::size_t,
                                 const void*) {
  return done("stream") == 0 ? &radio : nullptr;
}
int SoapySDRDevice_activateStream(void*, void*, int, long long, std::size_t) { return 0; }
int SoapySDRDevice_deactivateStream(void*, void*, int, long long) { return 0; }
int SoapySDRDevice_closeStream(void*, void*) { return 0; }

int SoapySDRDevice_readStream(void*, void*, void* const* buffers, std::size_t count, int* flags,
                              long long* time_ns, long) {
  const std::size_t at = radio.calls++;
  const int step = at < radio.script.size() ? radio.script[at] : radio.after;
  *flags = radio.has_time ? 1 << 2 : 0;
  if (step < 0) {
    radio.next += radio.skipped_by_overflow;
    return step;
  }
  const auto given = static_cast<int>(std::min(count, static_cast<std::size_t>(step)));
  auto* const to = static_cast<float*>(buffers[0]);
  for (int i = 0; i < given; ++i) {
    to[2 * i] = static_cast<float>(radio.next + i);
    to[2 * i + 1] = -to[2 * i];
  }
  *time_ns = static_cast<long long>(1e9 * static_cast<double>(radio.next) / radio.rate);
  radio.next += given;
  return given;
}
}
