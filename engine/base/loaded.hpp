// Functions of a library that is loaded at run time, and stays.
#pragma once

#include <string>

namespace carillon {

class Loaded {
 public:
  /// `hint`: what to do where there is none.
  Loaded(std::string file, const std::string& hint);
  /// Empty: everything asked for is there.
  const std::string& why() const { return why_; }

  template <typename Function>
  void find(Function& function, const char* symbol) {
    find_if_there(function, symbol);
    if (function == nullptr && why_.empty()) why_ = file_ + " has no " + symbol;
  }
  /// Null where the library is one without it.
  template <typename Function>
  void find_if_there(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(look_up(symbol));
  }

 private:
  void* look_up(const char* symbol) const;

  std::string file_, why_;
  void* handle_;
};

}  // namespace carillon
