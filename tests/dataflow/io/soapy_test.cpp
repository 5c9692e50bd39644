// A radio behind SoapySDR's C interface: what is asked of it, and what it does wrong.
#include "dataflow/io/soapy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "dataflow/io/tag_lines.hpp"
#include "support/fake_soapy.hpp"

namespace carillon::dataflow {
namespace {

constexpr int kStreamError = -2;

class Soapy : public testing::Test {
 protected:
  Soapy() : radio_(test::fake_radio(CARILLON_FAKE_SOAPY)) {
    radio_ = {};
    plan_.device = "driver=fake";
    plan_.rate_hz = 1e6;
    plan_.frequency_hz = 100e6;
    plan_.library = CARILLON_FAKE_SOAPY;
    radio_.after = kStreamError;
  }

  DeviceSource& started(std::uint64_t room = 1 << 16) {
    source_ = std::make_unique<DeviceSource>(Items::Complex, soapy_reader(plan_), room);
    source_->start();
    return *source_;
  }
  // Until it has done all that its script says.
  std::string played() {
    while (!source_->over()) std::this_thread::yield();
    return source_->failure();
  }
  std::vector<float> taken(std::size_t samples) {
    std::vector<float> all(2 * samples), real;
    source_->tags_out.clear();
    source_->execute(nullptr, all.data(), samples);
    for (std::size_t i = 0; i < samples; ++i) real.push_back(all[2 * i]);
    return real;
  }
  std::vector<std::string> tags() const {
    std::vector<std::string> lines;
    for (const Tag& tag : source_->tags_out.tags())
      if (tag.kind != TagKind::Time) lines.push_back(tag_line(tag));
    return lines;
  }
  double figure(const std::string& name) const {
    for (const Figure& each : source_->figures())
      if (each.name == name) return each.value;
    return -1;
  }

  test::FakeRadio& radio_;
  SoapyPlan plan_;
  std::unique_ptr<DeviceSource> source_;
};

TEST_F(Soapy, IsSetUpAsThePlanSays) {
  plan_.antenna = "RX2";
  plan_.gain_db = 31.5;
  radio_.script = {100};
  started();
  EXPECT_EQ(played(), "soapy driver=fake: reading it: STREAM_ERROR; is it still plugged in?");
  EXPECT_EQ(source_->ready(), 100);
  EXPECT_EQ(taken(100)[99], 99);
  EXPECT_EQ(tags(), (std::vector<std::string>{"0 rate 1000000", "0 frequency 100000000"}));
  EXPECT_TRUE(source_->over());
  EXPECT_THROW(source_->finish(), std::runtime_error);
  EXPECT_EQ(radio_.open, 0);
  EXPECT_EQ(radio_.antenna, "RX2");
  EXPECT_EQ(radio_.gain, 31.5);
  EXPECT_FALSE(radio_.automatic_gain);
  EXPECT_EQ(radio_.frequency, 100e6);
}

TEST_F(Soapy, SetsItsGainItselfIfNoneIsGiven) {
  started();
  EXPECT_TRUE(radio_.automatic_gain);
  EXPECT_EQ(radio_.gain, -1);
}

TEST_F(Soapy, TellsByItsClockHowManySamplesAnOverflowCost) {
  radio_.script = {100, soapy::kOverflow, 50};
  radio_.has_time = true;
  radio_.skipped_by_overflow = 1234;
  started();
  played();
  EXPECT_EQ(taken(150)[100], 1334);
  EXPECT_EQ(tags().back(), "100 overflow 1234");
  EXPECT_EQ(figure("overflows"), 1);
  EXPECT_EQ(figure("lost"), 1234);
}

TEST_F(Soapy, TellsOfAnOverflowAlsoWithoutAClock) {
  radio_.script = {100, soapy::kOverflow, soapy::kTimeout, 50};
  started();
  played();
  taken(150);
  EXPECT_EQ(tags().back(), "100 overflow 0");
  EXPECT_EQ(figure("overflows"), 1);
}

TEST_F(Soapy, CountsWhatFindsNoRoom) {
  radio_.script = {512, 300, 1};
  radio_.after = soapy::kTimeout;
  started(512);
  EXPECT_EQ(played(), "soapy driver=fake: makes no samples any more; is it still plugged in?");
  EXPECT_EQ(source_->ready(), 512);
  EXPECT_EQ(figure("lost"), 301);
}

TEST_F(Soapy, IsTunedWhileItRuns) {
  radio_.after = 1;
  DeviceSource& source = started();
  source.set("frequency_hz", 101e6);
  // Behind it may come what was lost while nobody took anything.
  const auto told = [&] {
    return std::ranges::any_of(
        tags(), [](const std::string& tag) { return tag.ends_with("frequency 101000000"); });
  };
  while (!told()) taken(source.ready());
  source.finish();
  EXPECT_EQ(radio_.frequency, 101e6);
}

TEST_F(Soapy, WhatIsRefusedIsNamedAndLeavesNothingOpen) {
  plan_.antenna = "RX9";
  plan_.gain_db = 1;
  const std::pair<const char*, const char*> cases[] = {
      {"device", "opening it: no device matches"}, {"antenna", "antenna: no such antenna"},
      {"rate", "rate_hz: no such rate"},           {"frequency", "frequency_hz: no such frequency"},
      {"gain", "gain_db: no such gain"},           {"stream", "a stream of it: no such stream"},
  };
  for (const auto& [what, why] : cases) {
    radio_.refuses = what;
    try {
      started();
      ADD_FAILURE() << what;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string("soapy driver=fake: ") + why);
    }
    EXPECT_EQ(radio_.open, 0);
  }
  radio_.refuses = "";
  radio_.rate_error = 2000;
  EXPECT_THROW(started(), std::runtime_error);
}

TEST_F(Soapy, NeedsItsLibrary) {
  plan_.library = "libNone.so";
  try {
    started();
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "soapy driver=fake: no libNone.so; apt install libsoapysdr0.8, and the module of "
                 "your device");
  }
}

}  // namespace
}  // namespace carillon::dataflow
