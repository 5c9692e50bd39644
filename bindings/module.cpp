#include "bindings.hpp"

NB_MODULE(core, core) {
  core.doc() = "Carillon's engine: kernels, link simulation, plans. See engine/ for what each does.";
  core.attr("__version__") = CARILLON_VERSION;
  carillon::bindings::bind_base(core);
}
