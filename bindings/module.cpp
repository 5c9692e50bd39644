#include "bindings.hpp"

NB_MODULE(core, core) {
  core.doc() = "Carillon's engine: kernels, link simulation, plans. engine/ says what each does.";
  core.attr("version") = CARILLON_VERSION;
  carillon::bindings::bind_base(core);
}
