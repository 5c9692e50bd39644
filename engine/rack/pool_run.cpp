#include "rack/pool_run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/random.hpp"

namespace carillon::rack {
namespace {

using namespace frame;
using namespace runtime;

std::vector<PoolCell> with_graphs(const std::vector<const Frame*>& frames,
                                  const PoolRunOptions& options) {
  std::vector<PoolCell> cells;
  for (const Frame* frame : frames) {
    PoolGraphOptions graph = options.graph;
    if (options.at_once != 0) graph.deadline += frame->duration();
    const PoolProfile& profile =
        options.of_cells.empty() ? *options.profile : options.of_cells.at(cells.size());
    cells.push_back({*frame, build_pool_graph(*frame, graph, profile)});
  }
  return cells;
}

// Samples on their way through the switch. A port serves first come, first served.
class Fronthaul {
 public:
  struct Samples {
    Tick at;
    FrameId frame;
    std::uint16_t instruction, server;
    std::uint32_t life;  // of the server, which they are for
    std::uint64_t bytes;
    bool operator<(const Samples& other) const {  // a heap's top is its largest
      return order() > other.order();
    }

   private:
    std::tuple<Tick, std::uint64_t, std::uint16_t, std::uint16_t> order() const {
      return {at, frame.frame, frame.source, instruction};
    }
  };

  Fronthaul(const Switch& model, std::size_t servers) {
    std::vector<FabricNode> nodes(1 + servers, {"port", 0, model.bytes_per_s, model.latency});
    FabricResult built = Fabric::build(nodes);
    if (!built.fabric) throw std::invalid_argument("fronthaul switch: " + built.error);
    ports_ = std::move(*built.fabric);
  }

  void send(const Samples& samples) {
    waiting_.push_back(samples);
    std::push_heap(waiting_.begin(), waiting_.end());
  }

  // What is sent until then: calls deliver(samples, when its last byte is there).
  template <typename Deliver>
  void run(Tick until, Deliver&& deliver) {
    while (!waiting_.empty() && waiting_.front().at <= until) {
      std::pop_heap(waiting_.begin(), waiting_.end());
      const Samples next = waiting_.back();
      waiting_.pop_back();
      deliver(next, ports_.transfer(0, port(next.server), next.bytes, next.at));
    }
  }

  Tick busy(std::uint16_t server) const {
    return ports_.use(port(server), LinkDirection::Down).busy;
  }

 private:
  static std::uint16_t port(std::uint16_t server) { return static_cast<std::uint16_t>(server + 1); }
  Fabric ports_;
  std::vector<Samples> waiting_;  // a heap
};

class Run {
 public:
  Run(const std::vector<const Frame*>& cells, const RackModel& model, const PoolRunOptions& options)
      : cells_(with_graphs(cells, options)),
        model_(model),
        options_(options),
        servers_(make_servers()),
        rack_(
            static_cast<std::uint16_t>(servers_.size()), static_cast<std::uint16_t>(cells_.size()),
            model.homes, model.moving,
            [this](std::uint16_t s, std::uint16_t c) { return servers_[s]->share(c); },
            [this](std::uint16_t s, Tick now) { return servers_[s]->join(now); }),
        next_(cells.size()),
        owed_(cells.size()),
        places_(cells.size() * options.ring) {
    if (options.at_once != 0 && (servers_.size() > 1 || !model.faults.empty() || has_reserve()))
      throw std::invalid_argument("at_once is of one server, never lost and without a reserve");
    if (model.fronthaul) fronthaul_.emplace(*model.fronthaul, servers_.size());
    for (const HostFault& fault : model.faults) {
      hosts_.push_back({fault.at, fault.server, fault.up ? HostEvent::Back : HostEvent::Lost, 0});
      if (!fault.up)
        hosts_.push_back({fault.at + fault.noticed, fault.server, HostEvent::Noticed, fault.at});
    }
    std::stable_sort(hosts_.begin(), hosts_.end(),
                     [](const HostEvent& a, const HostEvent& b) { return a.at < b.at; });
  }

  PoolRun run() {
    if (options_.at_once != 0) {
      for (std::uint16_t c = 0; c < cells_.size(); ++c)
        for (owed_[c] = options_.at_once; owed_[c] != 0;) begin_owed(c, 0);
    } else {
      pace();
    }
    advance(kNever);
    summarize();
    return std::move(result_);
  }

 private:
  struct HostEvent {
    enum Kind : std::uint8_t { Lost, Noticed, Back };
    Tick at;
    std::uint16_t server;
    Kind kind;
    Tick lost;  // when that was which is noticed
  };

