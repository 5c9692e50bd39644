#include "dataflow/io/source.hpp"

#include <algorithm>
#include <cstring>

namespace carillon::dataflow {

bool TagRing::add(const Tag& tag) noexcept {
  if (ring_.room() == 0) return false;
  std::memcpy(ring_.place(), &tag, sizeof tag);
  ring_.write(1);
  return true;
}

std::optional<Tag> TagRing::next(std::uint64_t end) noexcept {
  if (ring_.available(0) == 0) return std::nullopt;
  Tag tag;
  std::memcpy(&tag, ring_.items(0), sizeof tag);
  if (tag.position >= end) return std::nullopt;
  ring_.take(0, 1);
  return tag;
}

void Feed::wrote(std::size_t samples) noexcept {
  // What finds no room among the tags is told of at a later sample, with what is lost until there.
  if (samples > 0 && lost_ > 0 && tag({0, TagKind::Overflow, static_cast<double>(lost_), {}}))
    lost_ = 0;
  samples_.write(samples);
}

std::size_t Feed::put(const Format& format, const std::byte* from, std::size_t samples) noexcept {
  const std::size_t fits = std::min(samples, room());
  decode(format, from, place(), fits * floats_);
  wrote(fits);
  return fits;
}

void Feed::lost(std::uint64_t samples) noexcept {
  lost_ += samples;
  all_lost_.add(samples);
}

bool Feed::tag(Tag tag) noexcept {
  tag.position = samples_.written();
  return tags_.add(tag);
}

DeviceSource::DeviceSource(Items items, std::unique_ptr<Reader> reader,
                           std::uint64_t buffer_samples)
    : Block({{}, Output{items}}), reader_(std::move(reader)), buffer_samples_(buffer_samples) {}

// More than ready() are zeros, and counted: no graph asks for them.
void DeviceSource::execute(const float* const*, float* out, std::size_t count) noexcept {
  const std::size_t there = feed_ ? std::min<std::size_t>(count, ready()) : 0;
  std::fill(out + writes(there), out + writes(count), 0.0F);
  missing_.add(count - there);
  if (there == 0) return;
  Ring& ring = feed_->samples_;
  const std::uint64_t begin = ring.read(0);
  std::memcpy(out, ring.items(0), writes(there) * sizeof(float));
  while (std::optional<Tag> tag = feed_->tags_.next(begin + there)) {
    tag->position -= begin;
    tags_out.add(*tag);
  }
  ring.take(0, there);
}

void DeviceSource::start() {
  reader_->open();
  feed_ = std::make_unique<Feed>(ports().output->items, buffer_samples_);
  thread_.start("source", [this](const Stop& stop) { move(stop); });
}

void DeviceSource::move(const Stop& stop) {
  const bool waits = !reader_->is_live();
  while (!stop.is_asked()) {
    if (waits && feed_->is_half_full()) stop.sleep(kNap_ms);
    if (waits && feed_->room() == 0) continue;
    if (!reader_->read(*feed_, stop)) break;
  }
}

std::uint64_t DeviceSource::ready() noexcept { return feed_ ? feed_->samples_.available(0) : 0; }

// What the thread wrote before its end is seen by a ready() after this.
bool DeviceSource::over() noexcept { return thread_.has_ended(); }

void DeviceSource::finish() {
  thread_.stop(0);
  reader_->close();
  if (const std::string why = failure(); !why.empty()) throw std::runtime_error(why);
}

std::vector<Figure> DeviceSource::figures() const {
  std::vector<Figure> all = reader_->figures();
  if (reader_->is_live()) all.push_back({"lost", "samples", feed_ ? feed_->all_lost() : 0});
  if (missing_.value() > 0) all.push_back({"executed too early", "samples", missing_.value()});
  return all;
}

Parameter buffer_parameter() {
  return {.name = "buffer_samples",
          .text = "Room between its device and the graph.",
          .kind = ParameterKind::Whole,
          .standard = std::int64_t{1} << 20,
          .unit = "samples",
          .least = 1,
          .most = 1 << 28};
}

std::uint64_t buffer_samples(const Values& values) {
  return static_cast<std::uint64_t>(whole(values, "buffer_samples"));
}

}  // namespace carillon::dataflow
