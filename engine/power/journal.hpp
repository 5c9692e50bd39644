// What was found in files before they were changed, on disk, so that it can be put back: at the
// end, or by the next process where this one was killed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "power/files.hpp"
#include "power/owner.hpp"

namespace carillon::power {

/// What could not be put back.
struct Unrestored {
  std::string path, was, is, why;
};
/// "devices/…/scaling_governor: is powersave instead of ondemand: Permission denied; …"
std::string to_text(const Unrestored& file);

struct Restored {
  std::size_t files = 0;  ///< that had been changed
  std::vector<Unrestored> failed;
};

/// Whether a file is one of those that may be changed; a journal that names others is refused.
bool may_change(const std::string& path);

/// Where the journal of a sysfs lies: of /sys in /run/carillon, or without permission in the user's
/// own folder of /run ($XDG_RUNTIME_DIR); beside any other tree, as TREE.journal.
std::filesystem::path journal_of(const std::filesystem::path& sysfs);

class Journal {
 public:
  /// `sysfs`: the root that the journal says it is of. Changes nothing yet.
  Journal(Files& files, std::filesystem::path file, const std::filesystem::path& sysfs);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();  // restores

  /// Restores what a process that ended left. Throws Refused while it lives, and for a journal that
  /// is damaged or of another sysfs.
  Restored restore_left();
  /// The same, and takes control: until restore() nobody else gets it.
  Restored take();
  /// Reads files that are about to be changed, and returns when their contents are on disk. Those
  /// that are known already keep their first contents. Throws Refused for one that cannot be read.
  void keep(const std::vector<std::string>& paths);
  /// Puts all back, the last first, and gives control up. Goes on past what fails; that stays in
  /// the journal for the next start, unless the file has vanished.
  Restored restore();

 private:
  struct Kept {
    std::string path, text;
  };

  bool read();
  void parse(const std::string& text);
  void write() const;
  void write_or_remove() const;
  Restored restore_dead();
  Restored put_back();
  std::vector<Unrestored> put_back_once();

  Files& files_;
  std::filesystem::path file_, sysfs_;
  Owner owner_;
  std::vector<Kept> kept_;
  bool taken_ = false;
};

}  // namespace carillon::power
