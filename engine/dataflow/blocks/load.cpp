#include "dataflow/blocks/load.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "dataflow/blocks/library.hpp"

namespace carillon::dataflow {
namespace {

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error(path + ": " + why);
}

Library opened(const std::string& path) {
  // With a folder: without one it would be looked for among the system's.
  const std::string place = std::filesystem::absolute(path);
  Library library(dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library) return library;
  std::string_view why = dlerror();
  if (why.starts_with(place + ": ")) why.remove_prefix(place.size() + 2);
  fail(path, "cannot be loaded: " + std::string(why));
}

}  // namespace

std::vector<std::string> load_blocks(const std::string& path) {
  static std::vector<void*> loaded;  // for ever: block_types() has functions of theirs
  Library library = opened(path);
  if (std::ranges::find(loaded, library.get()) != loaded.end()) return {};
  const auto* const interface =
      static_cast<const char*>(dlsym(library.get(), "carillon_block_interface"));
  const auto fill = reinterpret_cast<void (*)(std::vector<BlockType>&)>(
      dlsym(library.get(), "carillon_block_types"));
  if (interface == nullptr || fill == nullptr)
    fail(path, "has no blocks: CARILLON_BLOCKS is in none of its sources");
  if (interface != std::string_view(CARILLON_BLOCK_INTERFACE))
    fail(path, "was built for carillon " + std::string(interface) + ", and this is " +
                   CARILLON_BLOCK_INTERFACE + "; build it again with this one's headers");
  std::vector<std::string> names;
  try {
    std::vector<BlockType> types;
    fill(types);
    add_block_types(types);
    for (const BlockType& type : types) names.push_back(type.name);
  } catch (const std::exception& error) {
    fail(path, error.what());
  }
  loaded.push_back(library.release());
  return names;
}

}  // namespace carillon::dataflow
