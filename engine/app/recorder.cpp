#include "app/recorder.hpp"

#include <algorithm>
#include <array>

#include "app/delivery.hpp"

namespace carillon::app {
namespace {

using frame::Direction;
using frame::Op;
using frame::SymbolKind;
using runtime::InstructionStatus;
using telemetry::FrameRecord;
using telemetry::LateCause;

// Packets of a symbol that take longer than this beyond its air end are the fronthaul's doing.
constexpr Tick kPatience = 100 * kMicrosecond;

bool is_uplink(const frame::Frame& frame, const runtime::Instruction& instruction) {
  return frame.symbol(instruction.step).kind != SymbolKind::Downlink;
}

// Whether bits of the uplink are there when it is done.
bool has_last_word(const frame::Frame& frame, const runtime::Instruction& instruction) {
  const Op op = static_cast<Op>(instruction.opcode);
  return (op == Op::Decode || op == Op::Store) && is_uplink(frame, instruction);
}

bool was_away(const FrameView& view) { return view.pipeline.slot(view.frame).elsewhere != nullptr; }

// Packets of a received symbol that the frame was done without.
std::uint32_t packets_missing(const FrameView& view, std::uint16_t symbol) {
  const frame::FrameSlot& slot = view.pipeline.slot(view.frame);
  if (slot.elsewhere != nullptr) return slot.elsewhere->missing(symbol, slot);
  return view.board.status(view.slot, view.pipeline.graph().receive[symbol]).missing;
}

std::uint64_t& counter_of(telemetry::Counters& c, LateCause cause) {
  switch (cause) {
    case LateCause::Lost: return c.lates_lost;
    case LateCause::Fronthaul: return c.lates_fronthaul;
    case LateCause::OperatingSystem: return c.lates_operating_system;
    case LateCause::MachineStall: return c.lates_machine_stall;
    case LateCause::None:
    case LateCause::Processing: break;
  }
  return c.lates_processing;
}

Tick last_uplink_end(const frame::Frame& frame) {
  Tick end = 0;
  for (const auto& symbol : frame.symbols())
    if (symbol.kind == SymbolKind::Pilot || symbol.kind == SymbolKind::Uplink) end = symbol.end;
  return end;
}

}  // namespace

Recorder::Recorder(telemetry::Store& store, const frame::Frame& frame)
    : store_(store),
      frame_(frame),
      due_(frame.last_deadline(true)),
      downlink_due_(frame.last_deadline(false)),
      last_end_(last_uplink_end(frame)),
      judge_(kPatience),
      pending_(kPending),
      costs_(kPending) {
  for (std::uint32_t n = 0; n < kPending; ++n) costs_[n].frame = n;
}

void Recorder::watch(const runtime::Runtime& runtime, std::uint16_t cell,
                     std::span<const std::uint32_t> worker_threads, std::span<Loop* const> loops) {
  cell_ = cell;
  for (std::uint32_t w = 0; w < worker_threads.size(); ++w)
    tasks_.push_back({&runtime.trace(w), worker_threads[w], {}});
  for (std::uint32_t t = 0; t < loops.size(); ++t) stalls_.push_back({&loops[t]->stalls(), t, {}});
  loops_.assign(loops.begin(), loops.end());
}

void Recorder::ended(const FrameView& view, const runtime::FrameEvent& event) {
  using Kind = runtime::FrameEvent::Kind;
  const bool dropped = event.kind != Kind::Done;
  Pending pending;
  FrameRecord& record = pending.record;
  if (event.kind != Kind::Refused) record = measure(view);
  record.frame = view.frame;
  record.air_start = view.air_start;
  record.ended = event.at - view.air_start;
  record.clock_mhz = clock_mhz();
  if (dropped)
    record.nack = event.kind == Kind::Refused ? telemetry::kRefused : telemetry::kDiscarded;
  pending.silent = view.ingest.arrivals(view.frame).packets == 0;
  pending.radio_frame = view.radio_frame;
  pending.sent_away = view.sent_away;
  pending.handed_back = view.handed_back;
  const bool uplink = dropped || pending.silent || missed_deadline(view);
  pending.is_late = uplink || view.downlink.late_symbols > 0;
  pending.sent_all = !pending.is_late && view.downlink.symbols > 0;
  // It may have been worked on before it was on air.
  pending.late.begun = std::min(view.air_start, view.board.frame(view.slot).admitted);
  pending.late.ended = event.at;
  pending.late.due =
      view.air_start + (uplink ? due_ : downlink_due_ - view.board.frame(view.slot).lead);
  pending.late.alone = view.alone;
  if (event.kind != Kind::Refused) pending.late.work = longest_work(view, event.at);
  if (pending.is_late && event.kind != Kind::Refused) blame_packets(view, uplink, pending.late);
  pending.nacks = store_.nacks().count();
  if (!pending.silent) {
    heard({view.frame, heard_.first});
    trace_packets(view);
    if (dropped) nack_frame(record.frame);
    if (event.kind == Kind::Refused)
      fail_blocks(record, view.radio_frame);
    else
      count_blocks(view, record);
    // A symbol without all its antennas says nothing about the channel.
    if (!dropped && record.missing_packets == 0) {
      sample_quality(view);
      sample_raw_errors(view);
    }
  }
  push(pending);
  collect();
  if (pending.is_late && !pending.silent) keep_tasks_of(view.frame, pending.late.begun);
}

void Recorder::refused(std::uint64_t frame, std::uint32_t radio_frame, Tick air_start, bool heard) {
  Pending pending;
  pending.record.frame = frame;
  pending.radio_frame = radio_frame;
  pending.record.air_start = air_start;
  pending.record.nack = telemetry::kRefused;
  pending.record.clock_mhz = clock_mhz();
  pending.is_late = true;
  pending.silent = !heard;
  pending.nacks = store_.nacks().count();
  // What it had to wait for began before it.
  pending.late = {air_start - frame_.duration(), now(), air_start + due_, 0, 0, false};
  pending.record.ended = pending.late.ended - air_start;
  // Packets before their time: others, by as much delayed, have set the clock.
  if (heard) {
    pending.late.packet_delay = std::max<Tick>(-pending.record.ended, 0);
    nack_frame(frame);
    fail_blocks(pending.record, radio_frame);
  }
  push(pending);
}

void Recorder::heard(const Heard& heard) noexcept {
  if (heard.first > heard_.first) fell_silent_ = heard_.newest;
  heard_.newest = std::max(heard_.newest, heard.newest);
  heard_.first = std::max(heard_.first, heard.first);
}

void Recorder::push(const Pending& pending) {
  if (waiting_ == kPending) {  // as after a long gap, of which all threads have told by now
    for (auto& source : stalls_) collect_stalls(source);
    settle(true);
  }
  Pending& kept = pending_[(first_ + waiting_++) % kPending] = pending;
  if (work_ != nullptr && pending.silent)
    kept.holds_work = work_->hold(pending.radio_frame).program != nullptr;
}

void Recorder::settle(bool closing) {
  while (waiting_ > 0) {
    Pending& pending = pending_[first_];
    if (!closing && !can_settle(pending)) return;
    const bool ghost = is_ghost(pending, closing);
    settle_cost(cost_of(pending.record.frame), ghost);
    if (ghost) {
      ghosts_.fetch_add(1, std::memory_order_relaxed);
      ghosts_away_.fetch_add(pending.sent_away, std::memory_order_relaxed);
      ghosts_back_.fetch_add(pending.handed_back, std::memory_order_relaxed);
    } else {
      commit(pending);
    }
    if (pending.holds_work) work_->release(pending.radio_frame);
    first_ = (first_ + 1) % kPending;
    --waiting_;
  }
}

bool Recorder::can_settle(const Pending& pending) const {
  if (may_be_reported(pending)) return false;
  if (!pending.is_late) return true;
  if (is_ghost(pending, false)) return true;
  if (pending.silent && pending.record.frame > heard_.newest) return false;
  return std::all_of(loops_.begin(), loops_.end(),
                     [&](const Loop* loop) { return loop->last_seen() >= pending.late.ended; });
}

// Whether the radio unit may still say what of this frame went on air. One that says nothing of any
// frame is not waited for.
bool Recorder::may_be_reported(const Pending& pending) const {
  const std::uint64_t frame = pending.record.frame;
  if (!pending.sent_all || on_air_.substituted(frame)) return false;
  return heard_.newest < frame + (on_air_.any() ? fronthaul::kReportedFrames : 2);
}

// A frame that left in time, and yet was too late for the air.
void Recorder::hear_what_went_on_air(Pending& pending) {
  if (!pending.sent_all) return;
  auto& counters = store_.counters();
  const auto substituted = on_air_.substituted(pending.record.frame);
  counters.frames_unreported += !substituted;
  if (!substituted.value_or(false)) return;
  ++counters.frames_substituted;
  pending.record.substituted = 1;
  pending.is_late = true;
  const Tick air_start = pending.record.air_start;
  const Tick own_lead = pending.record.lead - frame_.least_lead();  // beyond the plan's
  pending.late = judge_.replaced(pending.late, air_start + pending.record.downlink_first,
                                 air_start + downlink_due_ - own_lead);
}

// While the run lasts a silent frame may still turn out to have been sent.
bool Recorder::is_ghost(const Pending& pending, bool closing) const {
  const std::uint64_t frame = pending.record.frame;
  if (!pending.silent) return false;
  if (left_out_) return (closing || frame < heard_.newest) && left_out_(frame);
  return (frame > fell_silent_ && frame < heard_.first) || (closing && frame > heard_.newest);
}

void Recorder::commit(Pending& pending) {
  auto& counters = store_.counters();
  FrameRecord& record = pending.record;
  if (pending.silent) {
    pending.nacks = store_.nacks().count();
    if (record.nack != 0) nack_frame(record.frame);
    fail_blocks(record, pending.radio_frame);
  }
  hear_what_went_on_air(pending);
  record.stood_still = judge_.stood_still(record.air_start + last_end_, pending.late.ended);
  LateCause cause = LateCause::None;
  if (pending.is_late) {
    const Verdict verdict = judge_.cause(pending.late);
    cause = verdict.cause;
    record.late_cause = static_cast<std::uint32_t>(cause);
    record.gap = verdict.gap;
    ++counter_of(counters, cause);
  }
  explain_nacks(pending, cause);
  if (!pending.is_late && record.missing_packets == 0 && pending.late.work > 0)
    judge_.in_time(pending.late.work);
  judge_.ended(pending.late.alone || !pending.is_late);
  record.completed = pending.is_late ? 0 : 1;
  ++counters.frames_seen;
  counters.frames_completed += record.completed;
  counters.frames_nacked += record.nack != 0;
  counters.overload_nacks += record.nack != 0;
  counters.uplink_blocks += record.uplink_blocks;
  counters.uplink_failed += record.uplink_failed;
  store_.frames().append(record);
  if (settled_) settled_(record);
}

// Those of a frame lie together, since a frame's records are written at once.
void Recorder::explain_nacks(const Pending& pending, LateCause cause) {
  auto& nacks = store_.nacks();
  const std::uint64_t end = nacks.count();
  const std::uint64_t kept = std::max(pending.nacks, end - std::min(end, nacks.capacity()));
  for (std::uint64_t i = kept; i < end && nacks[i].frame == pending.record.frame; ++i)
    // What held up its downlink alone is not why an uplink's packets lacked.
    if (nacks[i].cause == telemetry::kCauseToCome || pending.record.substituted == 0)
      nacks[i].cause = cause_of_block(nacks[i].cause, cause);
}

void Recorder::nack_block(std::uint64_t frame, const frame::TransportBlock& block,
                          std::uint32_t cause) {
  ++store_.counters().harq_nacks;
  store_.nacks().append({frame, frame_.format().cell_id, block.user, block.harq_process,
                         static_cast<std::uint32_t>(telemetry::NackKind::Harq), cause, 0});
}

void Recorder::nack_frame(std::uint64_t frame) {
  store_.nacks().append({frame, frame_.format().cell_id, telemetry::kAllUsers, 0,
                         static_cast<std::uint32_t>(telemetry::NackKind::Overload),
                         telemetry::kCauseToCome, 0});
}

// All blocks of a frame that was refused or never came.
void Recorder::fail_blocks(FrameRecord& record, std::uint32_t radio_frame) {
  const frame::DataPort port{.work = work_};
  const auto blocks = port.program(frame_, radio_frame).transport_blocks(Direction::Uplink);
  for (const auto& block : blocks) {
    ++store_.users()[block.user].uplink_blocks;
    ++store_.users()[block.user].uplink_failed;
    nack_block(record.frame, block, telemetry::kCauseToCome);
  }
  record.uplink_blocks = record.uplink_failed = static_cast<std::uint32_t>(blocks.size());
}

FrameRecord Recorder::measure(const FrameView& view) const {
  FrameRecord record;
  for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s)
    if (view.pipeline.graph().receive[s] != frame::kNoInstruction)
      record.missing_packets += packets_missing(view, s);
  const auto statuses = view.board.statuses(view.slot);
  const auto& graph = view.board.graph();
  const auto relative = [&](Tick instant) { return instant == 0 ? 0 : instant - view.air_start; };
  Tick started = 0;
  for (std::uint16_t id = 0; id < statuses.size(); ++id) {
    const InstructionStatus& status = statuses[id];
    const Op op = static_cast<Op>(graph[id].opcode);
    record.kernels += status.busy;
    if (!is_uplink(frame_, graph[id]) || status.executed == 0) continue;
    started = started == 0 ? status.executed : std::min(started, status.executed);
    record.uplink_done = std::max(record.uplink_done, relative(status.committed));
    if (op == Op::PilotFft)
      record.pilots_done = std::max(record.pilots_done, relative(status.committed));
    if (op == Op::ZeroForce)
      record.combiner_done = std::max(record.combiner_done, relative(status.committed));
  }
  const auto arrivals = view.ingest.arrivals(view.frame);
  record.first_packet = relative(arrivals.first_packet);
  record.last_packet = relative(arrivals.last_packet);
  record.started = relative(started);
  record.downlink_first = relative(view.downlink.first);
  record.downlink_done = relative(view.downlink.last);
  record.downlink_late_symbols = view.downlink.late_symbols;
  if (!frame_.symbols_of(SymbolKind::Downlink).empty())
    record.lead = frame_.least_lead() + view.board.frame(view.slot).lead;
  return record;
}

