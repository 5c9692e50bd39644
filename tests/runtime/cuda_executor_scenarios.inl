// The executor of real devices on imaginary ones: every policy, random graphs, any order in which
// devices could do what they are told, and faults at any moment. A program that includes this says
// by which driver (make_gpus).
#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/cuda_rig.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

using test::ImaginaryDevices;
using test::Refusal;

TEST(CudaExecutor, ComputesWhatTheGraphSaysUnderEveryPolicy) {
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4));
      rig.run(12);
      EXPECT_EQ(rig.done(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      EXPECT_EQ(rig.again(), 0U) << policy << " " << seed;
      expect_nothing_left(rig);
    }
}

// Calls of the driver cost the host time: only what others read has an event, and one is enough for
// what goes together; what is done is not waited for.
TEST(CudaExecutor, OrdersNoMoreThanReadersNeed) {
  for (const std::string_view policy : pool_policy_names()) {
    std::uint64_t launches = 0, instructions = 0, marks = 0, reads = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Rig rig(seed, policy, 1);
      rig.run(12);
      const std::uint64_t read = 12 * rig.read_by_others();
      EXPECT_LE(rig.gpus().records(), read) << policy << " " << seed;
      if (policy == "task-level") {  // which issues what is ready, each in a stream of its own
        EXPECT_EQ(rig.gpus().records(), read) << seed;
        EXPECT_EQ(rig.gpus().waits(), 0U) << seed;
      }
      marks += rig.gpus().records();
      reads += read;
      launches += rig.work().launches();
      instructions += 12 * rig.instructions();
    }
    if (policy == "task-level") {
      EXPECT_EQ(launches, instructions);
    } else {
      EXPECT_LT(launches, instructions) << policy;
      EXPECT_LT(marks, reads) << policy;
    }
  }
}

// Nor is any frame of many stuck because all that wait for samples have taken the room for what
// brings these.
TEST(CudaExecutor, HasRoomForEveryInstructionOfManyCells) {
  for (const std::string_view policy : pool_policy_names()) {
    Rig rig(1, policy, 2, kLong, 64);
    EXPECT_EQ(rig.executor().room(), rig.places());
    rig.run(3);
    EXPECT_EQ(rig.done(), 3 * rig.sources())
        << policy << " " << rig.dropped() << " " << rig.refused();
    expect_nothing_left(rig);
  }
}

// Hardware has fewer streams than frames have: what shares one waits for nobody's samples there.
TEST(CudaExecutor, AFrameWithoutSamplesKeepsNoOtherWaiting) {
  for (const std::string_view policy : pool_policy_names()) {
    Rig rig(3, policy, 1, kLong, 24);
    rig.withhold(true);
    bool others = false;
    rig.run(2, [&](Rig& r) {
      if (r.done() < 2 * (r.sources() - 1)) return;
      others = true;
      r.withhold(false);
    });
    EXPECT_TRUE(others) << policy;
    EXPECT_EQ(rig.done(), 2 * rig.sources()) << policy;
    expect_nothing_left(rig);
  }
}

// Any of them dies at any time, also between the orders for one instruction, and is back later,
// with nothing of what it had.
TEST(CudaExecutor, LosesNoFrameWithADevice) {
  std::uint64_t again = 0;
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4), 2 * kMillisecond);
      rig.expect_faults();
      rig.run(12, [](Rig& r) {
        const auto device = static_cast<std::uint16_t>(r.dice().below(r.gpus().count()));
        if (r.dice().chance(0.01)) {
          r.gpus().lose(device);
          r.work().forget(device);
        }
        if (r.dice().chance(0.01)) r.gpus().refuse_after(1 + r.dice().below(50));
        if (r.dice().chance(0.1)) {
          r.gpus().mend(device);
          r.executor().recover();
        }
      });
      EXPECT_EQ(rig.done() + rig.refused(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      expect_nothing_left(rig);
      again += rig.again();
    }
  EXPECT_GT(again, 100U);
}

// One that stands still for longer than it is waited for; when it goes on, it finishes what it had
// before it is used again.
TEST(CudaExecutor, WaitsForADeviceThatHangsAndGivesItUpInTime) {
  std::uint64_t again = 0;
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4), 100 * kMicrosecond);
      rig.expect_faults();
      rig.run(12, [](Rig& r) {
        const auto device = static_cast<std::uint16_t>(r.dice().below(r.gpus().count()));
        if (r.dice().chance(0.01)) r.gpus().hang(device);
        if (r.dice().chance(0.02)) r.gpus().mend(device);
        r.executor().recover();
      });
      EXPECT_EQ(rig.done() + rig.refused(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      expect_nothing_left(rig);
      again += rig.again();
    }
  EXPECT_GT(again, 100U);
}

// The executor takes such a device for failed, and nothing is known to be done that it was given:
// that costs this device alone, and no longer than until it has finished and is asked again.
TEST(CudaExecutor, OutlivesOrdersThatAreRefusedOnce) {
  std::uint64_t refusals = 0, again = 0;
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4), 2 * kMillisecond);
      std::array<std::uint32_t, 4> idle{};  // steps that a device did nothing and was not used
      rig.run(12, [&](Rig& r) {
        if (r.dice().chance(0.05)) r.gpus().refuse_after(1 + r.dice().below(50), Refusal::Once);
        r.executor().recover();
        for (std::uint16_t d = 0; d < r.gpus().count(); ++d) {
          idle[d] = r.up(d) || !r.gpus().idle(d) ? 0 : idle[d] + 1;
          EXPECT_LE(idle[d], 4U) << policy << " " << seed;
        }
      });
      EXPECT_EQ(rig.done() + rig.refused(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      EXPECT_LE(rig.executor().failures(), rig.gpus().refusals()) << policy << " " << seed;
      expect_nothing_left(rig);
      refusals += rig.gpus().refusals();
      again += rig.again();
    }
  EXPECT_GT(refusals, 100U);
  EXPECT_GT(again, 100U);
}

