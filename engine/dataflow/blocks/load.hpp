// Blocks from shared libraries (library.hpp).
#pragma once

#include <string>
#include <vector>

namespace carillon::dataflow {

/// Adds a library's blocks to block_types(), and returns their names; it stays loaded. None of one
/// that is loaded already. Throws std::runtime_error that names the file: of what is no library, of
/// one for another engine, of blocks that cannot be added.
std::vector<std::string> load_blocks(const std::string& path);

}  // namespace carillon::dataflow