bool Recorder::missed_deadline(const FrameView& view) const {
  const auto statuses = view.board.statuses(view.slot);
  const auto& graph = view.board.graph();
  for (std::uint16_t id = 0; id < statuses.size(); ++id)
    if (has_last_word(frame_, graph[id]) && statuses[id].chunks > 0 &&
        statuses[id].committed > view.air_start + graph[id].deadline)
      return true;
  return false;
}

// Of the blocks' last tasks, from their symbols' air end; of those that were never done, until the
// frame ended.
Tick Recorder::longest_work(const FrameView& view, Tick ended) const {
  const auto statuses = view.board.statuses(view.slot);
  const auto& graph = view.board.graph();
  Tick longest = 0;
  for (std::uint16_t id = 0; id < statuses.size(); ++id) {
    if (!has_last_word(frame_, graph[id]) || statuses[id].chunks == 0) continue;
    const Tick done = statuses[id].committed == 0 ? ended : statuses[id].committed;
    longest = std::max(longest, done - view.air_start - frame_.symbol(graph[id].step).end);
  }
  return longest;
}

// The task that has the block's last word.
std::uint16_t Recorder::last_word(const FrameView& view, const frame::TransportBlock& block) const {
  const auto& graph = view.pipeline.graph();
  const auto& plan = view.pipeline.slot(view.frame).program->plan(block);
  const auto& last = plan.C() > 1 ? graph.assemble : graph.decode;
  return last[block.last_symbol];
}

