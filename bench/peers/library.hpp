// A shared library that may or may not be there.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace carillon::bench {

class Library {
 public:
  /// The first of these that can be loaded, its symbols its own: several peers export the same
  /// names. It stays loaded.
  explicit Library(std::initializer_list<std::string> names) {
    for (const std::string& name : names)
      if ((handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)) != nullptr)
        return;
  }

  explicit operator bool() const { return handle_ != nullptr; }

  /// Sets a function pointer; throws std::runtime_error when the library lacks the name.
  template <typename Function>
  void bind(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw std::runtime_error(std::string("no such symbol: ") + name);
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace carillon::bench