  // Of a frame ring.
  struct Place {
    bool taken = false;
    Tick began = 0;
  };
  Place& place(const FrameId& frame) {
    return places_[frame.source * options_.ring + frame.frame % options_.ring];
  }

  std::vector<std::unique_ptr<PoolServer>> make_servers() {
    std::vector<std::unique_ptr<PoolServer>> servers;
    for (std::uint16_t s = 0; s < model_.servers.size(); ++s)
      servers.push_back(std::make_unique<PoolServer>(
          cells_, model_.servers[s], options_,
          [this, s](const PoolServer::Ended& ended) { take(s, ended); },
          [this] { return go_on(); }));
    return servers;
  }

  bool has_reserve() const {
    return std::ranges::any_of(model_.servers, [](const PoolModel& server) {
      return std::ranges::any_of(server.devices, &PoolDevice::reserve);
    });
  }

  // Asked while frames may take for ever.
  bool go_on() {
    if (!stopped_ && options_.progress) stopped_ = !options_.progress(result_.frames.size());
    return !stopped_;
  }

  // As frames start on air; what happens to hosts at the same instant comes first.
  void pace() {
    auto host = hosts_.begin();
    while (!stopped_) {
      std::uint16_t first = 0;
      for (std::uint16_t c = 1; c < cells_.size(); ++c)
        if (order(c) < order(first)) first = c;
      const auto [over, at, number] = order(first);
      if (host != hosts_.end() && (over || host->at <= at)) {
        advance(host->at);
        happen(*host++);
      } else if (over) {
        return;
      } else {
        advance(at);
        begin(first, at);
      }
    }
  }

  // Of cells' next frames: none left last, then by time, then as they were given.
  std::tuple<bool, Tick, std::uint64_t> order(std::uint16_t cell) const {
    return {next_[cell] == options_.frames, on_air(cell, next_[cell]), next_[cell]};
  }

  Tick on_air(std::uint16_t cell, std::uint64_t frame) const {
    return static_cast<Tick>(frame) * cells_[cell].frame.duration() + cell * options_.apart;
  }

  // All that happens on servers before then. They meet only where frames begin, and in the switch.
  void advance(Tick until) {
    if (fronthaul_)
      fronthaul_->run(until, [&](const Fronthaul::Samples& samples, Tick at) {
        if (servers_[samples.server]->life() == samples.life && servers_[samples.server]->up())
          servers_[samples.server]->arrive(at, samples.frame, samples.instruction);
      });
    for (const auto& server : servers_) server->run(until == kNever ? kNever : until - 1);
  }

  void happen(const HostEvent& event) {
    PoolServer& server = *servers_[event.server];
    switch (event.kind) {
      case HostEvent::Lost:
        if (!server.up()) break;
        for (const FrameId& frame : server.lose(event.at))
          lost(frame, event.server, Cause::HostLost, event.at);
        break;
      case HostEvent::Noticed:
        // A server that has been back since is not gone because of that loss.
        if (!server.up() && server.now() == event.lost)
          rack_.changed(event.server, false, event.at);
        break;
      case HostEvent::Back:
        if (server.up()) break;
        server.start(event.at);
        rack_.changed(event.server, true, event.at);
        break;
    }
  }

  // The cell's next frame, and when its samples come.
  void begin(std::uint16_t cell, Tick at) {
    if (stopped_ || next_[cell] == options_.frames) return;
    const FrameId frame{next_[cell]++, cell};
    place(frame) = {.taken = true, .began = at};
    const std::uint16_t to = rack_.route(cell, at);
    if (to == Rack::kNone) return lost(frame, to, Cause::Moving, at);
    if (!servers_[to]->up()) return lost(frame, to, Cause::HostLost, at);
    const Frame& format = cells_[cell].frame;
    // A frame with all its samples there has been on air before.
    servers_[to]->begin(at, frame, options_.at_once != 0 ? at - format.duration() : at);
    const Graph& graph = cells_[cell].graph.graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      const Tick end = options_.at_once != 0 ? 0 : format.symbol(graph[i].step).end;
      send({at + end + lateness(frame, i), frame, i, to, servers_[to]->life(),
            cells_[cell].graph.work[i].moved});
    }
  }

  void send(const Fronthaul::Samples& samples) {
    if (fronthaul_)
      fronthaul_->send(samples);
    else
      servers_[samples.server]->arrive(samples.at, samples.frame, samples.instruction);
  }

  Tick lateness(FrameId frame, std::uint16_t instruction) const {
    if (options_.late == 0 || options_.at_once != 0) return 0;
    Random random(model_.servers.front().seed,
                  (frame.frame << 24) ^ (std::uint64_t{frame.source} << 16) ^ instruction);
    return std::llround(-std::log(1 - random.uniform()) * static_cast<double>(options_.late));
  }

