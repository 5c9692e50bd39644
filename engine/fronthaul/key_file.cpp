#include "fronthaul/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace carillon::fronthaul {
namespace {

constexpr std::size_t kDigits = 2 * sizeof(Key);

std::string make_one(const std::string& name) {
  return "make one: (umask 077; python3 -c 'import secrets; print(secrets.token_hex(16))' > " +
         name + ")";
}

struct File {
  // A named pipe without a writer does not hold us up.
  explicit File(const std::string& name)
      : fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  const int fd;
};

bool parse(std::string_view text, Key& key) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.size() != kDigits) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char* const digits = text.data() + 2 * i;
    std::uint8_t value = 0;
    const auto result = std::from_chars(digits, digits + 2, value, 16);
    if (result.ec != std::errc() || result.ptr != digits + 2) return false;
    key[i] = std::byte{value};
  }
  return true;
}

}  // namespace

Key read_key(const std::string& name) {
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error("is '" + name + "' but " + what);
  };
  const File file(name);
  struct stat about {};
  if (file.fd < 0 || ::fstat(file.fd, &about) != 0)
    fail(std::string("that cannot be read: ") + std::strerror(errno) + "; " + make_one(name));
  if (!S_ISREG(about.st_mode)) fail("must be a regular file");
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail("its owner alone may have access to it; chmod 600 " + name);
  std::array<char, kDigits + 3> text{};  // one more than a key and the end of its line
  const ssize_t length = ::read(file.fd, text.data(), text.size());
  Key key{};
  const bool whole = length >= 0 && static_cast<std::size_t>(length) < text.size();
  if (!whole || !parse({text.data(), static_cast<std::size_t>(length)}, key))
    fail("must hold 32 hexadecimal digits and nothing else; " + make_one(name));
  return key;
}

}  // namespace carillon::fronthaul
