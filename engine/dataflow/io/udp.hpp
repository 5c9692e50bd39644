// Samples in UDP datagrams, with or without a number before them as GNU Radio's have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/io/sink.hpp"
#include "dataflow/io/source.hpp"

namespace carillon::dataflow {

/// Follows the numbers of datagrams.
class Sequence {
 public:
  /// How many are missing before this one; nothing: it comes too late to be used. A number that is
  /// far off is that of a sender that began anew.
  std::optional<std::uint64_t> follow(std::uint64_t number) noexcept;

 private:
  std::optional<std::uint64_t> next_;
};

struct UdpPlan {
  std::string address;
  std::uint16_t port = 0;
  Format format;
  bool is_numbered = false;          ///< 64 bits, little-endian, before the samples
  std::size_t payload_bytes = 1472;  ///< of a datagram, its number included
};

/// An empty datagram ends it.
std::unique_ptr<Reader> udp_reader(const UdpPlan& plan);
std::unique_ptr<Writer> udp_writer(const UdpPlan& plan);

}  // namespace carillon::dataflow
