// Samples in ZeroMQ messages, as GNU Radio's stream blocks have them: items, and nothing else.
#pragma once

#include <memory>
#include <string>

#include "dataflow/io/sink.hpp"
#include "dataflow/io/source.hpp"

namespace carillon::dataflow {

struct ZmqPlan {
  std::string address;     ///< tcp://127.0.0.1:5555
  bool is_pushed = false;  ///< PUSH to PULL, which waits for whom it serves; else PUB to SUB
  bool binds = false;      ///< that others connect to it
  Format format;
};

std::unique_ptr<Reader> zmq_reader(const ZmqPlan& plan);
std::unique_ptr<Writer> zmq_writer(const ZmqPlan& plan);

}  // namespace carillon::dataflow
