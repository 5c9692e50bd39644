// Samples from and to other programs, in ZeroMQ messages.
#include "dataflow/io/zmq.hpp"

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

std::vector<Parameter> parameters(bool binds) {
  return {{.name = "address",
           .text = "As ZeroMQ writes it: tcp://127.0.0.1:5555, ipc:///run/samples.",
           .kind = ParameterKind::Text},
          datatype_parameter(),
          {.name = "pattern",
           .text = "pub-sub goes to all who listen, push-pull to one, for whom it waits.",
           .kind = ParameterKind::Text,
           .standard = "pub-sub",
           .choices = {"pub-sub", "push-pull"}},
          {.name = "bind",
           .text = "That others connect to it, and not it to another.",
           .kind = ParameterKind::Flag,
           .standard = binds},
          buffer_parameter()};
}

ZmqPlan plan_of(const Values& values) {
  return {text(values, "address"), text(values, "pattern") == "push-pull", flag(values, "bind"),
          format_of(text(values, "datatype"))};
}

}  // namespace

BlockType zmq_source_type() {
  return {"zmq-source", "sources", "Receives samples in ZeroMQ messages, as GNU Radio sends them.",
          parameters(false), [](const Values& values) {
            const ZmqPlan plan = plan_of(values);
            return std::make_unique<DeviceSource>(plan.format.items, zmq_reader(plan),
                                                  buffer_samples(values));
          }};
}

BlockType zmq_sink_type() {
  return {"zmq-sink", "sinks", "Sends samples in ZeroMQ messages, as GNU Radio receives them.",
          parameters(true), [](const Values& values) {
            const ZmqPlan plan = plan_of(values);
            return std::make_unique<DeviceSink>(plan.format.items, zmq_writer(plan),
                                                buffer_samples(values));
          }};
}

}  // namespace carillon::dataflow
