// The driver and the memory of real devices over an imaginary CUDA runtime: what they ask for, and
// what they do where that is refused.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/driver.hpp"
#include "support/fake_cudart.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using test::FakeCudart;
using test::Refusal;

constexpr cuda::DriverOptions kOptions = {.first = 2, .urgent = 3, .background = 2, .words = 5};

std::unique_ptr<cuda::Driver> make(const FakeCudart& cudart,
                                   const cuda::DriverOptions& options = kOptions) {
  cuda::Status status;
  auto driver = cuda::make_driver(cudart.devices(), options, status);
  EXPECT_EQ(driver != nullptr, status.ok());
  return driver;
}

void work_off(FakeCudart& cudart) {
  while (cudart.step()) {
  }
}

TEST(RealDriver, MakesWhatItIsAskedForOnEachDeviceAndGivesItBack) {
  FakeCudart cudart(3, 1);
  auto driver = make(cudart);
  ASSERT_TRUE(driver != nullptr);
  EXPECT_EQ(driver->devices(), 3U);
  EXPECT_EQ(cudart.things(), 3U * (7 + 5 + 1));
  for (std::uint16_t d = 0; d < 3; ++d)
    for (std::uint32_t word = 0; word < 5; ++word) EXPECT_EQ(driver->told(d, word), 0U);
  driver.reset();
  EXPECT_EQ(cudart.things(), 0U);
}

// Also for what one device awaits of another.
TEST(RealDriver, WaitsAtItsEndForAllThatWasOrdered) {
  FakeCudart cudart(2, 1);
  auto driver = make(cudart);
  bool done = false;
  EXPECT_TRUE(driver->use(0).ok());
  EXPECT_TRUE(driver->await(0, 0, 1, 2, 1).ok());
  EXPECT_TRUE(cudart.add(driver->stream(0, 0), [&] { done = true; }).ok());
  EXPECT_TRUE(driver->use(1).ok());
  EXPECT_TRUE(driver->tell(1, 0, 2, 1).ok());
  driver.reset();
  EXPECT_TRUE(done);
}

TEST(RealDriver, HasAsManyLevelsOfPriorityAsTheDeviceAndItself) {
  using Levels = std::vector<int>;
  const auto of = [](int greatest) {
    FakeCudart cudart(1, 1, {.greatest = greatest});
    const auto driver = make(cudart, {.first = 1, .urgent = 2, .background = 1, .words = 1});
    return cudart.priorities(0);
  };
  EXPECT_EQ(of(-5), (Levels{-5, -4, -4, 0}));
  EXPECT_EQ(of(-2), (Levels{-2, -1, -1, 0}));
  EXPECT_EQ(of(-1), (Levels{-1, -1, -1, 0}));
  EXPECT_EQ(of(0), (Levels{0, 0, 0, 0}));
}

// Whichever call fails: access to each other is all that devices can do without.
TEST(RealDriver, GivesAllBackWhereSettingUpFailsHalfWay) {
  std::uint32_t failed = 0, survived = 0;
  for (std::uint32_t call = 1;; ++call) {
    FakeCudart cudart(2, call);
    cudart.refuse_after(call, Refusal::Once);
    cuda::Status status;
    const auto driver = cuda::make_driver(cudart.devices(), kOptions, status);
    if (cudart.refusals() == 0) break;
    EXPECT_EQ(driver == nullptr, !status.ok()) << call;
    if (driver == nullptr) {
      EXPECT_EQ(status.code(), FakeCudart::kShort) << call;
      EXPECT_EQ(cudart.things(), 0U) << call;
    }
    ++(driver == nullptr ? failed : survived);
  }
  EXPECT_EQ(failed, 2U * (1 + 1 + 7 + 5 + 1));  // use, levels, streams, events, words
  EXPECT_EQ(survived, 2U * 2);                  // use, access
}

