#include "dataflow/io/soapy_library.hpp"

#include "base/loaded.hpp"

namespace carillon::dataflow::soapy {

Library::Library(const std::string& file) {
  Loaded loaded(file, "apt install libsoapysdr0.8, and the module of your device");
  loaded.find(make, "SoapySDRDevice_makeStrArgs");
  loaded.find(unmake, "SoapySDRDevice_unmake");
  loaded.find(last_error, "SoapySDRDevice_lastError");
  loaded.find(error_text, "SoapySDR_errToStr");
  loaded.find(set_rate, "SoapySDRDevice_setSampleRate");
  loaded.find(rate, "SoapySDRDevice_getSampleRate");
  loaded.find(set_frequency, "SoapySDRDevice_setFrequency");
  loaded.find(set_gain, "SoapySDRDevice_setGain");
  loaded.find(set_gain_mode, "SoapySDRDevice_setGainMode");
  loaded.find(has_gain_mode, "SoapySDRDevice_hasGainMode");
  loaded.find(set_antenna, "SoapySDRDevice_setAntenna");
  loaded.find(set_up, "SoapySDRDevice_setupStream");
  loaded.find(activate, "SoapySDRDevice_activateStream");
  loaded.find(read, "SoapySDRDevice_readStream");
  loaded.find(deactivate, "SoapySDRDevice_deactivateStream");
  loaded.find(close, "SoapySDRDevice_closeStream");
  why_ = loaded.why();
}

}  // namespace carillon::dataflow::soapy