bool Recorder::was_late(const FrameView& view, const frame::TransportBlock& block) const {
  const std::uint16_t id = last_word(view, block);
  return view.board.statuses(view.slot)[id].committed >
         view.air_start + view.board.graph()[id].deadline;
}

// Of those that it waited for: a late downlink waited for pilots alone. Packets that came after
// their symbol was closed are late, not lost. What lies there while nobody looks is not late.
void Recorder::blame_packets(const FrameView& view, bool uplink, LateFrame& late) const {
  std::uint32_t missing = 0, expected = 0;
  for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s) {
    const auto& symbol = frame_.symbol(s);
    if (symbol.kind != SymbolKind::Pilot && symbol.kind != SymbolKind::Uplink) continue;
    expected += frame_.format().antennas;
    if (symbol.kind == SymbolKind::Uplink && !uplink) continue;
    const std::uint32_t lacking = packets_missing(view, s);
    missing += lacking;
    const auto since_sent = [&](Tick instant) { return instant - view.air_start - symbol.end; };
    // They may all have come, if only after it was closed.
    const bool never = lacking > 0 && !view.ingest.complete(view.frame, s);
    const Tick lacked =
        since_sent(never ? view.ingest.caught_up() : view.ingest.awaited(view.frame, s));
    late.packet_delay = std::max(late.packet_delay,
                                 lacking > 0 ? std::min(lacked, waited(view, s, lacking)) : lacked);
  }
  const std::uint32_t came = view.ingest.arrivals(view.frame).packets;
  late.missing_packets = std::min(missing, expected - std::min(expected, came));
  late.work = uplink ? late.work - late.packet_delay : 0;
}

