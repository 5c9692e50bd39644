#include "dataflow/io/file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace carillon::dataflow {
namespace {

constexpr int kBetweenLooks_ms = 10;  // for somebody who reads a pipe

bool has_to_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

void File::open_to_read() {
  number_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (number_ < 0) fail_by_system(path_, errno);
  look();
}

void File::open_to_write() {
  number_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
  const int error = errno;
  struct stat about {};
  const bool waits =
      number_ < 0 && error == ENXIO && stat(path_.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
  if (waits) return;
  if (number_ < 0) fail_by_system(path_, error);
  look();
}

void File::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

void File::look() {
  struct stat about {};
  if (fstat(number_, &about) != 0) fail_by_system(path_, errno);
  if (S_ISDIR(about.st_mode)) fail_by_system(path_, EISDIR);
  is_plain_ = S_ISREG(about.st_mode);
}

std::uint64_t File::bytes() const {
  struct stat about {};
  if (fstat(number_, &about) != 0) fail_by_system(path_, errno);
  return static_cast<std::uint64_t>(about.st_size);
}

// A pipe that nobody has opened to write is at its end as read() sees it, but not as poll() does.
std::size_t File::read(std::span<std::byte> to, const Stop& stop) {
  while (true) {
    if (!is_plain_ && !stop.wait_for(number_, POLLIN)) return 0;
    const ssize_t got = ::read(number_, to.data(), to.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (!has_to_wait() && errno != EINTR) fail_by_system(path_, errno);
  }
}

void File::go_to(std::uint64_t byte) {
  if (lseek(number_, static_cast<off_t>(byte), SEEK_SET) < 0) fail_by_system(path_, errno);
}

std::size_t File::read_at(std::uint64_t byte, std::span<std::byte> to) const {
  const ssize_t got = pread(number_, to.data(), to.size(), static_cast<off_t>(byte));
  if (got < 0) fail_by_system(path_, errno);
  return static_cast<std::size_t>(got);
}

bool File::open_pipe(const Stop& stop) {
  while (number_ < 0 && !stop.is_asked()) {
    open_to_write();
    if (number_ < 0) stop.sleep(kBetweenLooks_ms);
  }
  return number_ >= 0;
}

void File::write(std::span<const std::byte> from, std::uint64_t& written, const Stop& stop) {
  if (!open_pipe(stop)) return;
  while (!from.empty()) {
    if (!is_plain_ && !stop.wait_for(number_, POLLOUT)) return;
    const ssize_t put = ::write(number_, from.data(), from.size());
    if (put < 0 && errno == EPIPE) throw std::runtime_error(path_ + ": who read it has closed it");
    if (put < 0 && !has_to_wait() && errno != EINTR) fail_by_system(path_, errno);
    if (put <= 0) continue;
    from = from.subspan(static_cast<std::size_t>(put));
    written += static_cast<std::size_t>(put);
  }
}

void File::write_at(std::uint64_t byte, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t put = pwrite(number_, from.data(), from.size(), static_cast<off_t>(byte));
    if (put < 0 && errno != EINTR) fail_by_system(path_, errno);
    if (put <= 0) continue;
    byte += static_cast<std::uint64_t>(put);
    from = from.subspan(static_cast<std::size_t>(put));
  }
}

void File::cut(std::uint64_t bytes) {
  if (ftruncate(number_, static_cast<off_t>(bytes)) != 0) fail_by_system(path_, errno);
}

}  // namespace carillon::dataflow
