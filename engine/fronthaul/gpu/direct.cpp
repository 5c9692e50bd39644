#include "fronthaul/gpu/direct.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

namespace carillon::fronthaul::gpu {
namespace {

// Of <infiniband/verbs.h>, which need not be there: functions with stable names, of pointers that
// we only pass on.
constexpr int kLocalWrite = 1, kRemoteWrite = 2;  // IBV_ACCESS_…

class Library {
 public:
  Library() : handle_(::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      why_ = "no libibverbs.so.1; apt install libibverbs1 ibverbs-providers";
      return;
    }
    find(list, "ibv_get_device_list");
    find(free_list, "ibv_free_device_list");
    find(name, "ibv_get_device_name");
    find(open, "ibv_open_device");
    find(close, "ibv_close_device");
    find(protect, "ibv_alloc_pd");
    find(unprotect, "ibv_dealloc_pd");
    find(by_address, "ibv_reg_mr");
    find(unregister, "ibv_dereg_mr");
    by_dma_buf = reinterpret_cast<decltype(by_dma_buf)>(::dlsym(handle_, "ibv_reg_dmabuf_mr"));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  const std::string& why() const { return why_; }

  void** (*list)(int*) = nullptr;
  void (*free_list)(void**) = nullptr;
  const char* (*name)(void*) = nullptr;
  void* (*open)(void*) = nullptr;
  int (*close)(void*) = nullptr;
  void* (*protect)(void*) = nullptr;
  int (*unprotect)(void*) = nullptr;
  void* (*by_address)(void*, void*, std::size_t, int) = nullptr;
  int (*unregister)(void*) = nullptr;
  void* (*by_dma_buf)(void*, std::uint64_t, std::size_t, std::uint64_t, int, int) = nullptr;

 private:
  template <typename Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    if (function == nullptr) why_ = std::string("libibverbs.so.1 has no ") + symbol;
  }

  void* handle_;
  std::string why_;
};

std::string failed(const std::string& what) {
  return what + ": " + (errno != 0 ? std::strerror(errno) : "no reason given");
}

std::string register_on(const Library& verbs, void* opened, void* memory, std::size_t bytes,
                        int dma_buf) {
  constexpr int kAccess = kLocalWrite | kRemoteWrite;
  if (dma_buf >= 0 && verbs.by_dma_buf == nullptr)
    return "this libibverbs knows no dma-buf; version 34 (rdma-core) or newer does";
  errno = 0;
  void* const domain = verbs.protect(opened);
  if (domain == nullptr) return failed("a protection domain");
  errno = 0;
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
  void* const region = dma_buf >= 0 ? verbs.by_dma_buf(domain, 0, bytes, address, dma_buf, kAccess)
                                    : verbs.by_address(domain, memory, bytes, kAccess);
  std::string why;
  if (region == nullptr)
    why = failed("registering GPU memory");
  else if (verbs.unregister(region) != 0)
    why = failed("giving GPU memory back");
  (void)verbs.unprotect(domain);
  return why;
}

}  // namespace

Verbs look_for_verbs() {
  Verbs found;
  const Library verbs;
  found.why = verbs.why();
  if (!found.why.empty()) return found;
  int count = 0;
  void** const list = verbs.list(&count);
  for (int i = 0; list != nullptr && i < count; ++i)
    found.devices.emplace_back(verbs.name(list[i]));
  if (list != nullptr) verbs.free_list(list);
  if (found.devices.empty())
    found.why =
        "libibverbs finds no RDMA device; a ConnectX-5 or newer with the driver mlx5_ib is one";
  return found;
}

std::string register_for_writes(const std::string& verbs_device, void* memory, std::size_t bytes,
                                int dma_buf) {
  const Library verbs;
  if (!verbs.why().empty()) return verbs.why();
  int count = 0;
  void** const list = verbs.list(&count);
  std::string why = "no RDMA device is called " + verbs_device;
  for (int i = 0; list != nullptr && i < count; ++i) {
    if (verbs_device != verbs.name(list[i])) continue;
    errno = 0;
    void* const opened = verbs.open(list[i]);
    why = opened == nullptr ? failed("opening " + verbs_device)
                            : register_on(verbs, opened, memory, bytes, dma_buf);
    if (opened != nullptr) (void)verbs.close(opened);
    break;
  }
  if (list != nullptr) verbs.free_list(list);
  return why;
}

}  // namespace carillon::fronthaul::gpu
