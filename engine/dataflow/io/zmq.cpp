#include "dataflow/io/zmq.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "dataflow/io/zmq_library.hpp"

namespace carillon::dataflow {
namespace {

constexpr int kAtOnce = 64;       // messages between looks at whether to end
constexpr int kLinger_ms = 1000;  // for what was sent and not fetched
constexpr std::size_t kMessageBytes = 1 << 15;

// A context and a socket of it, or none.
class Socket {
 public:
  explicit Socket(const ZmqPlan& plan) : plan_(plan) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  zmq::Library& library() { return library_; }
  void* get() const { return socket_; }
  std::string name() const { return "zmq " + plan_.address; }

  void open(int type) {
    if (!library_.why().empty()) throw std::runtime_error(name() + ": " + library_.why());
    context_ = library_.new_context();
    if (context_ == nullptr) fail();
    socket_ = library_.socket(context_, type);
    if (socket_ == nullptr) fail();
    const int linger_ms = type == zmq::kPush || type == zmq::kPub ? kLinger_ms : 0;
    library_.set(socket_, zmq::kLinger, &linger_ms, sizeof linger_ms);
    if (type == zmq::kSub) library_.set(socket_, zmq::kSubscribe, "", 0);
    const auto join = plan_.binds ? library_.bind : library_.connect;
    if (join(socket_, plan_.address.c_str()) != 0) fail();
  }

  void close() noexcept {
    if (socket_ != nullptr) library_.close(socket_);
    if (context_ != nullptr) library_.end_context(context_);
    socket_ = context_ = nullptr;
  }

  bool has_to_wait() const { return library_.error() == EAGAIN || library_.error() == EINTR; }
  [[noreturn]] void fail() const {
    throw std::runtime_error(name() + ": " + library_.error_text(library_.error()));
  }

  /// Stop::wait_for(), of sockets that have no file.
  bool wait_for(short events, const Stop& stop) const {
    std::array<zmq::PollItem, 2> items{zmq::PollItem{socket_, 0, events, 0},
                                       zmq::PollItem{nullptr, stop.file(), zmq::kPollIn, 0}};
    if (!stop.is_asked()) {
      library_.poll(items.data(), 2, -1);
      if (items[0].seen != 0) return true;
    }
    return stop.is_asked() && library_.poll(items.data(), 1, stop.patience_ms()) > 0;
  }

 private:
  ZmqPlan plan_;
  zmq::Library library_;
  void* context_ = nullptr;
  void* socket_ = nullptr;
};

// A message while it is looked at.
class Message {
 public:
  explicit Message(const zmq::Library& library) : library_(library) { library_.begin(&message_); }
  ~Message() { library_.end(&message_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  bool receive(void* socket) { return library_.receive(&message_, socket, zmq::kDontWait) >= 0; }
  bool has_more() const { return library_.more(&message_) != 0; }
  std::size_t bytes() const { return library_.size(&message_); }
  const std::byte* data() { return static_cast<const std::byte*>(library_.data(&message_)); }

 private:
  const zmq::Library& library_;
  zmq::Message message_{};
};

class ZmqReader final : public Reader {
 public:
  explicit ZmqReader(const ZmqPlan& plan) : plan_(plan), socket_(plan) {}

  void open() override { socket_.open(plan_.is_pushed ? zmq::kPull : zmq::kSub); }
  void close() noexcept override {
    message_.reset();
    socket_.close();
  }
  // A PUSH socket waits for its peer, a PUB socket does not.
  bool is_live() const noexcept override { return !plan_.is_pushed; }

  bool read(Feed& feed, const Stop& stop) override {
    for (int i = 0; i < kAtOnce; ++i) {
      if (taken_ < samples_ && !take(feed)) return true;
      message_.emplace(socket_.library());
      taken_ = samples_ = 0;
      if (message_->receive(socket_.get()))
        look();
      else if (!socket_.has_to_wait())
        socket_.fail();
      else if (!socket_.wait_for(zmq::kPollIn, stop))
        return true;
    }
    return true;
  }

  std::vector<Figure> figures() const override {
    return {{"messages", "", messages_.value()}, {"uneven messages", "", uneven_.value()}};
  }

 private:
  // Whole items in one part are samples; others were meant for somebody else.
  void look() {
    const bool is_part = within_parts_ || message_->has_more();
    within_parts_ = message_->has_more();
    if (within_parts_) return;
    messages_.add(1);
    const std::size_t item = plan_.format.item_bytes();
    if (is_part || message_->bytes() % item != 0)
      uneven_.add(1);
    else
      samples_ = message_->bytes() / item;
  }

  // False: there is no room for the rest.
  bool take(Feed& feed) {
    const std::byte* const from = message_->data() + taken_ * plan_.format.item_bytes();
    taken_ += feed.put(plan_.format, from, samples_ - taken_);
    if (taken_ == samples_) return true;
    if (!is_live()) return false;
    feed.lost(samples_ - taken_);
    taken_ = samples_;
    return true;
  }

  ZmqPlan plan_;
  Socket socket_;
  std::optional<Message> message_;
  std::size_t samples_ = 0, taken_ = 0;  // of the message
  bool within_parts_ = false;
  Count messages_, uneven_;
};

class ZmqWriter final : public Writer {
 public:
  explicit ZmqWriter(const ZmqPlan& plan) : plan_(plan), socket_(plan), bytes_(kMessageBytes) {}

  std::string name() const override { return socket_.name(); }
  void open() override { socket_.open(plan_.is_pushed ? zmq::kPush : zmq::kPub); }
  void close(const Stop&) override { socket_.close(); }

  std::size_t write(const float* from, std::size_t samples, const Stop& stop) override {
    const std::size_t item = plan_.format.item_bytes();
    samples = std::min(samples, kMessageBytes / item);
    const std::uint64_t clipped =
        encode(plan_.format, from, bytes_.data(), samples * floats_of(plan_.format.items));
    while (socket_.library().send(socket_.get(), bytes_.data(), samples * item, zmq::kDontWait) < 0)
      if (!socket_.has_to_wait())
        socket_.fail();
      else if (!socket_.wait_for(zmq::kPollOut, stop))
        return 0;
    clipped_.add(clipped);
    messages_.add(1);
    return samples;
  }

  std::vector<Figure> figures() const override {
    return {{"messages", "", messages_.value()}, {"clipped", "numbers", clipped_.value()}};
  }

 private:
  ZmqPlan plan_;
  Socket socket_;
  std::vector<std::byte> bytes_;
  Count messages_, clipped_;
};

}  // namespace

std::unique_ptr<Reader> zmq_reader(const ZmqPlan& plan) {
  return std::make_unique<ZmqReader>(plan);
}
std::unique_ptr<Writer> zmq_writer(const ZmqPlan& plan) {
  return std::make_unique<ZmqWriter>(plan);
}

}  // namespace carillon::dataflow
