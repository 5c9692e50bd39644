#include "fronthaul/gpu/verbs.hpp"

#include "base/loaded.hpp"

namespace carillon::fronthaul::gpu {

VerbsLibrary::VerbsLibrary(const std::string& file) {
  Loaded loaded(file, "apt install libibverbs1 ibverbs-providers");
  loaded.find(list, "ibv_get_device_list");
  loaded.find(free_list, "ibv_free_device_list");
  loaded.find(name, "ibv_get_device_name");
  loaded.find(open, "ibv_open_device");
  loaded.find(close, "ibv_close_device");
  loaded.find(query_device, "ibv_query_device");
  loaded.find(query_port, "ibv_query_port");
  loaded.find(query_gid, "ibv_query_gid");
  loaded.find(protect, "ibv_alloc_pd");
  loaded.find(unprotect, "ibv_dealloc_pd");
  loaded.find(by_address, "ibv_reg_mr");
  loaded.find(unregister, "ibv_dereg_mr");
  loaded.find(make_queue, "ibv_create_cq");
  loaded.find(destroy_queue, "ibv_destroy_cq");
  loaded.find(make_pair, "ibv_create_qp");
  loaded.find(modify_pair, "ibv_modify_qp");
  loaded.find(destroy_pair, "ibv_destroy_qp");
  loaded.find(status_text, "ibv_wc_status_str");
  loaded.find_if_there(by_dma_buf, "ibv_reg_dmabuf_mr");
  why_ = loaded.why();
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
