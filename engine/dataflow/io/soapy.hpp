// Radios that SoapySDR has drivers for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dataflow/io/soapy_library.hpp"
#include "dataflow/io/source.hpp"

namespace carillon::dataflow {

struct SoapyPlan {
  std::string device;  ///< SoapySDR's arguments: "driver=rtlsdr"
  double rate_hz = 0, frequency_hz = 0;
  std::optional<double> gain_db;  ///< none: the device sets it by itself
  std::string antenna;            ///< empty: the device's usual one
  std::size_t channel = 0;
  std::string library = soapy::kLibrary;
};

std::unique_ptr<Reader> soapy_reader(const SoapyPlan& plan);

}  // namespace carillon::dataflow
