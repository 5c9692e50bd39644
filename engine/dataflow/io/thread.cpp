#include "dataflow/io/thread.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

const char* hint_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "; make room, or write to another disk";
    case EFBIG: return "; files may be no larger here (ulimit -f)";
    case EADDRINUSE: return "; another program has it, so end that or take another port";
    case EADDRNOTAVAIL: return "; this machine has no such address";
    case EACCES: return "; may you read and write there?";
    case EMFILE: return "; ulimit -n 1024 allows more";
    default: return "";
  }
}

}  // namespace

std::string of_system(const std::string& what, int error) {
  return what + ": " + std::generic_category().message(error) + hint_of(error);
}

void fail_by_system(const std::string& what, int error) {
  throw std::runtime_error(of_system(what, error));
}

Stop::Stop() : file_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "a thread of a device");
}

Stop::~Stop() { close(file_); }

void Stop::ask(int patience_ms) noexcept {
  patience_ms_.store(patience_ms, std::memory_order_release);
  const std::uint64_t one = 1;
  // Fails only when it is as good as asked already.
  [[maybe_unused]] const auto written = write(file_, &one, sizeof one);
}

bool Stop::wait_for(int file, short events, int most_ms) const noexcept {
  std::array<pollfd, 2> files{pollfd{file, events, 0}, pollfd{file_, POLLIN, 0}};
  if (!is_asked()) {
    if (poll(files.data(), 2, most_ms) <= 0) return false;
    if (files[0].revents != 0) return true;
  }
  return is_asked() && poll(files.data(), 1, patience_ms()) > 0;
}

void Stop::sleep(int ms) const noexcept {
  pollfd own{file_, POLLIN, 0};
  poll(&own, 1, ms);
}

void IoThread::start(const std::string& name, std::function<void(const Stop&)> body) {
  if (thread_.joinable() || has_ended()) throw std::runtime_error("it was started before");
  thread_ = std::thread([this, name, body = std::move(body)] {
    // Signals are for the program's own threads; a broken pipe is seen where it is written to.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    name_thread(name);
    try {
      body(stop_);
    } catch (const std::exception& error) {
      fail(error.what());
    }
    ended_.store(true, std::memory_order_release);
  });
}

void IoThread::stop(int patience_ms) noexcept {
  stop_.ask(patience_ms);
  if (thread_.joinable()) thread_.join();
}

std::string IoThread::failure() const {
  const std::lock_guard locked(lock_);
  return failure_;
}

void IoThread::fail(const std::string& why) {
  const std::lock_guard locked(lock_);
  if (failure_.empty()) failure_ = why;
}

}  // namespace carillon::dataflow
