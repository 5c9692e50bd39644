// A cell's data port at a Unix socket: one client at a time, messages of their own length
// (SOCK_SEQPACKET), in order, none lost on the way. A thread of ordinary priority serves it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "dataflow/io/thread.hpp"
#include "port/exchange.hpp"
#include "port/message.hpp"

namespace carillon::port {

struct SocketCounters {
  std::uint64_t clients = 0;                              // that were served
  std::uint64_t sent = 0, unheard = 0;                    // blocks; nobody was there for the others
  std::array<std::uint64_t, kRefusals.size()> refused{};  // messages, by Refusal
};

class SocketPort {
 public:
  /// Listens at `path`, which its owner alone may connect to; a socket that nobody listens at any
  /// more makes room. Frame and exchange outlive this. Throws std::runtime_error naming the path.
  SocketPort(const std::string& path, const frame::Frame& frame, Exchange& exchange);
  ~SocketPort();

  /// Sends what has come, as far as the client takes it at once, and ends.
  void finish();
  /// Any thread.
  SocketCounters counters() const noexcept;

 private:
  // A message under way to the client, in pieces.
  struct Outgoing {
    Message message;
    std::span<const std::uint8_t> bytes;
    bool done = true;
  };

  void serve(const dataflow::Stop& stop);
  void wait(const dataflow::Stop& stop);
  bool welcome();
  void greet();
  void hear();
  void answer(std::span<const std::uint8_t> datagram);
  Refusal schedule(const Message& message, std::span<const std::uint8_t> rows);
  void answer_work(std::uint32_t frame);
  void refuse(Message message, Refusal why, std::string_view because = {});
  bool speak();
  bool tell_frame();
  bool send_piece(Outgoing& outgoing);
  void part() noexcept;

  const std::string path_;
  const frame::Frame& frame_;
  Exchange& exchange_;
  const std::vector<BlockRow> rows_;
  Descriptor listener_, client_;
  const std::pair<dev_t, ino_t> identity_;  // of the socket's name
  std::vector<std::uint8_t> received_, sent_;
  Outgoing carrier_, block_, work_;
  std::vector<BlockRow> work_rows_;
  std::optional<Exchange::Begun> begun_;  // that the client is still to be told of
  bool full_ = false;                     // the client does not take more now
  std::atomic<std::uint64_t> clients_{0}, unheard_{0}, blocks_sent_{0};
  std::array<std::atomic<std::uint64_t>, kRefusals.size()> refused_{};
  dataflow::IoThread thread_;
};

}  // namespace carillon::port
