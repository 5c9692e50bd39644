#include "dataflow/io/zmq_library.hpp"

#include "base/loaded.hpp"

namespace carillon::dataflow::zmq {

Library::Library() {
  Loaded loaded("libzmq.so.5", "apt install libzmq5");
  loaded.find(new_context, "zmq_ctx_new");
  loaded.find(end_context, "zmq_ctx_term");
  loaded.find(socket, "zmq_socket");
  loaded.find(close, "zmq_close");
  loaded.find(set, "zmq_setsockopt");
  loaded.find(bind, "zmq_bind");
  loaded.find(connect, "zmq_connect");
  loaded.find(send, "zmq_send");
  loaded.find(begin, "zmq_msg_init");
  loaded.find(receive, "zmq_msg_recv");
  loaded.find(data, "zmq_msg_data");
  loaded.find(size, "zmq_msg_size");
  loaded.find(more, "zmq_msg_more");
  loaded.find(end, "zmq_msg_close");
  loaded.find(poll, "zmq_poll");
  loaded.find(error, "zmq_errno");
  loaded.find(error_text, "zmq_strerror");
  why_ = loaded.why();
}

}  // namespace carillon::dataflow::zmq
