#include "app/radio.hpp"

#include "emulator/payload.hpp"

namespace carillon::app {
namespace {

emulator::RadioUnit::Options unit_options(const RunPlan& plan, const frame::Frame& frame,
                                          bool live) {
  emulator::RadioUnit::Options options;
  options.replay = plan.radio.frames;
  options.blocks.clear();
  for (const frame::FrameProgram& program : frame.programs())
    options.blocks.push_back(
        static_cast<std::uint32_t>(program.transport_blocks(frame::Direction::Downlink).size()));
  options.live = live;
  return options;
}

// By the distance of its symbols from the constellation.
float snr_of(const emulator::DownlinkResult& user) {
  return user.error_power > 0 ? static_cast<float>(user.symbols) / user.error_power : 0;
}

}  // namespace

Radio::Radio(const RunPlan& plan, const frame::Frame& frame, fronthaul::Transport& transport,
             telemetry::Store& store, const frame::DataPort& port)
    : plan_(plan),
      frame_(frame),
      store_(store),
      layout_(frame),
      unit_(layout_, transport, unit_options(plan, frame, port.source != nullptr)),
      generator_(frame, plan.radio),
      port_(port),
      users_(frame, plan.radio, !plan.data.owned()) {
  if (port.source != nullptr) live_.emplace(frame, plan.radio, unit_, plan.radio.frames, port);
}

void Radio::prepare_frame(std::uint32_t replay) {
  generator_.generate(replay, [&](std::uint32_t symbol, std::uint32_t antenna) {
    return unit_.uplink_samples(replay, symbol, antenna);
  });
}

// What is to be sent cannot wait.
bool Radio::users_step() noexcept { return (live_ && live_->step()) || decode(); }

bool Radio::decode() noexcept {
  if (decoding_ == nullptr) {
    decoding_ = unit_.take();
    if (decoding_ == nullptr) return false;
    const std::uint64_t frame = decoding_->frame();
    users_.start(live_ ? frame : frame % plan_.radio.frames,
                 frame % emulator::downlink_payloads(frame_),
                 port_.program(frame_, static_cast<std::uint32_t>(frame)),
                 [this](std::uint32_t symbol, std::uint32_t antenna) {
                   return decoding_->samples(symbol, antenna);
                 });
  }
  if (!users_.step()) settle();
  return true;
}

void Radio::settle() {
  auto& counters = store_.counters();
  const auto& results = users_.results();
  for (std::size_t u = 0; u < results.size(); ++u) {
    auto& user = store_.users()[u];
    user.downlink_blocks += results[u].blocks;
    user.downlink_failed += results[u].failed;
    user.downlink_bits += results[u].bits;
    if (decoding_->substituted_symbols() == 0) {
      user.downlink_error_power += static_cast<double>(results[u].error_power);
      user.downlink_symbols += results[u].symbols;
    }
    counters.downlink_blocks += results[u].blocks;
    counters.downlink_failed += results[u].failed;
  }
  for (const auto& of_user : results) decoded_blocks_ += of_user.blocks;
  hand_out();
  unit_.give_back(decoding_);
  decoding_ = nullptr;
  decoded_.fetch_add(1, std::memory_order_release);
}

void Radio::hand_out() noexcept {
  if (port_.sink == nullptr) return;
  hand_out_late(decoding_->frame());
  const auto number = static_cast<std::uint32_t>(handed_out_++);
  const frame::FrameProgram& program = port_.program(frame_, number);
  const auto blocks = program.transport_blocks(frame::Direction::Downlink);
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    port_.sink->receive(
        {number, frame::kNoPlace},
        {.block = b,
         .verdict = users_.good()[b] != 0 ? frame::Verdict::Good : frame::Verdict::Failed,
         .at = now(),
         .bits = users_.payload().subspan(blocks[b].payload_offset,
                                          (program.plan(blocks[b]).A() + 7) / 8),
         .snr = snr_of(users_.results()[blocks[b].user])});
  if (port_.work != nullptr) port_.work->release(number);
}

// Of frames that nobody had time to decode.
void Radio::hand_out_late(std::uint64_t end) noexcept {
  if (port_.sink == nullptr) return;
  for (; handed_out_ < end; ++handed_out_) {
    const auto number = static_cast<std::uint32_t>(handed_out_);
    const auto blocks = port_.program(frame_, number).transport_blocks(frame::Direction::Downlink);
    for (std::uint32_t b = 0; b < blocks.size(); ++b)
      port_.sink->receive({number, frame::kNoPlace},
                          {.block = b, .verdict = frame::Verdict::Late, .at = now(), .bits = {}});
    late_blocks_.fetch_add(blocks.size(), std::memory_order_relaxed);
    if (port_.work != nullptr) port_.work->release(number);
  }
}

bool Radio::finished() const noexcept {
  if (!unit_.finished()) return false;
  const auto unit = unit_.counters();
  const auto open = unit.downlink_frames - unit.downlink_frames_unverified;
  return decoded_.load(std::memory_order_acquire) == open;
}

std::uint64_t Radio::frames() const noexcept {
  const auto unit = unit_.counters();
  return unit.frames_sent + unit.frames_skipped;
}

void Radio::report() noexcept {
  const std::uint64_t decoded = decoded_blocks_.load(std::memory_order_acquire);
  const auto from = unit_.counters();
  auto& to = store_.counters();
  to.frames_sent = from.frames_sent;
  to.frames_skipped = from.frames_skipped;
  to.downlink_symbols_sent = from.downlink_symbols_sent;
  to.downlink_symbols_substituted = from.downlink_symbols_substituted;
  if (plan_.run.role == Role::Radio) {
    to.packets_received = from.downlink_packets + from.downlink_late + from.downlink_rejected;
    to.packets_sent = from.packets_sent;
    to.rejected_differing = from.downlink_differing;
  }
  to.pacing_error_sum = from.pacing_error_sum;
  to.pacing_error_square = from.pacing_error_square;
  to.pacing_frames = from.pacing_frames;
  // Those that wait for the users are not verified either: at the end nobody will.
  // How many blocks a scheduled frame has, the users' thread alone knows.
  to.downlink_unverified =
      port_.work == nullptr ? from.downlink_blocks - decoded : late_blocks_.load();
}

}  // namespace carillon::app
