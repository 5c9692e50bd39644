// AF_XDP sockets and the memory that they share with the kernel (Documentation/networking/af_xdp).
#pragma once

#include <linux/if_xdp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fronthaul/xdp/steering.hpp"

namespace carillon::fronthaul::xdp {

inline constexpr std::uint32_t kChunkBytes = 4096;  // a page, which no chunk may exceed

/// Memory of the kernel's or of ours, of whole pages.
class Pages {
 public:
  Pages() = default;
  /// Throws std::runtime_error. fd -1: of ours.
  Pages(std::size_t bytes, int fd, std::uint64_t offset);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// One side of a ring of T between the kernel and one thread at a time. We are its producer
/// (fill, send) or its consumer (completion, receive).
template <typename T>
class Ring {
 public:
  Ring(int fd, std::uint64_t page, const xdp_ring_offset& offsets, std::uint32_t size)
      : pages_(offsets.desc + std::size_t{size} * sizeof(T), fd, page),
        producer_(word(offsets.producer)),
        consumer_(word(offsets.consumer)),
        flags_(word(offsets.flags)),
        entries_(reinterpret_cast<T*>(pages_.data() + offsets.desc)),
        size_(size) {}

  /// As producer: entries that may be written, then hands on the first `count`.
  std::uint32_t room() const noexcept { return size_ - waiting(); }
  T& to_write(std::uint32_t i) noexcept { return entries_[(*producer_ + i) & (size_ - 1)]; }
  void submit(std::uint32_t count) noexcept {
    std::atomic_ref(*producer_).store(*producer_ + count, std::memory_order_release);
  }
  /// As consumer: entries that may be read, then gives back the first `count`.
  std::uint32_t waiting() const noexcept {
    return std::atomic_ref(*producer_).load(std::memory_order_acquire) -
           std::atomic_ref(*consumer_).load(std::memory_order_acquire);
  }
  const T& to_read(std::uint32_t i) const noexcept {
    return entries_[(*consumer_ + i) & (size_ - 1)];
  }
  void release(std::uint32_t count) noexcept {
    std::atomic_ref(*consumer_).store(*consumer_ + count, std::memory_order_release);
  }
  bool needs_wakeup() const noexcept {
    return (std::atomic_ref(*flags_).load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0;
  }

 private:
  std::uint32_t* word(std::uint64_t offset) const {
    return reinterpret_cast<std::uint32_t*>(pages_.data() + offset);
  }
  Pages pages_;
  std::uint32_t *producer_, *consumer_, *flags_;
  T* entries_;
  std::uint32_t size_;
};

/// A socket's file; it is closed after its rings.
struct XdpFile {
  XdpFile();
  Descriptor file;
};

/// One that has memory registered, fills it and sends from it. Sizes are powers of two.
struct Owner : XdpFile {
  /// `memory`: whole chunks from a page's begin. Throws std::runtime_error.
  Owner(std::byte* memory, std::uint32_t chunks, std::uint32_t headroom, std::uint32_t filled,
        std::uint32_t sending);
  Ring<std::uint64_t> fill, completion;
  Ring<xdp_desc> send;
};

/// One that receives.
struct Receiver {
  Receiver(int fd, std::uint32_t size);
  Ring<xdp_desc> ring;
};

/// Binds the owner to an interface's first queue; whether packets are received into its memory
/// without a copy.
bool bind_owner(int fd, const Interface& interface);
/// Binds another socket, which receives into the owner's memory.
void bind_beside(int fd, const Interface& interface, int owner);

}  // namespace carillon::fronthaul::xdp