TEST(RealDriver, GivesAllBackWhereADeviceIsLostWhileItIsSetUp) {
  for (std::uint32_t call = 1; call <= 30; ++call) {
    FakeCudart cudart(2, call);
    cudart.refuse_after(call);
    cuda::Status status;
    EXPECT_TRUE(cuda::make_driver(cudart.devices(), kOptions, status) == nullptr) << call;
    EXPECT_EQ(cudart.things(), 0U) << call;
  }
}

TEST(RealDriver, DoesWithoutDevicesThatReachEachOther) {
  FakeCudart cudart(3, 1, {.peers = false});
  const auto driver = make(cudart);
  ASSERT_TRUE(driver != nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(driver->use(0).ok());
  EXPECT_TRUE(driver->tell(0, 0, 0, 7).ok());
  work_off(cudart);
  EXPECT_EQ(driver->told(0, 0), 7U);
}

// The devices let each other in already.
TEST(RealDriver, ComesAfterAnother) {
  FakeCudart cudart(2, 1);
  make(cudart).reset();
  EXPECT_TRUE(make(cudart) != nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(RealDriver, SaysSoWhereStreamsCannotWriteOrWait) {
  for (const char* const missing : {"cuStreamWriteValue32", "cuStreamWaitValue32"}) {
    FakeCudart cudart(1, 1, {.missing = missing});
    cuda::Status status;
    EXPECT_TRUE(cuda::make_driver(cudart.devices(), kOptions, status) == nullptr);
    EXPECT_EQ(status.code(), static_cast<int>(cudaErrorNotSupported));
  }
}

TEST(RealDriver, TellsWhatIsDoneAndKeepsTheOrderOfMarks) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    FakeCudart cudart(1, seed);
    const auto driver = make(cudart);
    std::string did;
    const auto launch = [&](std::uint32_t stream, char what) {
      EXPECT_TRUE(cudart.add(driver->stream(0, stream), [&did, what] { did += what; }).ok());
    };
    ASSERT_TRUE(driver->use(0).ok());
    launch(0, 'a');
    EXPECT_TRUE(driver->mark(0, 0, 2).ok());
    EXPECT_TRUE(driver->tell(0, 0, 1, 1).ok());
    EXPECT_TRUE(driver->wait(0, 3, 2).ok());
    launch(3, 'b');
    EXPECT_TRUE(driver->mark(0, 3, 2).ok());  // the newest of a number counts
    EXPECT_TRUE(driver->wait(0, 6, 2).ok());
    launch(6, 'c');
    EXPECT_TRUE(driver->tell(0, 6, 4, 9).ok());
    while (cudart.step()) {
      EXPECT_FALSE(driver->told(0, 1) == 1 && did.empty());
      EXPECT_FALSE(driver->told(0, 4) == 9 && did.size() < 3);
    }
    EXPECT_EQ(did, "abc");
    EXPECT_EQ(driver->told(0, 1), 1U);
    EXPECT_EQ(driver->told(0, 4), 9U);
  }
}

TEST(RealDriver, AwaitsWordsOfOtherDevicesAlsoWhereTheyTurn) {
  constexpr std::uint32_t kBefore = 0xffff'fffe;
  for (std::uint32_t next = 0; next < 4; ++next) {
    FakeCudart cudart(2, next + 1);
    const auto driver = make(cudart);
    const std::uint32_t value = kBefore + next;
    driver->release(0, 3, value - 1);
    bool went_on = false;
    EXPECT_TRUE(driver->use(1).ok());
    EXPECT_TRUE(driver->await(1, 0, 0, 3, value).ok());
    EXPECT_TRUE(cudart.add(driver->stream(1, 0), [&] { went_on = true; }).ok());
    work_off(cudart);
    EXPECT_FALSE(went_on) << value;
    EXPECT_EQ(driver->revive(1).code(), cuda::kNotReady.code());
    EXPECT_TRUE(driver->use(0).ok());
    EXPECT_TRUE(driver->tell(0, 1, 3, value + next % 2).ok());  // or a later one
    work_off(cudart);
    EXPECT_TRUE(went_on) << value;
    EXPECT_TRUE(driver->revive(1).ok());
  }
}

TEST(RealDriver, RevivesADeviceThatHangsWhenItIsDone) {
  FakeCudart cudart(2, 1);
  const auto driver = make(cudart);
  EXPECT_TRUE(driver->use(0).ok());
  EXPECT_TRUE(driver->tell(0, 0, 1, 1).ok());
  EXPECT_TRUE(driver->tell(0, 5, 0, 1).ok());
  cudart.hang(0);
  work_off(cudart);
  EXPECT_TRUE(driver->answers(0).ok());
  EXPECT_EQ(driver->revive(0).code(), cuda::kNotReady.code());
  EXPECT_TRUE(driver->revive(1).ok());
  cudart.mend(0);
  EXPECT_EQ(driver->revive(0).code(), cuda::kNotReady.code());
  work_off(cudart);
  EXPECT_TRUE(driver->revive(0).ok());
  EXPECT_EQ(driver->told(0, 0), 1U);
}

TEST(RealDriver, RevivesNoDeviceWhoseContextIsLost) {
  FakeCudart cudart(2, 1);
  const auto driver = make(cudart);
  cudart.lose(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(driver->answers(0).code(), FakeCudart::kLost);
    EXPECT_EQ(driver->revive(0).code(), FakeCudart::kLost);
    EXPECT_EQ(driver->mark(0, 0, 0).code(), FakeCudart::kLost);
    EXPECT_EQ(driver->wait(0, 0, 0).code(), FakeCudart::kLost);
  }
  EXPECT_TRUE(driver->answers(1).ok());
  EXPECT_TRUE(driver->revive(1).ok());
}

TEST(RealDriver, LetsOthersGoOnInTheSteadOfADeviceThatIsLost) {
  FakeCudart cudart(2, 1);
  const auto driver = make(cudart);
  EXPECT_TRUE(driver->use(0).ok());
  EXPECT_TRUE(driver->tell(0, 0, 2, 5).ok());
  EXPECT_TRUE(driver->use(1).ok());
  EXPECT_TRUE(driver->await(1, 0, 0, 2, 5).ok());
  cudart.lose(0);
  work_off(cudart);
  EXPECT_EQ(driver->revive(1).code(), cuda::kNotReady.code());
  driver->release(0, 2, 5);
  work_off(cudart);
  EXPECT_TRUE(driver->revive(1).ok());
}

TEST(RealDriver, TakesOrdersAgainAfterOneThatWasRefused) {
  FakeCudart cudart(1, 1);
  const auto driver = make(cudart);
  EXPECT_TRUE(driver->use(0).ok());
  for (std::uint32_t order = 0; order < 6; ++order) {
    const auto give = [&] {
      switch (order) {
        case 0: return driver->use(0);
        case 1: return driver->mark(0, 0, 0);
        case 2: return driver->wait(0, 1, 0);
        case 3: return driver->tell(0, 0, 0, 1);
        case 4: return driver->await(0, 1, 0, 0, 1);
        default: return driver->revive(0);
      }
    };
    cudart.refuse_after(1, Refusal::Once);
    EXPECT_EQ(give().code(), FakeCudart::kShort) << order;
    EXPECT_TRUE(give().ok()) << order;
    work_off(cudart);
  }
}

TEST(RealMemory, IsCopiedInOrderOnAStreamRowByRow) {
  FakeCudart cudart(1, 1);
  const auto driver = make(cudart);
  cuda::HostMemory host(4 * 16), back(4 * 4);
  cuda::Memory device(4 * 8);
  ASSERT_TRUE(host.status().ok() && back.status().ok() && device.status().ok());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(host.data()[i], std::byte{0});
    host.data()[i] = static_cast<std::byte>(i);
  }
  auto* const there = static_cast<std::byte*>(device.data());
  const cuda::Stream stream = driver->stream(0, 0);
  EXPECT_TRUE(cuda::copy({there, 4, 8, 4}, {host.data(), 4, 16, 4}, stream).ok());
  EXPECT_TRUE(cuda::copy({back.data(), 4, 4, 4}, {there, 4, 8, 4}, stream).ok());
  EXPECT_EQ(back.data()[15], std::byte{0});
  EXPECT_TRUE(cuda::finish().ok());
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(back.data()[row * 4 + i], static_cast<std::byte>(row * 16 + i)) << row << " " << i;
}

