#include "base/loaded.hpp"

#include <dlfcn.h>

namespace carillon {

// Taken out from under what it has loaded itself, a library could not come again.
Loaded::Loaded(std::string file, const std::string& hint)
    : file_(std::move(file)),
      handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) why_ = "no " + file_ + "; " + hint;
}

void* Loaded::look_up(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace carillon
