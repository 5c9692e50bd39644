// The runtime's functions themselves.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "support/fake_cudart.hpp"

namespace carillon::test {
namespace {

using Thing = FakeCudart::Thing;
using Kind = FakeCudart::Kind;
using Orders = FakeCudart::Orders;

FakeCudart& its() { return FakeCudart::the(); }

// As what a call returns, which cudaGetLastError tells once more.
cudaError_t told(cudaError_t error) {
  if (error != cudaSuccess) FakeCudart::last_error = error;
  return error;
}
cudaError_t told(const cuda::Status& status) {
  return told(static_cast<cudaError_t>(status.code()));
}
cudaError_t wrong(cudaError_t error, const std::string& what) {
  its().complain(what);
  return told(error);
}

// Handles that there are not have been complained of.
constexpr cudaError_t kNoHandle = cudaErrorInvalidResourceHandle;

// What is destroyed is gone, whatever the call says.
cudaError_t destroy(const void* what, Kind kind, std::uint16_t device) {
  if (!its().end(what, kind)) return told(kNoHandle);
  return told(its().lost(device) ? cuda::Status(FakeCudart::kLost) : cuda::Status());
}

template <typename Handle>
cudaError_t make(Handle* handle, auto&& made) {
  const cuda::Status taken = its().take(FakeCudart::current);
  if (taken.ok()) *handle = static_cast<Handle>(made());
  return told(taken);
}

// Of a stream's own device and with a word that it reaches; else what the driver would say.
CUresult refusal(const Orders* stream, CUdeviceptr word) {
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Thing* const memory = its().reach(reinterpret_cast<void*>(word), 4);
  if (stream->device != FakeCudart::current)
    its().complain("a word of a stream whose device is not the current one");
  else if (word % 4 != 0)
    its().complain("a word that is not aligned");
  else if (memory == nullptr || memory->kind != Kind::Pinned)
    its().complain("a word outside pinned memory");
  else
    return CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}

// Memory may have been freed since the order was given.
std::uint32_t* still_there(CUdeviceptr word) {
  static std::uint32_t elsewhere;
  auto* const at = reinterpret_cast<std::uint32_t*>(word);
  if (its().reach(at, 4) != nullptr) return at;
  its().complain("a stream uses a word that has been freed");
  return &elsewhere;
}

CUresult write_value(CUstream on, CUdeviceptr word, cuuint32_t value, unsigned flags) {
  Orders* const stream = its().stream(on);
  if (const CUresult no = refusal(stream, word); no != CUDA_SUCCESS) return no;
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT) its().complain("flags of a write");
  return static_cast<CUresult>(
      its().give(*stream, {.work = [word, value] { *still_there(word) = value; }}).code());
}

CUresult wait_value(CUstream on, CUdeviceptr word, cuuint32_t value, unsigned flags) {
  Orders* const stream = its().stream(on);
  if (const CUresult no = refusal(stream, word); no != CUDA_SUCCESS) return no;
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) its().complain("flags of a wait");
  return static_cast<CUresult>(
      its()
          .give(*stream,
                {.may = [word, value] { return FakeCudart::reached(*still_there(word), value); }})
          .code());
}

struct Rows {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch, bytes, rows;
};

// Between memory of devices and pinned memory: from any other the call would wait, or fail.
cudaError_t copy(const Rows& rows, cudaMemcpyKind kind, cudaStream_t on) {
  Orders* const stream = its().stream(on);
  if (stream == nullptr) return told(kNoHandle);
  if (kind != cudaMemcpyDefault) its().complain("a copy that says from where to where");
  if (rows.bytes > rows.to_pitch || rows.bytes > rows.from_pitch)
    return wrong(cudaErrorInvalidPitchValue, "rows longer than their pitch");
  const Thing* const to = its().reach(rows.to, (rows.rows - 1) * rows.to_pitch + rows.bytes);
  const Thing* const from = its().reach(rows.from, (rows.rows - 1) * rows.from_pitch + rows.bytes);
  if (to == nullptr || from == nullptr)
    return wrong(cudaErrorInvalidValue, "a copy outside of what streams reach");
  const bool other = from->kind == Kind::Memory && from->device != stream->device;
  return told(its().give(
      *stream, {.work =
                    [rows] {
                      for (std::size_t r = 0; r < rows.rows; ++r)
                        std::memcpy(static_cast<std::byte*>(rows.to) + r * rows.to_pitch,
                                    static_cast<const std::byte*>(rows.from) + r * rows.from_pitch,
                                    rows.bytes);
                    },
                .reads = other ? from->device : FakeCudart::kNobody}));
}

}  // namespace

cuda::Status FakeCudart::add(cuda::Stream stream, std::function<void()> work, std::uint16_t reads) {
  const Orders* const on = this->stream(stream);
  if (on == nullptr) return cuda::Status(kNoHandle);
  if (on->device != FakeCudart::current) {
    complain("a launch on a stream whose device is not the current one");
    return cuda::Status(kNoHandle);
  }
  return cuda::Status(told(ImaginaryDevices::add(stream, std::move(work), reads)));
}

}  // namespace carillon::test

using namespace carillon::test;

