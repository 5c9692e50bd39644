// What the imaginary radio (fake_soapy.cpp) does next, and what was asked of it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <vector>

namespace carillon::test {

struct FakeRadio {
  std::vector<int> script;  ///< what reads return: samples, or an error below 0
  int after = -1;           ///< and what when it is over
  std::string refuses;      ///< what fails: device, rate, frequency, gain, antenna or stream
  double rate_error = 0;
  bool has_time = false;
  long long skipped_by_overflow = 0;

  double rate = 0, frequency = 0, gain = -1;
  bool automatic_gain = false;
  std::string antenna;
  int open = 0;
  std::size_t calls = 0;
  long long next = 0;  ///< sample
};

/// The one in the library, which has to be loaded.
inline FakeRadio& fake_radio(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW);
  return *reinterpret_cast<FakeRadio* (*)()>(dlsym(handle, "fake_radio"))();
}

}  // namespace carillon::test