// How long after its end a symbol was closed without some of its packets.
Tick Recorder::waited(const FrameView& view, std::uint16_t symbol, std::uint32_t lacking) const {
  const auto& receive = view.pipeline.graph().graph[view.pipeline.graph().receive[symbol]];
  const bool early = receive.early_close != runtime::kNever &&
                     frame_.format().antennas - lacking >= receive.quorum;
  return (early ? receive.early_close : receive.close) - frame_.symbol(symbol).end;
}

// A block that lacks packets, of its own symbols or of their pilots, failed for them; else its
// noise did.
LateCause Recorder::why_failed(const FrameView& view, const frame::TransportBlock& block) const {
  LateCause why = LateCause::None;
  const std::uint16_t first = frame_.symbol(block.first_symbol).occasion;
  const std::uint16_t last = frame_.symbol(block.last_symbol).occasion;
  for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s) {
    const frame::Symbol& symbol = frame_.symbol(s);
    const bool own =
        symbol.kind == SymbolKind::Uplink && s >= block.first_symbol && s <= block.last_symbol;
    const bool pilot =
        symbol.kind == SymbolKind::Pilot && symbol.occasion >= first && symbol.occasion <= last;
    if ((!pilot && !own) || packets_missing(view, s) == 0) continue;
    if (!view.ingest.complete(view.frame, s)) return LateCause::Lost;
    why = LateCause::Fronthaul;  // they came when it was closed
  }
  return why;
}

