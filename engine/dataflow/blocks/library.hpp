// Blocks in a shared library of their own (docs/own-blocks.md): CARILLON_BLOCKS once in one of its
// sources.
#pragma once

#include <vector>

#include "dataflow/blocks/type.hpp"

// Of the engine's version and of these headers; the target carillon::blocks defines it.
#ifndef CARILLON_BLOCK_INTERFACE
#error "link with carillon::blocks of find_package(carillon)"
#endif
#if !defined(__GLIBCXX__) || !_GLIBCXX_USE_CXX11_ABI || defined(_GLIBCXX_DEBUG)
#error "compile blocks as the engine is: with libstdc++, its C++11 strings and plain containers"
#endif

/// The library's blocks, as a list of BlockType.
#define CARILLON_BLOCKS(...)                                                                \
  extern "C" __attribute__((visibility("default"))) const char carillon_block_interface[] = \
      CARILLON_BLOCK_INTERFACE;                                                             \
  extern "C" __attribute__((visibility("default"))) void carillon_block_types(              \
      std::vector<carillon::dataflow::BlockType>& types) {                                  \
    types = {__VA_ARGS__};                                                                  \
  }
