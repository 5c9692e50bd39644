// What a CUDA call said. Whoever gets one looks at it: an error is the device's failure, which a
// scheduler can live with.
#pragma once

#include <string>

struct CUstream_st;

namespace carillon::cuda {

using Stream = CUstream_st*;  // cudaStream_t; null: the default stream

class [[nodiscard]] Status {
 public:
  Status() = default;
  /// cudaError_t
  explicit Status(int code) : code_(code) {}
  bool ok() const { return code_ == 0; }
  int code() const { return code_; }
  /// The name of the error and what it means.
  std::string text() const;

 private:
  int code_ = 0;
};

/// Of what has been ordered and is not done: cudaErrorNotReady.
inline const Status kNotReady(600);
/// Of everything that needs a device in a program built without nvcc: cudaErrorNotSupported.
inline const Status kNotBuilt(801);

}  // namespace carillon::cuda