  void take(std::uint16_t server, const PoolServer::Ended& ended) {
    rack_.ended(ended.frame.source, server, began(ended.frame), ended.done);
    record(ended, server);
    place(ended.frame).taken = false;
    if (options_.at_once == 0) return;
    const bool refused = !ended.done && ended.devices == 0;
    const Tick pause = refused ? cells_[ended.frame.source].frame.duration() / options_.at_once : 0;
    ++owed_[ended.frame.source];
    while (begin_owed(ended.frame.source, ended.at + pause)) {
    }
  }

  // A frame in the stead of one that has ended; false while an older one has its place.
  bool begin_owed(std::uint16_t cell, Tick at) {
    if (owed_[cell] == 0 || place({next_[cell], cell}).taken) return false;
    --owed_[cell];
    begin(cell, at);
    return true;
  }

  void lost(FrameId frame, std::uint16_t server, Cause cause, Tick now) {
    record({.frame = frame, .at = now}, server, cause);
  }

  Tick began(FrameId frame) {
    return options_.at_once != 0 ? place(frame).began : on_air(frame.source, frame.frame);
  }

  void record(const PoolServer::Ended& ended, std::uint16_t server, Cause lost = Cause::None) {
    const Tick began = this->began(ended.frame);
    result_.frames.push_back({.cell = ended.frame.source,
                              .done = ended.done,
                              .why = ended.why,
                              .lost = lost,
                              .began = began,
                              .latency = ended.at - began,
                              .devices = ended.devices,
                              .server = server});
    if (options_.progress && !options_.progress(result_.frames.size())) stopped_ = true;
  }

  void summarize() {
    for (const auto& server : servers_) result_.end = std::max(result_.end, server->now());
    // Frames that nobody serves are on air all the same.
    if (options_.at_once == 0)
      for (std::uint16_t c = 0; c < cells_.size(); ++c)
        result_.end = std::max(result_.end, on_air(c, next_[c]));
    const double time = static_cast<double>(std::max<Tick>(result_.end, 1));
    result_.of_opcode.resize(kOps);
    result_.joins.assign(rack_.joins().begin(), rack_.joins().end());
    for (std::uint16_t s = 0; s < servers_.size(); ++s) add(s, time);
    const auto done = std::count_if(result_.frames.begin(), result_.frames.end(),
                                    [](const PoolFrame& frame) { return frame.done; });
    for (double& each : result_.of_opcode)
      each /= static_cast<double>(std::max<std::ptrdiff_t>(done, 1));
    result_.moves.assign(rack_.moves().begin(), rack_.moves().end());
  }

  void add(std::uint16_t server, double time) {
    const PoolUse use = servers_[server]->use();
    const auto first = static_cast<std::uint32_t>(result_.busy.size());
    for (std::size_t d = 0; d < use.busy.size(); ++d)
      result_.busy.push_back(use.busy[d] / time / model_.servers[server].devices[d].type->sms);
    for (Join& join : result_.joins)
      if (join.server == server) join.device = static_cast<std::uint16_t>(join.device + first);
    for (Execution each : use.executions) {
      each.device += first;
      result_.executions.push_back(each);
    }
    result_.memory.insert(result_.memory.end(), use.memory.begin(), use.memory.end());
    for (std::size_t op = 0; op < kOps; ++op) result_.of_opcode[op] += use.of_opcode[op];
    if (fronthaul_) result_.ports.push_back(static_cast<double>(fronthaul_->busy(server)) / time);
    result_.tasks += use.tasks;
    result_.copies += use.copies;
    result_.again += use.again;
  }

  const std::vector<PoolCell> cells_;
  const RackModel& model_;
  const PoolRunOptions& options_;
  std::vector<std::unique_ptr<PoolServer>> servers_;
  Rack rack_;
  std::optional<Fronthaul> fronthaul_;
  std::vector<HostEvent> hosts_;     // in order of time
  std::vector<std::uint64_t> next_;  // [cell] frame
  std::vector<std::uint32_t> owed_;  // [cell] frames that are to be under way, and are not
  std::vector<Place> places_;        // [cell][slot]
  PoolRun result_;
  bool stopped_ = false;
};

}  // namespace

PoolRun run_on_rack(const std::vector<const Frame*>& cells, const RackModel& rack,
                    const PoolRunOptions& options) {
  return Run(cells, rack, options).run();
}

PoolRun run_on_pool(const std::vector<const Frame*>& cells, const PoolModel& model,
                    const PoolRunOptions& options) {
  RackModel rack;
  rack.servers = {model};
  return run_on_rack(cells, rack, options);
}

}  // namespace carillon::rack