TEST(RealMemory, HasWhatWasCopiedInAndIsZeroWhenCleared) {
  FakeCudart cudart(1, 1);
  std::array<std::uint32_t, 4> in{1, 2, 3, 4}, out{};
  cuda::Memory memory(sizeof in);
  EXPECT_TRUE(cuda::copy_in(memory.data(), in.data(), sizeof in).ok());
  EXPECT_TRUE(cuda::copy_out(out.data(), memory.data(), sizeof out).ok());
  EXPECT_TRUE(in == out);
  EXPECT_TRUE(memory.clear().ok());
  EXPECT_TRUE(cuda::copy_out(out.data(), memory.data(), sizeof out).ok());
  EXPECT_TRUE(out == decltype(out){});
}

TEST(RealMemory, IsNoneAndSaysWhyWhereItIsRefused) {
  FakeCudart cudart(1, 1);
  std::array<std::byte, 64> packets{};
  cudart.refuse_after(1, Refusal::Once);
  EXPECT_TRUE(cuda::Memory(64).data() == nullptr);
  cudart.refuse_after(1, Refusal::Once);
  EXPECT_TRUE(cuda::HostMemory(64).data() == nullptr);
  for (const std::uint32_t call : {1U, 2U, 3U}) {
    cudart.refuse_after(call, Refusal::Once);
    EXPECT_EQ(cuda::Reach(packets).status().ok(), call == 3) << call;
    EXPECT_EQ(cudart.things(), 0U) << call;
  }
}

