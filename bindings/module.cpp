#include "bindings.hpp"

NB_MODULE(core, core) {
  core.doc() = "Carillon's engine: kernels, link simulation, plans. engine/ says what each does.";
  core.attr("version") = CARILLON_VERSION;
  carillon::bindings::bind_base(core);
  carillon::bindings::bind_plan(core);
  carillon::bindings::bind_link(core);
  carillon::bindings::bind_kernels(core);
  carillon::bindings::bind_virtual_run(core);
  carillon::bindings::bind_calibration(core);
  carillon::bindings::bind_pool(core);
  carillon::bindings::bind_ingest(core);
  carillon::bindings::bind_gpu_run(core);
  carillon::bindings::bind_dataflow(core);
  carillon::bindings::bind_dsp(core);
  carillon::bindings::bind_blocks(core);
  carillon::bindings::bind_flowgraph_run(core);
  carillon::bindings::bind_power(core);
  carillon::bindings::bind_power_governor(core);
  carillon::bindings::bind_clocks(core);
  carillon::bindings::bind_net(core);
}
