// A file in /dev/shm through which two processes meet. Each has a place in it, held by a lock which
// the system gives back when the process ends, however it ends: a place whose lock is free is
// nobody's, whatever process numbers say. Whoever comes or goes holds the door meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace carillon::fronthaul {

class ShmFile {
 public:
  static constexpr std::uint32_t kPlaces = 2;

  /// Without a name: nobody comes in. Throws std::runtime_error.
  ShmFile();
  /// Opens the file with the door held: it has the size that those have given it who are in it, or
  /// none and nobody in it, since what others left who are gone is replaced. Throws
  /// std::runtime_error when it is another user's, or when its door stays shut.
  explicit ShmFile(const std::string& name);
  /// Gives all places back; with the last one the name goes.
  ~ShmFile();
  ShmFile(ShmFile&& other) noexcept;
  ShmFile& operator=(ShmFile&&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t bytes() const;
  /// Whether anybody else holds a place.
  bool used() const;
  /// False when somebody else holds it.
  bool claim(std::uint32_t place);
  /// Others may come and go.
  void open_door();
  /// For messages.
  const std::string& path() const { return path_; }

 private:
  bool close_door();
  bool named() const;  // what has lost its name can be met by nobody
  void remove_name() const;

  std::string name_, path_;
  int descriptor_ = -1;
  bool door_ = false;
};

}  // namespace carillon::fronthaul
