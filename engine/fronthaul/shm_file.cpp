#include "fronthaul/shm_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace carillon::fronthaul {
namespace {

// A lock for each byte: the places, then the door.
constexpr off_t kDoor = ShmFile::kPlaces;
constexpr std::chrono::seconds kPatience{10};  // a segment of some GB takes one to make

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("fronthaul: " + what); }

// Of the open file, not of the process: two ends in one process are two, and that some other
// descriptor of the file is closed changes nothing.
bool lock(int descriptor, short type, off_t first, off_t count) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = first;
  range.l_len = count;
  return fcntl(descriptor, F_OFD_SETLK, &range) == 0;
}

// Its owner could read and change every sample.
[[noreturn]] void fail_foreign(const std::string& path) {
  fail(path + " belongs to another user: choose another fronthaul.shm_name");
}

bool held_by_another(int error) { return error == EAGAIN || error == EACCES; }

[[noreturn]] void fail_shut(const std::string& path, int error) {
  if (!held_by_another(error)) fail("cannot lock " + path + ": " + std::strerror(error));
  fail(path + " has been in the making for " + std::to_string(kPatience.count()) +
       " s: end the process that has it open, or choose another fronthaul.shm_name");
}

int open_own(const std::string& name, const std::string& path) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 && errno == EACCES) fail_foreign(path);
  if (descriptor < 0) fail("cannot open " + path + ": " + std::strerror(errno));
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  if (known && S_ISREG(status.st_mode) && status.st_uid == geteuid()) return descriptor;
  close(descriptor);
  if (known && S_ISREG(status.st_mode)) fail_foreign(path);
  fail(path + " is not a regular file: choose another fronthaul.shm_name");
}

}  // namespace

ShmFile::ShmFile()
    : path_("shared memory"), descriptor_(memfd_create("carillon-fronthaul", MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail(std::string("cannot make shared memory: ") + std::strerror(errno));
}

ShmFile::ShmFile(const std::string& name) : name_("/" + name), path_("/dev/shm" + name_) {
  for (;;) {
    descriptor_ = open_own(name_, path_);
    if (!close_door()) {
      const int error = errno;
      close(descriptor_);
      fail_shut(path_, error);
    }
    if (named()) {
      if (used() || bytes() == 0) return;
      remove_name();  // those who had it are gone
    }
    close(descriptor_);
    door_ = false;
  }
}

ShmFile::ShmFile(ShmFile&& other) noexcept
    : name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      door_(other.door_) {}

ShmFile::~ShmFile() {
  if (descriptor_ < 0) return;
  const bool alone = close_door();  // otherwise the next to come replaces it
  lock(descriptor_, F_UNLCK, 0, kPlaces);
  if (alone && named() && !used()) remove_name();
  lock(descriptor_, F_UNLCK, kDoor, 1);
  close(descriptor_);
}

std::size_t ShmFile::bytes() const {
  struct stat status {};
  fstat(descriptor_, &status);
  return static_cast<std::size_t>(status.st_size);
}

bool ShmFile::named() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && status.st_nlink > 0;
}

void ShmFile::remove_name() const { shm_unlink(name_.c_str()); }

bool ShmFile::used() const {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = kPlaces;
  return fcntl(descriptor_, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

bool ShmFile::claim(std::uint32_t place) { return lock(descriptor_, F_WRLCK, place, 1); }

void ShmFile::open_door() {
  lock(descriptor_, F_UNLCK, kDoor, 1);
  door_ = false;
}

// False when it cannot be had, or another process has held it all the time: no lock waits so long
// and no longer.
bool ShmFile::close_door() {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!door_ && !(door_ = lock(descriptor_, F_WRLCK, kDoor, 1))) {
    if (!held_by_another(errno) || std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace carillon::fronthaul