void Recorder::count_blocks(const FrameView& view, FrameRecord& record) {
  const auto& slot = view.pipeline.slot(view.frame);
  const auto blocks = slot.program->transport_blocks(Direction::Uplink);
  const auto code_blocks = slot.program->code_blocks(Direction::Uplink);
  const auto statuses = view.board.statuses(view.slot);
  const auto done = [&](std::uint16_t id) {
    return statuses[id].state == InstructionStatus::State::Committed;
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    auto& user = store_.users()[blocks[b].user];
    const auto out = view.delivered.empty() ? Delivery::Out::No : view.delivered[b];
    const bool decoded = out != Delivery::Out::No || done(last_word(view, blocks[b]));
    const bool failed = out == Delivery::Out::No
                            ? !decoded || !passed(slot, view.known, view.radio_frame, b)
                            : out != Delivery::Out::Good;
    if (!decoded)
      nack_block(view.frame, blocks[b], telemetry::kCauseToCome);
    else if (failed)
      nack_block(view.frame, blocks[b], static_cast<std::uint32_t>(why_failed(view, blocks[b])));
    else if (was_late(view, blocks[b]))
      nack_block(view.frame, blocks[b], telemetry::kCauseToCome);
    ++user.uplink_blocks;
    user.uplink_failed += failed;
    user.uplink_bits += failed ? 0 : slot.program->plan(blocks[b]).A();
    record.uplink_failed += failed;
  }
  record.uplink_blocks = static_cast<std::uint32_t>(blocks.size());
  for (std::size_t c = 0; c < code_blocks.size(); ++c) {
    if (!done(view.pipeline.graph().decode[code_blocks[c].last_symbol])) continue;
    auto& user = store_.users()[blocks[code_blocks[c].transport_block].user];
    const auto& result = slot.results[c];
    ++user.code_blocks;
    user.iterations += result.decode.iterations;
    record.iterations += result.decode.iterations;
    ++record.code_blocks;
  }
  store_.counters().saturated_samples += slot.saturated.load(std::memory_order_relaxed);
}