// Without whose complaints the tests above would show little.
TEST(FakeCudart, ComplainsOfWhatNobodyElseWouldNotice) {
  FakeCudart cudart(2, 1);
  const auto complains = [&](const std::string& of) {
    const std::vector<std::string> found = cudart.complaints();
    EXPECT_EQ(found.size(), 1U) << of;
    EXPECT_TRUE(!found.empty() && found[0].find(of) != std::string::npos)
        << of << ": " << (found.empty() ? "" : found[0]);
  };
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, 0), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, 1), cudaSuccess);
  complains("priority");

  EXPECT_EQ(cudaEventRecord(event, second), cudaErrorInvalidResourceHandle);
  complains("another device's stream");
  EXPECT_EQ(cudaEventRecord(event, first), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  EXPECT_FALSE(cudart.add(first, [] {}).ok());
  complains("not the current one");
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  complains("there is not");

  void* pinned = nullptr;
  EXPECT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped), cudaSuccess);
  complains("not every device");
  CUresult (*write)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuStreamWriteValue32",
                                             reinterpret_cast<void**>(&write), 12000, 0, &found),
            cudaSuccess);
  const auto at = reinterpret_cast<CUdeviceptr>(pinned);
  EXPECT_NE(write(second, at + 2, 1, 0), CUDA_SUCCESS);
  complains("aligned");
  EXPECT_NE(write(second, at + 64, 1, 0), CUDA_SUCCESS);
  complains("outside pinned memory");
  EXPECT_NE(write(first, at, 1, 0), CUDA_SUCCESS);
  complains("not the current one");
  EXPECT_EQ(write(second, at, 1, 1), CUDA_SUCCESS);
  complains("flags");
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  work_off(cudart);
  complains("freed");

  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, first), cudaErrorInvalidResourceHandle);
  complains("no event any more");
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_TRUE(cudart.add(first, [] {}).ok());
  EXPECT_EQ(cudaStreamDestroy(first), cudaSuccess);
  complains("not done");
  EXPECT_EQ(cudaStreamQuery(first), cudaErrorInvalidResourceHandle);
  complains("no stream any more");
  EXPECT_EQ(cudart.things(), 1U);
  EXPECT_EQ(cudaStreamDestroy(second), cudaSuccess);
}

}  // namespace
