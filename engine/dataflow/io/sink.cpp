#include "dataflow/io/sink.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace carillon::dataflow {
namespace {

// Without any progress; who reads slowly has all the time in the world.
constexpr int kPatience_ms = 1000;

std::string whole_text(double value) { return std::to_string(static_cast<std::uint64_t>(value)); }

}  // namespace

DeviceSink::DeviceSink(Items items, std::unique_ptr<Writer> writer, std::uint64_t buffer_samples)
    : Block({{{items}}, {}}),
      items_(items),
      writer_(std::move(writer)),
      buffer_samples_(buffer_samples) {}

// What finds no room is lost, and counted: no graph gives it but for a device that takes no more.
void DeviceSink::execute(const float* const* in, float*, std::size_t count) noexcept {
  const std::size_t fits = std::min<std::size_t>(count, samples_ ? samples_->room() : 0);
  lost_.add(count - fits);
  for (Tag tag : tags_in) {
    tag.position += position_;
    if (!tags_.add(tag)) lost_tags_.add(1);
  }
  position_ += fits;
  if (fits == 0) return;
  std::memcpy(samples_->place(), *in, fits * floats_of(items_) * sizeof(float));
  samples_->write(fits);
}

void DeviceSink::start() {
  writer_->open();
  samples_ = std::make_unique<Ring>(floats_of(items_) * sizeof(float), buffer_samples_, 1);
  thread_.start("sink", [this](const Stop& stop) { move(stop); });
}

void DeviceSink::move(const Stop& stop) {
  try {
    write_all(stop);
  } catch (const std::exception& error) {
    thread_.fail(std::string(error.what()) + "; " + whole_text(written_.value()) +
                 " samples were written");
  }
  try {
    hand_tags();
    writer_->close(stop);
  } catch (const std::exception& error) {
    thread_.fail(error.what());
  }
}

void DeviceSink::write_all(const Stop& stop) {
  while (true) {
    const bool last = stop.is_asked();  // what was there before that is seen below
    hand_tags();
    const std::uint64_t there = samples_->available(0);
    if (there == 0 && last) return;
    if (there > 0) {
      const auto* const from = reinterpret_cast<const float*>(samples_->items(0));
      const std::size_t taken = writer_->write(from, there, stop);
      samples_->take(0, taken);
      written_.add(taken);
      if (taken == 0 && stop.is_asked()) return;
    }
    if (samples_->room() > samples_->capacity() / 2) stop.sleep(kNap_ms);
  }
}

void DeviceSink::hand_tags() {
  while (const auto tag = tags_.next(std::numeric_limits<std::uint64_t>::max())) writer_->tag(*tag);
}

// A device that takes no more holds up no graph.
std::uint64_t DeviceSink::ready() noexcept {
  if (thread_.has_ended()) return std::numeric_limits<std::uint64_t>::max();
  return samples_ ? samples_->room() : 0;
}

void DeviceSink::finish() {
  thread_.stop(kPatience_ms);
  if (samples_) {
    lost_.add(samples_->available(0));
    samples_->take(0, samples_->available(0));
  }
  std::string why = failure();
  if (why.empty() && lost_.value() > 0)
    why = writer_->name() + " takes no more: " + whole_text(written_.value()) +
          " samples were written, " + whole_text(lost_.value()) + " were not";
  if (!why.empty()) throw std::runtime_error(why);
}

std::vector<Figure> DeviceSink::figures() const {
  std::vector<Figure> all = writer_->figures();
  all.push_back({"written", "samples", written_.value()});
  if (lost_.value() > 0) all.push_back({"lost", "samples", lost_.value()});
  if (lost_tags_.value() > 0) all.push_back({"lost tags", "", lost_tags_.value()});
  return all;
}

}  // namespace carillon::dataflow
