#include "port/packer.hpp"

#include <algorithm>
#include <utility>

namespace carillon::port {
namespace {

constexpr std::uint8_t kCarries = 1;
constexpr std::uint16_t kNoStart = 0xffff;
constexpr std::size_t kShortest = 20;  // an IPv4 header

void write16(std::uint8_t* to, std::size_t value) {
  to[0] = static_cast<std::uint8_t>(value);
  to[1] = static_cast<std::uint8_t>(value >> 8);
}
std::uint16_t read16(const std::uint8_t* from) {
  return static_cast<std::uint16_t>(from[0] | from[1] << 8);
}

}  // namespace

bool Packer::push(std::span<const std::uint8_t> packet) {
  if (packet.size() < kShortest || packet.size() > 0xffff || waiting_ + packet.size() > room_)
    return false;
  std::vector<std::uint8_t> with_length(kPackLength + packet.size());
  write16(with_length.data(), packet.size());
  std::ranges::copy(packet, with_length.begin() + kPackLength);
  waiting_ += packet.size();
  packets_.push_back(std::move(with_length));
  return true;
}

bool Packer::fill(std::span<std::uint8_t> block) {
  if (empty() || block.size() <= kPackHeader + kPackLength) return false;
  before_ = place_;
  std::ranges::fill(block, std::uint8_t{0});
  block[0] = kCarries;
  write16(&block[2], number_);
  const std::span content = block.subspan(kPackHeader);
  std::size_t filled = 0, start = kNoStart;
  while (!empty() && content.size() - filled >= kPackLength) {
    const std::vector<std::uint8_t>& packet = packets_[next_];
    if (place_ == 0) start = std::min(start, filled);
    const std::size_t length = std::min(packet.size() - place_, content.size() - filled);
    std::copy_n(packet.begin() + static_cast<std::ptrdiff_t>(place_), length,
                content.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += length;
    place_ += length;
    if (place_ < packet.size()) break;
    ++next_;
    place_ = 0;
  }
  write16(&block[4], start);
  return true;
}

std::size_t Packer::sent() {
  ++number_;
  const std::size_t ended = next_;
  for (; next_ > 0; --next_) {
    waiting_ -= packets_.front().size() - kPackLength;
    packets_.pop_front();
  }
  return ended;
}

void Packer::unsent() {
  next_ = 0;
  place_ = before_;
}

void Unpacker::push(std::span<const std::uint8_t> block, const Deliver& deliver) {
  if (block.size() <= kPackHeader || block[0] != kCarries) return;
  const std::uint16_t number = read16(&block[2]);
  std::span<const std::uint8_t> content = block.subspan(kPackHeader);
  const std::size_t start = read16(&block[4]);
  if (!follows_ || number != next_) {
    // A packet that goes on here has lost its beginning; all is well again with the next one.
    abandon();
    follows_ = start < content.size();
    content = follows_ ? content.subspan(start) : content.first(0);
  }
  next_ = static_cast<std::uint16_t>(number + 1);
  while (!begun_.empty() || content.size() >= kPackLength) {
    if (begun_.empty()) {
      if (read16(content.data()) == 0) return;
      begun_.assign(content.begin(), content.begin() + kPackLength);
      content = content.subspan(kPackLength);
      if (read16(begun_.data()) < kShortest) {  // whatever follows
        follows_ = false;
        return abandon();
      }
    }
    const std::size_t lacking = kPackLength + read16(begun_.data()) - begun_.size();
    const std::size_t length = std::min(lacking, content.size());
    begun_.insert(begun_.end(), content.begin(),
                  content.begin() + static_cast<std::ptrdiff_t>(length));
    content = content.subspan(length);
    if (length < lacking) return;
    deliver(std::span<const std::uint8_t>(begun_).subspan(kPackLength));
    begun_.clear();
  }
}

void Unpacker::abandon() {
  broken_ += !begun_.empty();
  begun_.clear();
}

}  // namespace carillon::port
