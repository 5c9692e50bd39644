// Samples from and to other programs, in UDP datagrams.
#include <stdexcept>

#include "dataflow/blocks/types.hpp"
#include "dataflow/io/udp.hpp"

namespace carillon::dataflow {
namespace {

std::vector<Parameter> parameters(const char* of_address) {
  return {{.name = "address", .text = of_address, .kind = ParameterKind::Text},
          {.name = "port",
           .text = "UDP port.",
           .kind = ParameterKind::Whole,
           .least = 1,
           .most = 65535},
          datatype_parameter(),
          {.name = "header",
           .text = "What precedes the samples: nothing, or a number by which loss is seen.",
           .kind = ParameterKind::Text,
           .standard = "none",
           .choices = {"none", "sequence64"}},
          buffer_parameter()};
}

UdpPlan plan_of(const Values& values) {
  UdpPlan plan;
  plan.address = text(values, "address");
  plan.port = static_cast<std::uint16_t>(whole(values, "port"));
  plan.format = format_of(text(values, "datatype"));
  plan.is_numbered = text(values, "header") == "sequence64";
  return plan;
}

}  // namespace

BlockType udp_source_type() {
  return {"udp-source", "sources", "Receives samples in UDP datagrams; an empty one ends it.",
          parameters("Address of this machine; 0.0.0.0: all it has."), [](const Values& values) {
            const UdpPlan plan = plan_of(values);
            return std::make_unique<DeviceSource>(plan.format.items, udp_reader(plan),
                                                  buffer_samples(values));
          }};
}

BlockType udp_sink_type() {
  std::vector<Parameter> all = parameters("Where it sends to.");
  all.push_back({.name = "payload_bytes",
                 .text = "Of a datagram, its header included.",
                 .kind = ParameterKind::Whole,
                 .standard = std::int64_t{1472},
                 .unit = "bytes",
                 .least = 24,  // a header and the longest sample
                 .most = 65507});
  return {"udp-sink", "sinks", "Sends samples in UDP datagrams, and an empty one at its end.", all,
          [](const Values& values) {
            UdpPlan plan = plan_of(values);
            plan.payload_bytes = static_cast<std::size_t>(whole(values, "payload_bytes"));
            return std::make_unique<DeviceSink>(plan.format.items, udp_writer(plan),
                                                buffer_samples(values));
          }};
}

}  // namespace carillon::dataflow
