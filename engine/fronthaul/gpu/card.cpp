#include "fronthaul/gpu/card.hpp"

#include <cerrno>
#include <cstring>

namespace carillon::fronthaul::gpu {

using namespace verbs;

std::string failed(const std::string& what, int error) {
  std::string why = what + ": " + (error != 0 ? std::strerror(error) : "no reason given");
  if (error == EACCES) why += "; may you read and write /dev/infiniband/uverbs*?";
  if (error == EPERM) why += "; root may, or who has CAP_NET_RAW and /dev/infiniband/uverbs*";
  if (error == ENOMEM) why += "; raise the limit of locked memory (ulimit -l)";
  return why;
}

std::uint64_t address_of(const void* memory) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
}

OpenCard::OpenCard(const Card& card, std::uint8_t port)
    : library_(card.library), name_(card.name), why_(library_.why()) {
  if (!why_.empty()) return;
  open(card.name);
  if (context_ == nullptr || !find_port(port)) return;
  errno = 0;
  domain_ = {library_.protect(context_.get()), library_.unprotect};
  if (domain_ == nullptr) why_ = failed("a protection domain on " + name_, errno);
}

void OpenCard::open(const std::string& name) {
  int count = 0;
  Device** const list = library_.list(&count);
  why_ = "no RDMA device is called " + name;
  for (int i = 0; list != nullptr && i < count; ++i) {
    if (name != library_.name(list[i])) continue;
    errno = 0;
    context_ = {library_.open(list[i]), library_.close};
    why_ = context_ == nullptr ? failed("opening " + name, errno) : "";
    break;
  }
  if (list != nullptr) library_.free_list(list);
}

bool OpenCard::find_port(std::uint8_t wanted) {
  if (const int error = library_.query_device(context_.get(), &limits_); error != 0) {
    why_ = failed("asking " + name_ + " for its limits", error);
    return false;
  }
  for (std::uint8_t number = 1; number <= limits_.ports; ++number) {
    PortState state{};
    if ((wanted != 0 && number != wanted) ||
        library_.query_port(context_.get(), number, &state) != 0 || state.state != kPortActive)
      continue;
    port_ = number;
    state_ = state;
    return true;
  }
  why_ = (wanted == 0 ? "no port of " + name_ + " is active"
                      : "port " + std::to_string(wanted) + " of " + name_ + " is not active") +
         "; plug in a cable and set its link up (ip link)";
  return false;
}

Owned<Region> OpenCard::give(const char* what, void* memory, std::size_t bytes, int rights,
                             int dma_buf, std::string& why) {
  if (dma_buf >= 0 && library_.by_dma_buf == nullptr) {
    why = "this libibverbs knows no dma-buf; version 34 (rdma-core) or newer does";
    return {nullptr, nullptr};
  }
  errno = 0;
  Owned<Region> region{dma_buf >= 0 ? library_.by_dma_buf(domain_.get(), 0, bytes,
                                                          address_of(memory), dma_buf, rights)
                                    : library_.by_address(domain_.get(), memory, bytes, rights),
                       library_.unregister};
  if (region == nullptr) why = failed(std::string("registering ") + what + " with " + name_, errno);
  return region;
}

Owned<CompletionQueue> OpenCard::make_queue(std::uint32_t room, std::string& why) {
  errno = 0;
  Owned<CompletionQueue> queue{
      library_.make_queue(context_.get(), static_cast<int>(room), nullptr, nullptr, 0),
      library_.destroy_queue};
  if (queue == nullptr) why = failed("a completion queue on " + name_, errno);
  return queue;
}

Owned<QueuePair> OpenCard::make_pair(QueuePairPlan& plan, std::string& why) {
  errno = 0;
  Owned<QueuePair> pair{library_.make_pair(domain_.get(), &plan), library_.destroy_pair};
  if (pair == nullptr) why = failed("a queue pair on " + name_, errno);
  return pair;
}

std::string OpenCard::modify(QueuePair* pair, const char* to, QueuePairState& state,
                             int mask) const {
  const int error = library_.modify_pair(pair, &state, mask);
  if (error == 0) return {};
  return failed("a queue pair of " + name_ + " cannot " + to, error > 0 ? error : errno);
}

}  // namespace carillon::fronthaul::gpu
