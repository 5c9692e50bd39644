// Round trips over a network (engine/fronthaul/round_trips.hpp).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "base/thread.hpp"
#include "bindings.hpp"
#include "fronthaul/link.hpp"
#include "fronthaul/round_trips.hpp"
#include "fronthaul/veth.hpp"

namespace carillon::bindings {

namespace {

using fronthaul::Echo;
using fronthaul::RoundTripPlan;
using fronthaul::RoundTrips;
using fronthaul::UdpOptions;
using fronthaul::UdpTransport;
using fronthaul::VirtualCable;
using Result = nb::typed<nb::dict, nb::str, nb::any>;

fronthaul::UdpIo io_of(const std::string& name) {
  fronthaul::UdpIo io{};
  require(detail::read_value(name, io).empty(), "there is no such way; fronthaul.io lists them");
  return io;
}

// One end of a link, and the thread that uses it.
class NetEnd {
 public:
  NetEnd(const std::string& io, const std::string& address, const std::string& peer,
         std::uint32_t packet_bytes, std::uint32_t socket_packets, std::uint16_t port,
         const VirtualCable* cable, std::size_t end) {
    UdpOptions options;
    options.io = io_of(io);
    options.address = address;
    options.ports = {port};
    options.peer_address = peer;
    options.packet_bytes = packet_bytes;
    options.buffer_bytes = (packet_bytes + 127) / 64 * 64;
    options.buffers = 8192;
    options.socket_packets = socket_packets;
    if (cable == nullptr) {
      transport_ = UdpTransport::open(options);
    } else {
      require(end < 2, "a cable has two ends, 0 and 1");
      cable->end(end).inside([&] { transport_ = UdpTransport::open(options); });
    }
  }
  ~NetEnd() {
    stop();
    if (thread_.joinable()) thread_.join();
  }
  NetEnd(const NetEnd&) = delete;
  NetEnd& operator=(const NetEnd&) = delete;

  std::uint16_t port() const { return transport_->ports().front(); }
  void meet(std::uint16_t port) {
    require(!used(), "the end is in use");
    transport_->set_peer_ports({port});
  }
  std::vector<std::string> notes() const { return transport_->notes(); }
  std::vector<std::string> findings() const { return transport_->findings(); }

  void echo(int core, bool sleeping, double held_us) {
    require(!used(), "the end is in use");
    echo_ = std::make_unique<Echo>(*transport_, Echo::Options{core, sleeping, ticks(held_us)});
  }
  Result stop_echo() {
    require(echo_ != nullptr, "nothing is sent back here");
    {
      const nb::gil_scoped_release released;
      echo_->stop();
    }
    Result told;
    told["packets"] = echo_->packets();
    told["bursts"] = echo_->bursts();
    told["cores"] = static_cast<double>(echo_->cpu_time()) /
                    static_cast<double>(std::max<Tick>(echo_->elapsed(), 1));
    const fronthaul::NetworkTime received = transport_->receive_time(0);
    told["receive_calls"] = received.calls;
    echo_.reset();
    return told;
  }

  void start(double per_s, std::uint64_t exchanges, std::uint32_t samples,
             std::uint32_t packet_samples, int core, double patience_s) {
    require(!used(), "the end is in use");
    trips_ = std::make_unique<RoundTrips>(
        *transport_,
        RoundTripPlan{per_s, exchanges, samples, packet_samples, ticks(1e6 * patience_s)});
    running_ = true;
    thread_ = std::thread([this, core] {
      name_thread("round trips");
      if (core >= 0) pin_thread(static_cast<std::uint32_t>(core));
      trips_->run();
      running_ = false;
    });
  }
  bool running() const { return running_; }
  std::uint64_t sent() const { return trips_ == nullptr ? 0 : trips_->sent(); }
  void stop() {
    if (trips_ != nullptr) trips_->stop();
  }
  Result finish() {
    require(trips_ != nullptr, "no round trips were started here");
    {
      const nb::gil_scoped_release released;
      thread_.join();
    }
    std::vector<double> trips_us;
    for (const Tick trip : trips_->trips())
      if (trip != RoundTrips::kNotBack) trips_us.push_back(static_cast<double>(trip) / 1e3);
    const std::size_t size = trips_us.size();
    Result told;
    told["sent"] = trips_->sent();
    told["returned"] = trips_->returned();
    told["damaged"] = trips_->damaged();
    told["seconds"] = static_cast<double>(trips_->took()) / 1e9;
    told["behind_us"] = static_cast<double>(trips_->behind()) / 1e3;
    told["most_behind_us"] = static_cast<double>(trips_->most_behind()) / 1e3;
    told["trips_us"] = array(std::move(trips_us), {size});
    trips_.reset();
    return told;
  }

