#include "support/fake_cudart.hpp"

#include <algorithm>
#include <cstring>

#include "support/test.hpp"

namespace carillon::test {
namespace {

FakeCudart* the_one = nullptr;

const char* name(FakeCudart::Kind kind) {
  switch (kind) {
    case FakeCudart::Kind::Stream: return "stream";
    case FakeCudart::Kind::Event: return "event";
    case FakeCudart::Kind::Memory: return "memory of a device";
    case FakeCudart::Kind::Pinned: return "pinned memory";
    case FakeCudart::Kind::Registered: return "registered memory";
  }
  return "";
}

std::uintptr_t number(const void* what) { return reinterpret_cast<std::uintptr_t>(what); }

}  // namespace

FakeCudart& FakeCudart::the() { return *the_one; }

FakeCudart::FakeCudart(std::uint16_t devices, std::uint64_t seed, Options options)
    : ImaginaryDevices(devices, seed), options_(std::move(options)) {
  the_one = this;
  current = 0;
  last_error = 0;
}

FakeCudart::~FakeCudart() {
  for (const auto& [at, thing] : things_)
    if (thing.there) complain(std::string(name(thing.kind)) + " is left at the end");
  for (const std::string& what : complaints_) ADD_FAILURE() << what;
  the_one = nullptr;
}

std::size_t FakeCudart::things() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(things_, [](const auto& each) { return each.second.there; }));
}

std::vector<int> FakeCudart::priorities(std::uint16_t device) const {
  std::map<std::uint32_t, int> found;
  for (const auto& [at, thing] : things_)
    if (thing.there && thing.kind == Kind::Stream && thing.device == device)
      found.emplace(thing.order, thing.priority);
  std::vector<int> priorities;
  for (const auto& [order, priority] : found) priorities.push_back(priority);
  return priorities;
}

std::vector<cuda::Device> FakeCudart::devices() const {
  std::vector<cuda::Device> devices(count());
  for (std::uint16_t d = 0; d < count(); ++d) devices[d].index = d;
  return devices;
}

void FakeCudart::note(const void* what, Thing thing) {
  thing.order = static_cast<std::uint32_t>(things_.size());
  things_[number(what)] = thing;
}

void* FakeCudart::new_stream(std::uint16_t device, int priority) {
  Orders* const stream = &make_stream(device);
  note(stream, {.kind = Kind::Stream, .device = device, .priority = priority});
  return stream;
}

void* FakeCudart::new_event(std::uint16_t device) {
  Event* const event = events_.emplace_back(std::make_unique<Event>(Event{.device = device})).get();
  note(event, {.kind = Kind::Event, .device = device});
  return event;
}

// It begins as garbage.
void* FakeCudart::new_memory(Kind kind, std::uint16_t device, std::size_t bytes) {
  std::byte* const data = memory_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  std::memset(data, 0x5a, bytes);
  note(data, {.kind = kind, .device = device, .bytes = bytes});
  return data;
}

const FakeCudart::Thing* FakeCudart::find(const void* what, Kind kind) {
  const auto at = things_.find(number(what));
  if (at != things_.end() && at->second.kind == kind && at->second.there) return &at->second;
  complain(std::string("no ") + name(kind) +
           (at != things_.end() && at->second.kind == kind ? " any more" : ""));
  return nullptr;
}

bool FakeCudart::end(const void* what, Kind kind) {
  if (find(what, kind) == nullptr) return false;
  things_[number(what)].there = false;
  return true;
}

const FakeCudart::Thing* FakeCudart::reach(const void* at, std::size_t bytes) const {
  auto next = things_.upper_bound(number(at));
  if (next == things_.begin()) return nullptr;
  const auto& [begin, thing] = *--next;
  return thing.there && number(at) + bytes <= begin + thing.bytes ? &thing : nullptr;
}

FakeCudart::Orders* FakeCudart::stream(cuda::Stream stream) {
  return find(stream, Kind::Stream) == nullptr ? nullptr : reinterpret_cast<Orders*>(stream);
}

FakeCudart::Event* FakeCudart::event(CUevent_st* event) {
  return find(event, Kind::Event) == nullptr ? nullptr : reinterpret_cast<Event*>(event);
}

}  // namespace carillon::test
