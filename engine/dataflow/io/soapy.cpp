#include "dataflow/io/soapy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "base/fields.hpp"

namespace carillon::dataflow {
namespace {

constexpr long kWait_us = 100'000;        // for samples, between looks at whether to end
constexpr int kMostWaits = 50;            // without any: the device is no more
constexpr std::size_t kAtOnce = 1 << 14;  // samples
constexpr double kRateError = 1e-3;       // more is another rate

class SoapyReader final : public Reader {
 public:
  explicit SoapyReader(const SoapyPlan& plan)
      : plan_(plan), library_(plan.library), wanted_hz_(plan.frequency_hz) {}
  ~SoapyReader() override { close_device(); }

  void open() override {
    if (!library_.why().empty()) throw std::runtime_error(name() + ": " + library_.why());
    device_ = library_.make(plan_.device.c_str());
    if (device_ == nullptr) fail("opening it");
    try {
      set_up();
    } catch (const std::exception&) {
      close_device();
      throw;
    }
  }
  void close() noexcept override { close_device(); }
  bool is_live() const noexcept override { return true; }

  bool read(Feed& feed, const Stop&) override {
    retune(feed);
    // Where there is no room samples are fetched all the same, so that the device counts on.
    const std::size_t room = std::min(feed.room(), kAtOnce);
    void* const to = room > 0 ? static_cast<void*>(feed.place()) : spare_.data();
    int flags = 0;
    long long time_ns = 0;
    const int got =
        library_.read(device_, stream_, &to, room > 0 ? room : kAtOnce, &flags, &time_ns, kWait_us);
    if (got > 0)
      take(feed, static_cast<std::size_t>(got), room > 0, flags, time_ns);
    else if (got == soapy::kOverflow)
      overflowed();
    else if (got == 0 || got == soapy::kTimeout)
      silent();
    else
      throw std::runtime_error(name() + ": reading it: " + library_.error_text(got) +
                               "; is it still plugged in?");
    return true;
  }

  void set(std::string_view, double value) noexcept override {
    wanted_hz_.store(value, std::memory_order_relaxed);
  }
  std::vector<Figure> figures() const override { return {{"overflows", "", overflows_.value()}}; }

 private:
  std::string name() const { return "soapy " + plan_.device; }
  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error(name() + ": " + what + ": " + library_.last_error());
  }
  void require(int status, const char* what) const {
    if (status != 0) fail(what);
  }

  void set_up() {
    const auto [channel, way] = std::pair{plan_.channel, soapy::kReceive};
    if (!plan_.antenna.empty())
      require(library_.set_antenna(device_, way, channel, plan_.antenna.c_str()), "antenna");
    require(library_.set_rate(device_, way, channel, plan_.rate_hz), "rate_hz");
    const double rate = library_.rate(device_, way, channel);
    if (std::abs(rate - plan_.rate_hz) > kRateError * plan_.rate_hz)
      throw std::runtime_error(name() + ": makes " + detail::number_text(rate) +
                               " samples a second where the graph says " +
                               detail::number_text(plan_.rate_hz));
    tune(plan_.frequency_hz);
    if (library_.has_gain_mode(device_, way, channel))
      require(library_.set_gain_mode(device_, way, channel, !plan_.gain_db), "gain_db");
    if (plan_.gain_db) require(library_.set_gain(device_, way, channel, *plan_.gain_db), "gain_db");
    stream_ = library_.set_up(device_, way, "CF32", &channel, 1, nullptr);
    if (stream_ == nullptr) fail("a stream of it");
    require(library_.activate(device_, stream_, 0, 0, 0), "starting it");
    spare_.resize(2 * kAtOnce);
  }

  void close_device() noexcept {
    if (stream_ != nullptr) {
      library_.deactivate(device_, stream_, 0, 0);
      library_.close(device_, stream_);
    }
    if (device_ != nullptr) library_.unmake(device_);
    stream_ = nullptr;
    device_ = nullptr;
  }

  void tune(double frequency_hz) {
    require(library_.set_frequency(device_, soapy::kReceive, plan_.channel, frequency_hz, nullptr),
            "frequency_hz");
    tuned_hz_ = frequency_hz;
  }

  void retune(Feed& feed) {
    const double wanted = wanted_hz_.load(std::memory_order_relaxed);
    if (wanted != tuned_hz_) tune(wanted);
    // What finds no room among the tags is told of at a later sample.
    if (begun_ && told_hz_ != tuned_hz_ && feed.tag({0, TagKind::Frequency, tuned_hz_, {}}))
      told_hz_ = tuned_hz_;
  }

  void take(Feed& feed, std::size_t samples, bool has_room, int flags, long long time_ns) {
    waits_ = 0;
    if (!begun_) tell_of_the_first(feed, samples);
    tell_of_gap(feed, flags, time_ns);
    const double took_ns = 1e9 * static_cast<double>(samples) / plan_.rate_hz;
    next_ns_ = time_ns + std::llround(took_ns);
    knows_next_ = (flags & soapy::kHasTime) != 0;
    if (has_room)
      feed.wrote(samples);
    else
      feed.lost(samples);
  }

  void tell_of_the_first(Feed& feed, std::size_t samples) {
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    const double since = static_cast<double>(samples) / plan_.rate_hz;
    feed.tag({0, TagKind::Time, now.count() - since, {}});
    feed.tag({0, TagKind::Rate, plan_.rate_hz, {}});
    feed.tag({0, TagKind::Frequency, tuned_hz_, {}});
    told_hz_ = tuned_hz_;
    begun_ = true;
  }

  void overflowed() {
    overflows_.add(1);
    has_gap_ = true;
  }

  // As many samples as the device's clock went on without, if it has one.
  void tell_of_gap(Feed& feed, int flags, long long time_ns) {
    if (!has_gap_) return;
    has_gap_ = false;
    const bool is_known = knows_next_ && (flags & soapy::kHasTime) != 0 && time_ns > next_ns_;
    const double missing =
        is_known ? std::round(static_cast<double>(time_ns - next_ns_) * plan_.rate_hz / 1e9) : 0;
    if (missing >= 1)
      feed.lost(static_cast<std::uint64_t>(missing));
    else
      feed.tag({0, TagKind::Overflow, 0, {}});
  }

  void silent() {
    if (++waits_ >= kMostWaits)
      throw std::runtime_error(name() + ": makes no samples any more; is it still plugged in?");
  }

  SoapyPlan plan_;
  soapy::Library library_;
  soapy::Device* device_ = nullptr;
  soapy::Stream* stream_ = nullptr;
  std::atomic<double> wanted_hz_;
  double tuned_hz_ = 0, told_hz_ = 0;
  bool begun_ = false, has_gap_ = false, knows_next_ = false;
  long long next_ns_ = 0;
  int waits_ = 0;
  std::vector<float> spare_;
  Count overflows_;
};

}  // namespace

std::unique_ptr<Reader> soapy_reader(const SoapyPlan& plan) {
  return std::make_unique<SoapyReader>(plan);
}

}  // namespace carillon::dataflow