void Recorder::sample_quality(const FrameView& view) {
  const auto& slot = view.pipeline.slot(view.frame);
  const std::uint32_t users = frame_.format().users;
  for (std::size_t i = 0; i < slot.quality.size(); ++i) {
    auto& user = store_.users()[i % users];
    user.error_power += static_cast<double>(slot.quality[i].error_power);
    user.noise_power += static_cast<double>(slot.quality[i].noise_power);
    user.symbols += slot.quality[i].symbols;
  }
  if (slot.combiners != nullptr)
    store_.counters().ill_conditioned +=
        slot.combiners->ill_conditioned.load(std::memory_order_relaxed);
  if (slot.constellation.empty()) return;
  const auto& tile = slot.constellation[view.frame % slot.constellation.size()];
  const std::uint32_t sampled = view.pipeline.sampled_user(view.frame);
  for (std::uint32_t lane = 0; lane < phy::kTileLanes; ++lane)
    if (tile.re[lane] != 0 || tile.im[lane] != 0)
      store_.constellation().append(
          {sampled, tile.re[lane], tile.im[lane], static_cast<std::uint32_t>(view.frame)});
}

// Of one code block, whether it passed or not. The golden ratio gives all of them their turn,
// whatever the period of the radio's replay.
void Recorder::sample_raw_errors(const FrameView& view) {
  const auto& program = *view.pipeline.slot(view.frame).program;
  const auto places = program.code_blocks(Direction::Uplink);
  if (places.empty() || view.known == nullptr || was_away(view))
    return;  // these bring no soft bits
  const std::uint64_t turn = view.frame * 0x9e3779b97f4a7c15 >> 32;
  const auto c = static_cast<std::uint32_t>(turn * places.size() >> 32);
  const auto& map = program.code_block(Direction::Uplink, places[c]).map;
  const auto& block = program.transport_blocks(Direction::Uplink)[places[c].transport_block];
  auto& user = store_.users()[block.user];
  user.raw_bits += map.E;
  user.raw_errors +=
      frame::raw_errors(map, view.pipeline.slot(view.frame).soft.data() + places[c].coded_offset,
                        view.known->coded(view.radio_frame, c));
}

