// The key that both ends of a fronthaul share, in a file.
#pragma once

#include <string>

#include "fronthaul/siphash.hpp"

namespace carillon::fronthaul {

/// Of a file with 32 hexadecimal digits that its owner alone may read. Throws std::runtime_error:
/// "is 'FILE' but …" and what to do.
Key read_key(const std::string& file);

}  // namespace carillon::fronthaul
