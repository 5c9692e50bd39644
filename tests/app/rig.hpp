// A complete baseband unit on threads of its own, fed by the emulated radio through a sender that
// loses, repeats, reorders and forges packets, and a tap that knows what really went out.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/baseband.hpp"
#include "app/shared_cores.hpp"
#include "emulator/faulty_transport.hpp"
#include "emulator/radio_unit.hpp"
#include "emulator/seeded_source.hpp"
#include "emulator/sent_bits.hpp"
#include "emulator/uplink_generator.hpp"
#include "fronthaul/forwarding.hpp"
#include "support/fronthaul.hpp"
#include "support/watched.hpp"

namespace carillon::test {

/// Passes everything on and remembers which packets of which frames went out. The radio's own are
/// resident, forged ones are not.
class Tap final : public fronthaul::ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  /// Added to the frame numbers on the wire from now on.
  void shift(std::uint32_t frames) { shift_ = frames; }
  std::uint64_t sent() const { return sent_; }
  /// Different packets of a frame, by its number on the wire.
  std::uint32_t of_frame(std::uint32_t frame) const {
    const auto at = frames_.find(frame);
    return at == frames_.end() ? 0 : static_cast<std::uint32_t>(at->second.size());
  }

  std::size_t send(std::span<fronthaul::Outgoing> packets) noexcept override {
    for (auto& packet : packets) packet.ids.frame += shift_;
    const std::size_t count = inner_.send(packets);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& ids = packets[i].ids;
      if (packets[i].resident) frames_[ids.frame].insert({ids.symbol, ids.antenna});
    }
    for (auto& packet : packets) packet.ids.frame -= shift_;
    sent_ += count;
    return count;
  }

 private:
  std::uint32_t shift_ = 0;
  std::uint64_t sent_ = 0;
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> frames_;
};

/// 8 × 2, two pilots and six uplink symbols in frames of 20 ms, a budget of 40 frames: slow enough
/// that a machine busy with other things is in time.
inline app::RunPlan patient_plan() {
  app::RunPlan plan;
  plan.cell.antennas = 8;
  plan.cell.users = 2;
  plan.cell.numerology.fft_size = 512;
  plan.cell.numerology.subcarriers = 300;
  plan.cell.numerology.prefix = frame::PrefixKind::Constant;
  plan.cell.numerology.spacing_khz = 3;
  plan.cell.schedule = "PPUUUUUU" + std::string(48, 'G');
  plan.cell.symbols_per_slot = 3;
  plan.cell.uplink.block = frame::BlockSpan::Slot;
  plan.cell.deadlines.uplink_budget_ms = 800;
  plan.cell.ring = 60;
  plan.radio.frames = 4;
  plan.radio.snr_db = {30};
  plan.fronthaul.bbu_port = plan.fronthaul.radio_port = 0;
  return plan;
}

/// What imaginary GPUs can do: frames of 20 ms, or of 140.
inline app::RunPlan plan_with_gpus(std::uint32_t gpus, double budget_ms) {
  app::RunPlan plan = patient_plan();
  plan.cell.numerology.spacing_khz = kWatched ? 1 : 3;
  plan.cell.schedule = "PPUUUU" + std::string(kWatched ? 130 : 50, 'G');
  plan.cell.deadlines.uplink_budget_ms = kWatched ? 1000 : budget_ms;
  plan.cell.uplink.block = frame::BlockSpan::Symbol;
  plan.runtime.gpus = gpus;
  return plan;
}

/// As many as last about as long where frames are longer.
constexpr std::uint32_t frames(std::uint32_t count) { return kWatched ? count / 3 : count; }

/// Counts what comes out of a cell, by verdict.
class BlockCounter final : public frame::TransportSink {
 public:
  void receive(frame::FramePlace, const frame::ReceivedTransportBlock& block) noexcept override {
    ++of_[static_cast<std::size_t>(block.verdict)];
  }
  std::uint64_t operator[](frame::Verdict verdict) const {
    return of_[static_cast<std::size_t>(verdict)];
  }
  std::uint64_t all() const { return of_[0] + of_[1] + of_[2]; }

