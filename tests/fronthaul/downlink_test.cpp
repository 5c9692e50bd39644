#include "fronthaul/downlink.hpp"

#include <array>
#include <stdexcept>
#include <thread>

#include "support/fronthaul.hpp"

namespace carillon::fronthaul {
namespace {

void write_symbol(DownlinkSender& sender, const Layout& layout, std::uint32_t frame,
                  std::uint32_t slot, std::uint32_t symbol) {
  for (std::uint32_t a = 0; a < layout.antennas(); ++a)
    test::write_stamps(sender.samples(slot, symbol, a), layout.symbols()[symbol].samples, frame,
                       symbol, a);
}

std::size_t receive_stamped(Transport& radio, const Layout& layout, std::size_t wanted) {
  std::size_t good = 0;
  for (const Tick begin = now(); good < wanted && now() - begin < 20 * kSecond;) {
    std::array<Received, 32> batch;
    const std::size_t count = radio.receive(0, batch);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& p = batch[i];
      good += check(p.ids, p.bytes, layout, Carries::Downlink) == Reject::None &&
              test::has_stamps(p.samples, layout.symbols()[p.ids.symbol].samples, p.ids.frame,
                               p.ids.symbol, p.ids.antenna);
      radio.recycle({&p.buffer, 1});
    }
  }
  return good;
}

TEST(DownlinkSender, SendsSamplesFromWhereTheyWereWritten) {
  const Layout layout = test::small_layout(100);  // more than one batch
  for (auto& [name, link] : test::each_link(layout)) {
    {
      DownlinkSender sender(layout, *link.baseband, 2);
      for (std::uint32_t frame = 0; frame < 6; ++frame)
        for (const auto symbol : layout.symbols(Carries::Downlink)) {
          write_symbol(sender, layout, frame, frame % 2, symbol);
          EXPECT_EQ(sender.send(frame, frame % 2, symbol), 100U) << name;
          EXPECT_EQ(receive_stamped(*link.radio, layout, 100), 100U) << name;
        }
      EXPECT_EQ(sender.sent(), 1200U) << name;
      EXPECT_EQ(sender.unsent(), 0U) << name;
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(DownlinkSender, SymbolsMayBeSentFromSeveralThreadsAtOnce) {
  const Layout layout = test::small_layout();
  for (auto& [name, link] : test::each_link(layout, 1, {8, 4, 4, 40})) {
    {
      DownlinkSender sender(layout, *link.baseband, 2);
      const auto work = [&](std::uint32_t symbol) {
        for (std::uint32_t frame = 0; frame < 30; ++frame) {
          write_symbol(sender, layout, frame, frame % 2, symbol);
          sender.send(frame, frame % 2, symbol);
        }
      };
      std::thread one(work, 4), two(work, 5);
      const std::size_t good = receive_stamped(*link.radio, layout, 240);
      one.join();
      two.join();
      EXPECT_EQ(good, 240U) << name;
      EXPECT_EQ(sender.sent(), 240U) << name;
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(DownlinkSender, ARadioThatTakesNothingDoesNotStopIt) {
  const Layout layout = test::small_layout();
  for (auto& [name, link] : test::each_link(layout, 1, {8, 2, 4, 2})) {
    {
      DownlinkSender sender(layout, *link.baseband, 2);
      for (std::uint32_t frame = 0; frame < 500; ++frame) sender.send(frame, frame % 2, 4);
      EXPECT_EQ(sender.sent() + sender.unsent(), 2000U) << name;
      if (name == "shm") {
        EXPECT_GT(sender.unsent(), 0U);
      }
      std::array<Received, 32> batch;
      while (const std::size_t count = link.radio->receive(0, batch))
        for (std::size_t i = 0; i < count; ++i) link.radio->recycle({&batch[i].buffer, 1});
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(DownlinkSender, SaysWhenThereAreTooFewBuffers) {
  const Layout layout = test::small_layout();
  for (auto& [name, link] : test::each_link(layout)) {
    std::string text;
    try {
      DownlinkSender sender(layout, *link.baseband, 10'000);
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    EXPECT_TRUE(text.find("10000 downlink frames in flight need 80000") != std::string::npos)
        << text;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

}  // namespace
}  // namespace carillon::fronthaul
