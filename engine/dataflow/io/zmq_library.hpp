// ZeroMQ, loaded when it is asked for, so that neither its header nor its library is needed to
// build.
#pragma once

#include <cstddef>
#include <string>

namespace carillon::dataflow::zmq {

// Of <zmq.h>, in the stable ABI of libzmq.so.5.
inline constexpr int kPub = 1, kSub = 2, kPull = 7, kPush = 8;
inline constexpr int kSubscribe = 6, kLinger = 17;
inline constexpr int kDontWait = 1;
inline constexpr short kPollIn = 1, kPollOut = 2;

struct PollItem {
  void* socket;
  int file;
  short events, seen;
};
struct alignas(void*) Message {
  unsigned char opaque[64];
};

/// The library's functions; stays loaded.
class Library {
 public:
  Library();
  /// There is none, or it lacks something: in words, and what to do. Then nothing may be called.
  const std::string& why() const { return why_; }

  void* (*new_context)() = nullptr;
  int (*end_context)(void*) = nullptr;
  void* (*socket)(void*, int) = nullptr;
  int (*close)(void*) = nullptr;
  int (*set)(void*, int, const void*, std::size_t) = nullptr;
  int (*bind)(void*, const char*) = nullptr;
  int (*connect)(void*, const char*) = nullptr;
  int (*send)(void*, const void*, std::size_t, int) = nullptr;
  int (*begin)(Message*) = nullptr;
  int (*receive)(Message*, void*, int) = nullptr;
  void* (*data)(Message*) = nullptr;
  std::size_t (*size)(const Message*) = nullptr;
  int (*more)(const Message*) = nullptr;
  int (*end)(Message*) = nullptr;
  int (*poll)(PollItem*, int, long) = nullptr;
  int (*error)() = nullptr;
  const char* (*error_text)(int) = nullptr;

 private:
  std::string why_;
};

}  // namespace carillon::dataflow::zmq
