// SoapySDR, loaded when it is asked for, so that neither its headers nor its library is needed to
// build.
#pragma once

#include <cstddef>
#include <string>

namespace carillon::dataflow::soapy {

// Of <SoapySDR/Device.h>, in the ABI 0.8.
inline constexpr int kReceive = 1;
inline constexpr int kTimeout = -1, kOverflow = -4;
inline constexpr int kHasTime = 1 << 2;

struct Device;
struct Stream;
struct Arguments;  ///< SoapySDRKwargs: none of ours has any

inline constexpr char kLibrary[] = "libSoapySDR.so.0.8";

/// The library's functions; stays loaded. It is another one in tests only.
class Library {
 public:
  explicit Library(const std::string& file = kLibrary);
  /// There is none, or it lacks something: in words, and what to do. Then nothing may be called.
  const std::string& why() const { return why_; }

  Device* (*make)(const char*) = nullptr;
  int (*unmake)(Device*) = nullptr;
  const char* (*last_error)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*set_rate)(Device*, int, std::size_t, double) = nullptr;
  double (*rate)(const Device*, int, std::size_t) = nullptr;
  int (*set_frequency)(Device*, int, std::size_t, double, const Arguments*) = nullptr;
  int (*set_gain)(Device*, int, std::size_t, double) = nullptr;
  int (*set_gain_mode)(Device*, int, std::size_t, bool) = nullptr;
  bool (*has_gain_mode)(const Device*, int, std::size_t) = nullptr;
  int (*set_antenna)(Device*, int, std::size_t, const char*) = nullptr;
  Stream* (*set_up)(Device*, int, const char*, const std::size_t*, std::size_t,
                    const Arguments*) = nullptr;
  int (*activate)(Device*, Stream*, int, long long, std::size_t) = nullptr;
  int (*read)(Device*, Stream*, void* const*, std::size_t, int*, long long*, long) = nullptr;
  int (*deactivate)(Device*, Stream*, int, long long) = nullptr;
  int (*close)(Device*, Stream*) = nullptr;

 private:
  std::string why_;
};

}  // namespace carillon::dataflow::soapy
