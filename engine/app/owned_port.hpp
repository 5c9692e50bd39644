// A data port whose bits have an owner outside this process, on either side of the air: a program
// at a socket, or the IP packets of a TUN device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/frame.hpp"
#include "port/control_channel.hpp"
#include "port/exchange.hpp"
#include "port/ip.hpp"
#include "port/options.hpp"
#include "port/socket.hpp"
#include "telemetry/records.hpp"

namespace carillon::app {

class OwnedPort {
 public:
  /// `sends`: the direction whose bits the owner gives. Of `socket` and `tun` one is empty.
  /// `control`: to the other side's port, of a cell of grants.kind scheduler. Frame and `control`
  /// outlive this. Throws std::runtime_error saying what to do.
  OwnedPort(const std::string& socket, const std::string& tun, const std::string& network,
            const frame::Frame& frame, frame::Direction sends, std::uint32_t ring,
            port::ControlChannel& control);

  frame::DataPort port() {
    return {.source = &exchange_,
            .sink = &exchange_,
            .work = scheduled_by_port_ ? &exchange_ : nullptr};
  }
  /// When the cell is at rest: the owner has what there is for it.
  void finish();
  telemetry::PortRecord record() const;
  /// Of the scheduler, if this side has it.
  std::vector<telemetry::FlowRecord> flows() const;

 private:
  const bool scheduled_by_port_;
  port::Exchange exchange_;
  std::unique_ptr<port::SocketPort> socket_;
  std::unique_ptr<port::IpPort> ip_;
  const port::StationScheduling* scheduler_ = nullptr;  // the IP port's
};

}  // namespace carillon::app