 private:
  std::array<std::uint64_t, 3> of_{};
};

/// Seeded bits, of which each frame is to release what it took.
class PairedSource final : public frame::TransportSource {
 public:
  PairedSource(const frame::Frame& frame, std::uint64_t seed) : bits_(frame, seed) {}

  void take(frame::FramePlace frame, Tick air_start,
            std::span<const std::uint8_t*> bits) noexcept override {
    const std::lock_guard guard(lock_);
    taken_.insert({frame.radio_frame, frame.place});
    bits_.take(frame, air_start, bits);
  }
  void release(frame::FramePlace frame) noexcept override {
    const std::lock_guard guard(lock_);
    const auto at = taken_.find({frame.radio_frame, frame.place});
    if (at == taken_.end())
      ++strange_;
    else
      taken_.erase(at);
  }
  /// Releases of what was not taken, and what was never released.
  std::size_t unpaired() {
    const std::lock_guard guard(lock_);
    return strange_ + taken_.size();
  }

 private:
  emulator::SeededSource bits_;
  std::mutex lock_;
  std::multiset<std::pair<std::uint32_t, std::uint32_t>> taken_;
  std::size_t strange_ = 0;
};

class Rig {
 public:
  using Cabling =
      std::function<void(fronthaul::Link&, const fronthaul::Layout&, const fronthaul::LinkDepth&)>;
  /// `gpus`: frames are sent to these; null: none. `cabling` puts something into the link.
  explicit Rig(const app::RunPlan& p, emulator::Faults faults = {}, std::uint32_t workers = 2,
               const frame::GpuPool* gpus = nullptr, const Cabling& cabling = {})
      : plan(p),
        frame(plan.cell),
        layout(frame),
        link(open(plan, layout, cabling)),
        path_("/tmp/carillon-rig-" + std::to_string(getpid()) + ".bin"),
        store(path_, sizes(plan, workers)),
        recorder(store, frame),
        tap(*link.radio),
        sender(layout, tap, faults),
        pipeline(frame, {.workers = workers, .elsewhere = gpus != nullptr}),
        accelerator(gpus == nullptr ? nullptr
                                    : std::make_unique<app::Accelerator>(
                                          *gpus,
                                          std::vector<app::Accelerator::Served>{
                                              {pipeline, link.baseband->received_memory().host}},
                                          plan.runtime.gpu_policy)),
        cores({{plan, pipeline}}, workers),
        source(frame, plan.radio.seed),
        sent(frame, plan.radio),
        baseband(std::make_unique<app::Baseband>(
            pipeline, cores.runtime().source(0), *link.baseband, recorder,
            frame::DataPort{.source = &source, .sink = &blocks, .known = &sent},
            gpus == nullptr ? nullptr : &accelerator->cell(0))) {
    if (accelerator != nullptr) {
      accelerator->join(0, cores.runtime().source(0));
      threads_.emplace_back([this] { accelerate(); });
    }
    std::vector<std::uint32_t> threads;
    for (std::uint32_t w = 0; w < workers; ++w) threads.push_back(w);
    recorder.watch(cores.runtime(), 0, threads, {});
    for (std::uint32_t w = 0; w < workers; ++w) threads_.emplace_back([this, w] { play(w); });
  }
  ~Rig() {
    finish();
    std::remove(path_.c_str());
  }