extern "C" {

// Of the machine.

const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }
const char* cudaGetErrorString(cudaError_t) { return "an imaginary one"; }
cudaError_t cudaGetLastError() {
  const auto last = static_cast<cudaError_t>(FakeCudart::last_error);
  if (!its().lost(FakeCudart::current)) FakeCudart::last_error = cudaSuccess;
  return last;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = its().count();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "imaginary");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= its().count())
    return wrong(cudaErrorInvalidDevice, "a device that there is not");
  const auto index = static_cast<std::uint16_t>(device);
  const carillon::cuda::Status taken = its().take(index);
  const bool silent = its().lost(index) && its().perhaps();
  if (taken.ok() || silent) FakeCudart::current = index;
  return silent ? cudaSuccess : told(taken);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = its().options().greatest;
  return told(its().take(FakeCudart::current));
}
cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned flags) {
  const auto to = static_cast<std::uint16_t>(device);
  if (to >= its().count() || to == FakeCudart::current || flags != 0)
    return wrong(cudaErrorInvalidDevice, "access to no other device");
  if (!its().options().peers) return told(cudaErrorPeerAccessUnsupported);
  if (const auto taken = its().take(FakeCudart::current); !taken.ok()) return told(taken);
  return told(its().let_reach(FakeCudart::current, to) ? cudaSuccess
                                                       : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceSynchronize() {
  while (!its().lost(FakeCudart::current) && !its().idle(FakeCudart::current))
    if (!its().step()) return wrong(cudaErrorUnknown, "a device is waited for without end");
  return told(its().lost(FakeCudart::current) ? carillon::cuda::Status(FakeCudart::kLost)
                                              : carillon::cuda::Status());
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  constexpr unsigned kSince = 11070;  // those that need not be enabled
  const std::string name = symbol;
  *function = name == "cuStreamWriteValue32"  ? reinterpret_cast<void*>(&write_value)
              : name == "cuStreamWaitValue32" ? reinterpret_cast<void*>(&wait_value)
                                              : nullptr;
  if (version < kSince || name == its().options().missing) *function = nullptr;
  *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

// Streams and events.

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags != cudaStreamNonBlocking) its().complain("a stream that the default one blocks");
  if (priority > 0 || priority < its().options().greatest) its().complain("no such priority");
  return make(stream, [&] { return its().new_stream(FakeCudart::current, priority); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Orders* const of = its().stream(stream);
  if (of == nullptr) return told(kNoHandle);
  if (!of->orders.empty()) its().complain("a stream is destroyed that is not done");
  return destroy(stream, Kind::Stream, of->device);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Orders* const of = its().stream(stream);
  if (of == nullptr) return told(kNoHandle);
  if (const auto taken = its().take(of->device); !taken.ok()) return told(taken);
  return told(of->orders.empty() ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  Orders* const on = its().stream(stream);
  const auto* const of = its().event(event);
  if (on == nullptr || of == nullptr) return told(kNoHandle);
  if (flags != cudaEventWaitDefault) its().complain("flags of a wait");
  return told(its().wait_for(*of, *on));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (flags != cudaEventDisableTiming) its().complain("flags of an event");
  return make(event, [] { return its().new_event(FakeCudart::current); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const auto* const of = its().event(event);
  return of == nullptr ? told(kNoHandle) : destroy(event, Kind::Event, of->device);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Orders* const on = its().stream(stream);
  auto* const of = its().event(event);
  if (on == nullptr || of == nullptr) return told(kNoHandle);
  if (on->device != of->device) return wrong(kNoHandle, "an event on another device's stream");
  return told(its().record(*of, *on));
}

// Memory.

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return make(data, [&] { return its().new_memory(Kind::Memory, FakeCudart::current, bytes); });
}
cudaError_t cudaFree(void* data) { return destroy(data, Kind::Memory, FakeCudart::current); }
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  if (flags != (cudaHostAllocPortable | cudaHostAllocMapped))
    its().complain("pinned memory that not every device reaches");
  return make(data, [&] { return its().new_memory(Kind::Pinned, FakeCudart::current, bytes); });
}
cudaError_t cudaFreeHost(void* data) { return destroy(data, Kind::Pinned, FakeCudart::current); }
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
  if (flags != (cudaHostRegisterPortable | cudaHostRegisterMapped))
    its().complain("registered memory that not every device reaches");
  if (const auto taken = its().take(FakeCudart::current); !taken.ok()) return told(taken);
  its().note(data, {.kind = Kind::Registered, .device = FakeCudart::current, .bytes = bytes});
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* data) {
  return destroy(data, Kind::Registered, FakeCudart::current);
}
cudaError_t cudaHostGetDevicePointer(void** theirs, void* data, unsigned) {
  if (its().find(data, Kind::Registered) == nullptr) return told(cudaErrorInvalidValue);
  *theirs = data;
  return told(its().take(FakeCudart::current));
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  if (its().reach(data, bytes) == nullptr)
    return wrong(cudaErrorInvalidValue, "memory that no stream reaches");
  if (const auto taken = its().take(FakeCudart::current); !taken.ok()) return told(taken);
  std::memset(data, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const void* const theirs = kind == cudaMemcpyHostToDevice ? to : from;
  if (its().reach(theirs, bytes) == nullptr)
    return wrong(cudaErrorInvalidValue, "memory that no stream reaches");
  if (const auto taken = its().take(FakeCudart::current); !taken.ok()) return told(taken);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy({to, bytes, from, bytes, bytes, 1}, kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t bytes, std::size_t rows,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy({to, to_pitch, from, from_pitch, bytes, rows}, kind, stream);
}

// Graphs are not imitated.

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return told(cudaErrorNotSupported);
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return told(cudaErrorNotSupported); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return told(cudaErrorNotSupported);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return told(cudaErrorNotSupported); }
cudaError_t cudaGraphDestroy(cudaGraph_t) { return told(cudaErrorNotSupported); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return told(cudaErrorNotSupported); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return told(cudaErrorNotSupported); }

}  // extern "C"