void Recorder::trace_packets(const FrameView& view) {
  for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s) {
    const Tick last = view.ingest.last_packet(view.frame, s);
    if (last == 0) continue;
    store_.tasks().append({last, last, static_cast<std::uint32_t>(view.frame),
                           telemetry::kPacketEvent, s, 0,
                           static_cast<std::uint16_t>(frame_.format().antennas), 0});
  }
}

void Recorder::collect() {
  for (auto& source : tasks_) collect_tasks(source);
  for (auto& source : stalls_) collect_stalls(source);
  settle(false);
}

void Recorder::close() {
  collect();
  settle(true);
  for (Cost& cost : costs_) settle_cost(cost, cost.ghost);
}

void Recorder::collect_tasks(Source& source) {
  std::array<telemetry::TraceEvent, 64> events;
  while (const std::size_t count = source.ring->read(source.cursor, events)) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto& e = events[i];
      if (e.kind != telemetry::TraceKind::Task || e.cell != cell_) continue;
      charge(e);
      store_.tasks().append({e.start, e.end(), e.frame, e.code, e.step,
                             telemetry::saturate<std::uint16_t>(e.first), e.count, source.thread});
    }
  }
}

// Each frame's account has its place for as long as the frame may wait to be settled.
Recorder::Cost& Recorder::cost_of(std::uint64_t frame) {
  Cost& cost = costs_[frame % kPending];
  const auto number = static_cast<std::uint32_t>(frame);
  if (cost.frame != number) {
    settle_cost(cost, false);
    cost = {.frame = number};
  }
  return cost;
}

void Recorder::charge(const telemetry::TraceEvent& task) {
  Cost& cost = cost_of(task.frame);
  telemetry::StageRecord& stage = cost.stages[task.code];
  ++stage.tasks;
  stage.chunks += task.count;
  stage.busy += task.duration;
  if (cost.settled) settle_cost(cost, cost.ghost);  // of a frame that ended meanwhile
}

void Recorder::settle_cost(Cost& cost, bool ghost) {
  for (std::size_t op = 0; op < frame::kOps; ++op) {
    const telemetry::StageRecord& from = cost.stages[op];
    if (ghost) {
      store_.counters().ghost_busy += from.busy;
      continue;
    }
    telemetry::StageRecord& to = store_.stages()[op];
    to.tasks += from.tasks;
    to.chunks += from.chunks;
    to.busy += from.busy;
  }
  cost.stages = {};
  cost.settled = true;
  cost.ghost = ghost;
}

void Recorder::collect_stalls(Source& source) {
  std::array<telemetry::TraceEvent, 16> events;
  while (const std::size_t count = source.ring->read(source.cursor, events)) {
    for (std::size_t i = 0; i < count; ++i) {
      const telemetry::GapRecord gap{events[i].start, events[i].duration, source.thread,
                                     events[i].code};
      store_.gaps().append(gap);
      judge_.note(gap);
    }
  }
}

// A late frame's tasks are among the last that were collected, which lie about as they ran.
void Recorder::keep_tasks_of(std::uint64_t frame, Tick begun) {
  auto& tasks = store_.tasks();
  const std::uint64_t end = tasks.count();
  const std::uint64_t oldest = end - std::min<std::uint64_t>(end, tasks.capacity());
  std::uint64_t first = end;
  while (first > oldest && (tasks[first - 1].opcode == telemetry::kPacketEvent ||
                            tasks[first - 1].end > begun - frame_.duration()))
    --first;
  for (std::uint64_t i = first; i < end; ++i)
    if (tasks[i].frame == static_cast<std::uint32_t>(frame)) store_.late_tasks().append(tasks[i]);
}

}  // namespace carillon::app
