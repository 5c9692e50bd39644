#include "fronthaul/gpu/verbs.hpp"

#include <dlfcn.h>

namespace carillon::fronthaul::gpu {

// libibverbs loads drivers that stay; taken out from under them it could not come again.
VerbsLibrary::VerbsLibrary(const std::string& file)
    : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), file_(file) {
  if (handle_ == nullptr)
    why_ = "no " + file + "; apt install libibverbs1 ibverbs-providers";
  else
    find_all();
}

template <typename Function>
void VerbsLibrary::find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
  if (function == nullptr && why_.empty()) why_ = file_ + " has no " + symbol;
}

void VerbsLibrary::find_all() {
  find(list, "ibv_get_device_list");
  find(free_list, "ibv_free_device_list");
  find(name, "ibv_get_device_name");
  find(open, "ibv_open_device");
  find(close, "ibv_close_device");
  find(query_device, "ibv_query_device");
  find(query_port, "ibv_query_port");
  find(query_gid, "ibv_query_gid");
  find(protect, "ibv_alloc_pd");
  find(unprotect, "ibv_dealloc_pd");
  find(by_address, "ibv_reg_mr");
  find(unregister, "ibv_dereg_mr");
  find(make_queue, "ibv_create_cq");
  find(destroy_queue, "ibv_destroy_cq");
  find(make_pair, "ibv_create_qp");
  find(modify_pair, "ibv_modify_qp");
  find(destroy_pair, "ibv_destroy_qp");
  find(status_text, "ibv_wc_status_str");
  by_dma_buf = reinterpret_cast<decltype(by_dma_buf)>(::dlsym(handle_, "ibv_reg_dmabuf_mr"));
}

Verbs look_for_verbs(const std::string& library) {
  Verbs found;
  found.library = library;
  const VerbsLibrary functions(library);
  found.why = functions.why();
  if (!found.why.empty()) return found;
  int count = 0;
  verbs::Device** const list = functions.list(&count);
  for (int i = 0; list != nullptr && i < count; ++i)
    found.devices.emplace_back(functions.name(list[i]));
  if (list != nullptr) functions.free_list(list);
  if (found.devices.empty())
    found.why =
        "libibverbs finds no RDMA device; a ConnectX-5 or newer with the driver mlx5_ib is one";
  return found;
}

}  // namespace carillon::fronthaul::gpu
