#include <cstdlib>
#include <filesystem>

#include "peers/loaders.hpp"

namespace carillon::bench {
namespace {

// A module lies beside the program, one for each instruction set that its compiler was given.
Peer load_module(const std::string& name) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peers";
  const bool wide = available_isas().back() != Isa::Avx2;
  const Library module{folder / ("carillon-peer-" + name + (wide ? "-v4.so" : "-v3.so"))};
  if (!module) return {};
  Peer (*load)() = nullptr;
  module.bind(load, "carillon_peer");
  return load();
}

std::vector<Known> load_all() {
  // Everything is measured on one core.
  for (const char* name : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"})
    setenv(name, "1", 1);
  setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
  const std::string build = "; then touch bench/CMakeLists.txt and ./carillon setup";
  return {
      {"Armadillo", "apt install libarmadillo-dev libopenblas-dev" + build,
       load_module("armadillo")},
      {"Eigen", "apt install libeigen3-dev" + build, load_module("eigen")},
      {"FFTW", "apt install libfftw3-single3", load_fftw()},
      {"MKL", ".tools/uv/bin/uv pip install --python .venv mkl", load_mkl()},
  };
}

}  // namespace

const std::vector<Known>& known_peers() {
  static const std::vector<Known> all = load_all();
  return all;
}

}  // namespace carillon::bench