// A context that is lost stays so as long as the process lives: the others go on, but for those
// that read what it had, and come back.
TEST(CudaExecutor, GoesOnWithTheDevicesThatAreLeft) {
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(2 + seed % 3), 2 * kMillisecond);
      rig.expect_faults();
      std::uint32_t left = rig.gpus().count();
      rig.run(12, [&](Rig& r) {
        if (left > 1 && r.dice().chance(0.01)) r.gpus().lose(static_cast<std::uint16_t>(--left));
        for (std::uint16_t d = 0; d < left; ++d) r.gpus().mend(d);
        r.executor().recover();
      });
      EXPECT_EQ(rig.done() + rig.refused(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      EXPECT_LT(rig.refused(), rig.done()) << policy << " " << seed;
      expect_nothing_left(rig);
    }
}

using Card = ImaginaryDevices::Card;

// What waits for somebody stands in front of all that comes later in the same hardware queue.
TEST(SharedQueues, StandStillWhereAnAwaitIsGivenBeforeWhatItAwaits) {
  for (const bool before : {true, false}) {
    const Gpus gpus = make_gpus(2, {}, 1);
    gpus.devices->share_queues(1, Card::One);
    const auto await = [&] {
      EXPECT_TRUE(gpus.driver->use(1).ok());
      EXPECT_TRUE(gpus.driver->await(1, 0, 0, 0, 1).ok());
    };
    if (before) await();
    EXPECT_TRUE(gpus.driver->use(0).ok());
    EXPECT_TRUE(gpus.driver->tell(0, 0, 0, 1).ok());
    if (!before) await();
    EXPECT_EQ(gpus.devices->step(), !before);
    gpus.driver->release(0, 0, 1);
  }
}

// All that an order may wait for has been given before it, so the oldest of all orders never waits:
// whatever streams share, and however few queues there are.
TEST(CudaExecutor, NeverStandsStillInQueuesThatStreamsShare) {
  for (const std::string_view policy : pool_policy_names())
    for (const Card card : {Card::Each, Card::One})
      for (const std::uint32_t queues : {1U, 2U, 8U})
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
          Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4));
          rig.gpus().share_queues(queues, card);
          rig.run(6);
          EXPECT_EQ(rig.done(), 6 * rig.sources()) << policy << " " << queues << " " << seed;
          EXPECT_EQ(rig.wrong(), 0U) << policy << " " << queues << " " << seed;
          EXPECT_EQ(rig.again(), 0U) << policy << " " << queues << " " << seed;
          expect_nothing_left(rig);
        }
}

// A device that hangs holds up what shares its queues until it is given up.
TEST(CudaExecutor, OutlivesFaultsInQueuesThatStreamsShare) {
  std::uint64_t again = 0;
  for (const std::string_view policy : pool_policy_names())
    for (const Card card : {Card::Each, Card::One})
      for (const std::uint32_t queues : {1U, 2U, 8U})
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
          Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4), 2 * kMillisecond);
          rig.gpus().share_queues(queues, card);
          rig.expect_faults();
          rig.run(6, [](Rig& r) {
            const auto device = static_cast<std::uint16_t>(r.dice().below(r.gpus().count()));
            if (r.dice().chance(0.005)) r.gpus().hang(device);
            if (r.dice().chance(0.005)) {
              r.gpus().lose(device);
              r.work().forget(device);
            }
            if (r.dice().chance(0.01)) r.gpus().refuse_after(1 + r.dice().below(50), Refusal::Once);
            if (r.dice().chance(0.02)) r.gpus().mend(device);
            r.executor().recover();
          });
          EXPECT_EQ(rig.done() + rig.refused(), 6 * rig.sources())
              << policy << " " << queues << " " << seed;
          EXPECT_EQ(rig.wrong(), 0U) << policy << " " << queues << " " << seed;
          expect_nothing_left(rig);
          again += rig.again();
        }
  EXPECT_GT(again, 100U);
}

// The host loads a kernel when it is first launched: that is no silence of the device.
TEST(CudaExecutor, LaunchesMayTakeLongerThanADeviceIsWaitedFor) {
  for (const std::string_view policy : pool_policy_names()) {
    Rig rig(3, policy, 1, 5 * kMillisecond);
    rig.work().launching = 60 * kMillisecond;
    rig.run(6);
    EXPECT_EQ(rig.done(), 6 * rig.sources()) << policy;
    EXPECT_EQ(rig.again(), 0U) << policy;
  }
}

TEST(CudaExecutor, GivesUpWhatIsAbandonedAndKeepsTheRestRight) {
  std::uint64_t dropped = 0;
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig(seed, policy, static_cast<std::uint16_t>(1 + seed % 4));
      rig.run(12, [](Rig& r) {
        if (r.dice().chance(0.05)) r.abandon();
      });
      EXPECT_EQ(rig.done() + rig.dropped(), 12 * rig.sources()) << policy << " " << seed;
      EXPECT_EQ(rig.wrong(), 0U) << policy << " " << seed;
      expect_nothing_left(rig);
      dropped += rig.dropped();
    }
  EXPECT_GT(dropped, 100U);
}

}  // namespace
}  // namespace carillon::runtime
