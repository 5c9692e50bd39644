#include "dataflow/io/loaded.hpp"

#include <dlfcn.h>

namespace carillon::dataflow {

// Taken out from under what it has loaded itself, a library could not come again.
Loaded::Loaded(std::string file, const std::string& hint)
    : file_(std::move(file)),
      handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) why_ = "no " + file_ + "; " + hint;
}

void* Loaded::look_up(const char* symbol) {
  void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
  if (found == nullptr && why_.empty()) why_ = file_ + " has no " + symbol;
  return found;
}

}  // namespace carillon::dataflow
