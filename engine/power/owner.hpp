// Which process something belongs to, so that another one with its number is not taken for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace carillon::power {

/// A number alone is used again; number, start and boot are not.
struct Owner {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after the boot, /proc/PID/stat's field 22
  std::string boot;         ///< /proc/sys/kernel/random/boot_id

  static Owner self();
  bool same_boot() const;
  /// Whether it still runs; one that ended and was not waited for does not.
  bool lives() const;
};

}  // namespace carillon::power
