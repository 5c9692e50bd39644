#include "port/control_channel.hpp"

#include <utility>

namespace carillon::port {
namespace {

template <typename Each>
std::vector<Each> taken(std::deque<Each>& from) {
  std::vector<Each> all(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
  return all;
}

}  // namespace

void ControlChannel::grant(std::uint32_t frame, std::span<const std::uint32_t> list) {
  const std::lock_guard lock(mutex_);
  if (grants_.size() == kMostGrants) {
    remember_missed(grants_.front().frame);
    grants_.pop_front();
  }
  grants_.push_back({frame, {list.begin(), list.end()}});
}

std::optional<ControlChannel::Status> ControlChannel::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::vector<ControlChannel::Heard> ControlChannel::heard() {
  const std::lock_guard lock(mutex_);
  return taken(heard_);
}

std::vector<std::uint32_t> ControlChannel::missed() {
  const std::lock_guard lock(mutex_);
  return taken(missed_);
}

std::vector<ControlChannel::Grants> ControlChannel::grants() {
  const std::lock_guard lock(mutex_);
  return taken(grants_);
}

void ControlChannel::report(Status status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

void ControlChannel::hear(const Heard& heard) {
  const std::lock_guard lock(mutex_);
  if (heard_.size() == kMostHeard) heard_.pop_front();
  heard_.push_back(heard);
}

void ControlChannel::miss(std::uint32_t frame) {
  const std::lock_guard lock(mutex_);
  remember_missed(frame);
}

void ControlChannel::remember_missed(std::uint32_t frame) {
  if (missed_.size() == kMostGrants) missed_.pop_front();
  missed_.push_back(frame);
}

}  // namespace carillon::port