 private:
  static Tick ticks(double us) { return static_cast<Tick>(us * 1e3); }
  bool used() const { return echo_ != nullptr || trips_ != nullptr; }

  std::unique_ptr<UdpTransport> transport_;
  std::unique_ptr<Echo> echo_;
  std::unique_ptr<RoundTrips> trips_;
  std::atomic<bool> running_{false};
  std::thread thread_;
};

}  // namespace

void bind_net(nb::module_& core) {
  using namespace nb::literals;
  nb::class_<VirtualCable>(core, "VirtualCable",
                           "Two network namespaces joined by a veth pair, until it and the ends "
                           "made there are gone (engine/fronthaul/veth.hpp).")
      .def(nb::init<std::uint32_t>(), "mtu"_a, "RuntimeError where the kernel refuses.")
      .def_static("address", &VirtualCable::address, "end"_a, "IPv4, of end 0 or 1.");
  nb::class_<NetEnd>(core, "NetEnd",
                     "One end of a UDP link, for round trips "
                     "(engine/fronthaul/round_trips.hpp).")
      .def(nb::init<const std::string&, const std::string&, const std::string&, std::uint32_t,
                    std::uint32_t, std::uint16_t, const VirtualCable*, std::size_t>(),
           "io"_a, "address"_a, "peer"_a, nb::kw_only(), "packet_bytes"_a, "socket_packets"_a,
           "port"_a = 0, "cable"_a.none() = nb::none(), "end"_a = 0, nb::keep_alive<1, 8>(),
           "io: as fronthaul.io. port 0: a free one. cable and end: inside that namespace.\n"
           "RuntimeError says what the kernel refuses and what to do.")
      .def_prop_ro("port", &NetEnd::port)
      .def("meet", &NetEnd::meet, "port"_a, "The peer's port, before anything is sent.")
      .def("notes", &NetEnd::notes, "What a person should know before.")
      .def("findings", &NetEnd::findings, "And after.")
      .def("echo", &NetEnd::echo, "core"_a = -1, "sleeping"_a = false, "held_us"_a = 0.0,
           "A thread that sends every packet back, from now on; held_us emulates coalescing.")
      .def("stop_echo", &NetEnd::stop_echo,
           "packets and bursts that were sent back, cores that its thread took, receive_calls.")
      .def("start", &NetEnd::start, "per_s"_a, "exchanges"_a, "samples"_a, "packet_samples"_a,
           "core"_a = -1, "patience_s"_a = 1.0,
           "Sends samples at a constant rate, in a thread. RuntimeError of a plan that cannot be.")
      .def_prop_ro("running", &NetEnd::running)
      .def_prop_ro("sent", &NetEnd::sent, "Exchanges so far.")
      .def("stop", &NetEnd::stop, "Ends the round trips early.")
      .def(
          "finish", &NetEnd::finish,
          "Waits for the round trips' end: sent, returned, damaged (packets), seconds of sending,\n"
          "behind_us of the last, most_behind_us, and trips_us, an array of those that came back.");
}

}  // namespace carillon::bindings