  /// A radio that has just been switched on sends this many frames from number 0 on. The last ones
  /// may not be sent if the machine stands still.
  emulator::RadioCounters radiate(std::uint64_t frames) {
    return radiate_until([] { return false; }, frames);
  }
  /// The same until something has come of it, or so many frames have been on air: on a machine that
  /// has little time for us radios skip many.
  emulator::RadioCounters radiate_until(const std::function<bool()>& enough,
                                        std::uint64_t frames = 3000) {
    radios_.push_back(std::make_unique<emulator::RadioUnit>(
        layout, sender, emulator::RadioUnit::Options{.replay = plan.radio.frames}));
    auto& radio = *radios_.back();
    emulator::UplinkGenerator generator(frame, plan.radio);
    for (std::uint32_t i = 0; i < plan.radio.frames; ++i)
      generator.generate(i, [&](std::uint32_t symbol, std::uint32_t antenna) {
        return radio.uplink_samples(i, symbol, antenna);
      });
    radio.start(now() + kMillisecond, frames);
    while (!radio.finished()) {
      if (enough()) radio.stop();
      if (!radio.step()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    while (!sender.flush()) std::this_thread::yield();
    return radio.counters();
  }
  /// Waits for it for longer than any busy machine takes; whether it came about.
  bool wait_until(const std::function<bool()>& so) const {
    for (const Tick begin = now(); now() - begin < 60 * kSecond;) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  void silence(std::uint32_t frames) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(frame.duration() * frames));
  }

  /// Waits for the frames in flight, ends the threads, settles the records.
  void finish() {
    if (threads_.empty()) return;
    working.store(true);
    conducting.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // what is on the wire
    baseband->stop_opening();
    for (const Tick begin = now(); !baseband->drained() && now() - begin < 20 * kSecond;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stopping_.store(true);
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    baseband->close();
  }

  /// Ends the baseband unit and the radios for this.
  bool all_buffers_returned() {
    finish();
    baseband.reset();
    radios_.clear();
    return all_returned(link);
  }

  std::vector<telemetry::FrameRecord> records() {
    std::vector<telemetry::FrameRecord> all;
    for (std::uint64_t i = 0; i < store.frames().count(); ++i) all.push_back(store.frames()[i]);
    return all;
  }
  std::uint64_t refused() {
    std::uint64_t count = 0;
    for (const auto& record : records()) count += record.nack == telemetry::kRefused;
    return count;
  }
  /// Frames of the run that were sent to GPUs.
  std::uint64_t sent_away() const {
    return baseband->frames_sent_away() - recorder.ghosts_sent_away();
  }
  std::size_t blocks_of_a_frame() const {
    return frame.program().transport_blocks(frame::Direction::Uplink).size();
  }
  std::uint32_t packets() const { return layout.packets(fronthaul::Carries::Uplink); }

  const app::RunPlan plan;
  const frame::Frame frame;
  const fronthaul::Layout layout;
  fronthaul::Link link;

 private:
  const std::string path_;

 public:
  telemetry::Store store;
  app::Recorder recorder;
  Tap tap;
  emulator::FaultyTransport sender;
  frame::Pipeline pipeline;
  std::unique_ptr<app::Accelerator> accelerator;
  app::SharedCores cores;
  PairedSource source;
  emulator::SentBits sent;
  BlockCounter blocks;
  std::unique_ptr<app::Baseband> baseband;
  std::atomic<bool> working{true};     // false: the workers stand still, receivers go on
  std::atomic<bool> conducting{true};  // false: nothing is announced, sent or ended

 private:
  static constexpr std::uint32_t kRadios = 4;  // one after another

  static fronthaul::LinkDepth depth(const app::RunPlan& plan) {
    return {plan.cell.ring + 4, plan.cell.ring, plan.radio.frames * kRadios, 8};
  }
  static fronthaul::Link open(const app::RunPlan& plan, const fronthaul::Layout& layout,
                              const Cabling& cabling) {
    auto link = open_both(plan.fronthaul, layout, depth(plan));
    if (cabling) cabling(link, layout, depth(plan));
    return link;
  }
  static telemetry::Store::Sizes sizes(const app::RunPlan& plan, std::uint32_t workers) {
    telemetry::Store::Sizes sizes;
    sizes.users = plan.cell.users;
    sizes.opcodes.assign(frame::kOpNames.begin(), frame::kOpNames.end());
    for (std::uint32_t w = 0; w < workers; ++w)
      sizes.threads.push_back("worker " + std::to_string(w));
    return sizes;
  }

  // Worker 0 conducts; receiver r belongs to worker r modulo their number.
  void play(std::uint32_t worker) {
    const auto workers = static_cast<std::uint32_t>(store.threads().capacity());
    while (!stopping_.load()) {
      bool did = false;
      for (std::uint32_t r = worker; r < plan.fronthaul.receivers; r += workers)
        did |= baseband->receive(r);
      if (worker == 0 && conducting.load()) did |= baseband->conduct();
      if (working.load()) did |= cores.runtime().work(worker);
      if (!did) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  void accelerate() {
    while (!stopping_.load())
      if (!accelerator->step() && !accelerator->busy())
        std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  std::vector<std::unique_ptr<emulator::RadioUnit>> radios_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_{false};
};

/// What holds in every run, whatever happened in it.
inline void expect_conservation(Rig& rig) {
  const auto& c = rig.store.counters();
  const auto lates = c.lates_lost + c.lates_fronthaul + c.lates_processing +
                     c.lates_operating_system + c.lates_machine_stall;
  EXPECT_EQ(c.frames_seen, c.frames_completed + lates);
  EXPECT_EQ(c.frames_seen, rig.store.frames().count());
  EXPECT_EQ(c.frames_nacked, c.overload_nacks);

  telemetry::FrameRecord sum;
  std::set<std::uint64_t> numbers;
  for (const auto& record : rig.records()) {
    numbers.insert(record.frame);
    sum.completed += record.completed;
    sum.nack += record.nack != 0;
    sum.uplink_blocks += record.uplink_blocks;
    sum.uplink_failed += record.uplink_failed;
    sum.code_blocks += record.code_blocks;
    sum.iterations += record.iterations;
    EXPECT_EQ(record.completed == 0, record.late_cause != 0) << "frame" << record.frame;
  }
  EXPECT_EQ(numbers.size(), c.frames_seen);
  EXPECT_EQ(sum.completed, c.frames_completed);
  EXPECT_EQ(sum.nack, c.frames_nacked);
  EXPECT_EQ(sum.uplink_blocks, c.uplink_blocks);
  EXPECT_EQ(sum.uplink_failed, c.uplink_failed);

  telemetry::UserRecord users;
  for (std::uint32_t u = 0; u < rig.plan.cell.users; ++u) {
    const auto& user = rig.store.users()[u];
    users.uplink_blocks += user.uplink_blocks;
    users.uplink_failed += user.uplink_failed;
    users.code_blocks += user.code_blocks;
    users.iterations += user.iterations;
  }
  EXPECT_EQ(users.uplink_blocks, c.uplink_blocks);
  EXPECT_EQ(users.uplink_failed, c.uplink_failed);
  EXPECT_EQ(users.code_blocks, sum.code_blocks);
  EXPECT_EQ(users.iterations, sum.iterations);

  std::map<std::uint32_t, std::uint64_t> nacks;
  for (std::uint64_t i = 0; i < rig.store.nacks().count(); ++i) {
    const auto& nack = rig.store.nacks()[i];
    ++nacks[nack.kind];
    EXPECT_NE(nack.cause, telemetry::kCauseToCome) << "frame" << nack.frame;
    EXPECT_EQ(numbers.count(nack.frame), 1U) << "frame" << nack.frame;
  }
  EXPECT_EQ(nacks[static_cast<std::uint32_t>(telemetry::NackKind::Overload)], c.overload_nacks);
  EXPECT_EQ(nacks[static_cast<std::uint32_t>(telemetry::NackKind::Harq)], c.harq_nacks);
  EXPECT_GE(c.harq_nacks, c.uplink_failed);

  EXPECT_EQ(rig.source.unpaired(), 0U);
  EXPECT_EQ(rig.blocks.all(), rig.baseband->frames_ended() * rig.blocks_of_a_frame());
  EXPECT_EQ(rig.blocks[frame::Verdict::Good], c.uplink_blocks - c.uplink_failed);

  const auto in = rig.baseband->ingest().counters();
  std::uint64_t rejected = 0;
  for (const auto count : in.rejected) rejected += count;
  EXPECT_EQ(in.received, in.accepted + rejected + in.refused + in.reports);
  EXPECT_EQ(rig.baseband->cell().live(), 0U);
  EXPECT_TRUE(rig.all_buffers_returned());
}

}  // namespace carillon::test
