// Samples of radios that SoapySDR has drivers for.
#include "dataflow/io/soapy.hpp"

#include <stdexcept>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

SoapyPlan plan_of(const Values& values) {
  SoapyPlan plan;
  plan.device = text(values, "device");
  plan.rate_hz = number(values, "rate_hz");
  plan.frequency_hz = number(values, "frequency_hz");
  plan.antenna = text(values, "antenna");
  plan.channel = static_cast<std::size_t>(whole(values, "channel"));
  const double gain_db = number(values, "gain_db");
  if (!flag(values, "automatic_gain"))
    plan.gain_db = gain_db;
  else if (gain_db != 0)
    throw std::invalid_argument("gain_db: not with automatic_gain; set that to false");
  return plan;
}

}  // namespace

BlockType soapy_source_type() {
  return {"soapy-source",
          "sources",
          "Samples of a radio that SoapySDR has a driver for.",
          {{.name = "device",
            .text = "SoapySDR's arguments, as in driver=rtlsdr; SoapySDRUtil --find lists them.",
            .kind = ParameterKind::Text},
           {.name = "frequency_hz",
            .text = "At the centre.",
            .unit = "Hz",
            .least = 0,
            .most = 1e12,
            .changes = true},
           rate_parameter(),
           {.name = "automatic_gain",
            .text = "That the device sets its gain by itself.",
            .kind = ParameterKind::Flag,
            .standard = true},
           {.name = "gain_db",
            .text = "Without automatic_gain.",
            .standard = 0.0,
            .unit = "dB",
            .least = -200,
            .most = 200},
           {.name = "antenna",
            .text = "One of the device's; empty: its usual one.",
            .kind = ParameterKind::Text,
            .standard = std::string()},
           {.name = "channel",
            .text = "One of the device's.",
            .kind = ParameterKind::Whole,
            .standard = std::int64_t{0},
            .least = 0,
            .most = 255},
           buffer_parameter()},
          [](const Values& values) {
            return std::make_unique<DeviceSource>(Items::Complex, soapy_reader(plan_of(values)),
                                                  buffer_samples(values));
          }};
}

}  // namespace carillon::dataflow
