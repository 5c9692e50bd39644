// Files and sockets in graphs that run with threads of their own: what is written is read again.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataflow/blocks/load.hpp"
#include "dataflow/blocks/type.hpp"
#include "dataflow/runner.hpp"

namespace carillon::dataflow {
namespace {

using namespace std::string_literals;

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() / ("carillon-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path / name; }

  std::filesystem::path path;
};

Graph pair_of() {
  return Graph({{{"source", {}, {48'000, 1}}, {"sink", {}, {}}}, {{0, 1, 1, 1, 1}}});
}

using Blocks = std::vector<std::shared_ptr<Block>>;

// Runs a source into a sink; what went wrong.
std::vector<std::string> run(const Values& from, const std::string& source, const Values& into,
                             const std::string& sink, std::uint64_t executions,
                             RunnerOptions options = {}) {
  const Graph graph = pair_of();
  Runner runner(graph, {100, 64}, Blocks{make_block(source, from), make_block(sink, into)},
                {.paced = false, .executions = {executions, 0}}, options);
  runner.start();
  while (!runner.ended()) std::this_thread::yield();
  return runner.finish();
}

std::string contents(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const Values kTone{{"frequency_hz", 1000.0}, {"rate_hz", 48000.0}, {"amplitude", 0.5}};

TEST(Devices, FilesAreReadAsTheyWereWritten) {
  const Folder folder;
  for (const Threads threads : {Threads::Workers, Threads::Blocks})
    for (const std::string datatype : {"cf32_le", "ci16_be", "cu8", "cf64_be", "ci32_le"}) {
      const std::string first = folder.file("a"), again = folder.file("b");
      const Values own{{"path", first}, {"datatype", datatype}};
      EXPECT_TRUE(run(kTone, "signal-source", own, "raw-sink", 1234, {.threads = threads}).empty());
      const Values copy{{"path", again}, {"datatype", datatype}};
      EXPECT_TRUE(run(own, "raw-source", copy, "raw-sink", 0).empty());
      EXPECT_EQ(contents(first), contents(again)) << datatype;
      EXPECT_GT(contents(first).size(), 2000U) << datatype;
    }
}

TEST(Devices, WavFilesAreReadAsTheyWereWritten) {
  const Folder folder;
  const std::string first = folder.file("a.wav"), again = folder.file("b.wav");
  const Values own{{"path", first}, {"rate_hz", 48000.0}},
      copy{{"path", again}, {"rate_hz", 48000.0}};
  EXPECT_TRUE(run(kTone, "signal-source", own, "wav-sink", 1001).empty());
  EXPECT_TRUE(
      run({{"path", first}, {"rate_hz", 48000.0}}, "wav-source", copy, "wav-sink", 0).empty());
  EXPECT_EQ(contents(first), contents(again));
}

// A port of this machine that nobody has.
std::int64_t free_port() {
  const int probe = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&own), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size), 0);
  close(probe);
  return ntohs(own.sin_port);
}

// One graph receives what another one sends, until that has ended.
std::uint64_t received(const std::string& source, const Values& from, const std::string& sink,
                       const Values& into) {
  const Graph graph = pair_of();
  Runner receiver(graph, {10, 1}, Blocks{make_block(source, from), make_block("null-sink", {})},
                  {.paced = false}, {});
  receiver.start();
  EXPECT_TRUE(run(kTone, "signal-source", into, sink, 1000).empty());
  while (!receiver.ended()) std::this_thread::yield();
  EXPECT_TRUE(receiver.finish().empty());
  return receiver.executor().account(1).executions;
}

TEST(Devices, DatagramsAreReceivedAsTheyWereSent) {
  for (const std::string header : {"none", "sequence64"}) {
    const Values at{{"address", "127.0.0.1"s}, {"port", free_port()}, {"header", header}};
    EXPECT_EQ(received("udp-source", at, "udp-sink", at), 1000U) << header;
  }
}

TEST(Devices, MessagesAreReceivedAsTheyWereSent) {
  if (dlopen("libzmq.so.5", RTLD_NOW) == nullptr) GTEST_SKIP() << "there is no libzmq";
  const Folder folder;
  Values at{{"address", "ipc://" + folder.file("socket")}, {"pattern", "push-pull"s}};
  Values bound = at;
  at["bind"] = false;
  bound["bind"] = true;
  const Graph graph = pair_of();
  Runner receiver(graph, {10, 1},
                  Blocks{make_block("zmq-source", bound), make_block("null-sink", {})},
                  {.paced = false}, {});
  receiver.start();
  EXPECT_TRUE(run(kTone, "signal-source", at, "zmq-sink", 1000).empty());
  while (receiver.executor().account(1).executions < 1000) std::this_thread::yield();
  receiver.stop();  // such a stream has no end
  while (!receiver.ended()) std::this_thread::yield();
  EXPECT_TRUE(receiver.finish().empty());
}

TEST(Devices, TagsAreReadAsTheyWereWritten) {
  const Folder folder;
  const std::string data = folder.file("a"), first = folder.file("a.tags"),
                    again = folder.file("b");
  EXPECT_TRUE(run(kTone, "signal-source", {{"path", data}}, "raw-sink", 500).empty());
  const std::string said =
      "0 time 1769860800.5\n0 frequency 433920000\n7 overflow 30\n120 annotation 40 a burst\n";
  const Values from{{"path", data}, {"tags", said}};
  EXPECT_TRUE(
      run(from, "raw-source", {{"path", again}, {"tags_path", first}}, "raw-sink", 0).empty());
  const std::string written = contents(first);
  for (const std::string part : {"433920000", "120 annotation 40", "a burst", "7 overflow 30"})
    EXPECT_NE(written.find(part), std::string::npos) << written;
  for (const std::string wrong : {"x time 1\n", "5 colour 1\n", "5 time\n", "9 time 1\n3 time 1\n"})
    EXPECT_THROW(make_block("raw-source", {{"path", data}, {"tags", wrong}}), std::exception)
        << wrong;
}

TEST(Devices, ALibraryThatIsNoneIsRefused) {
  const Folder folder;
  EXPECT_THROW(load_blocks(folder.file("none.so")), std::exception);
}

TEST(Devices, WhatCannotBeOpenedIsNamedWithItsNode) {
  const Graph graph = pair_of();
  Runner runner(graph, {1, 1},
                Blocks{make_block("signal-source", kTone),
                       make_block("raw-sink", {{"path", "/nowhere/at/all"s}})},
                {.paced = false, .executions = {10, 0}}, {});
  try {
    runner.start();
    ADD_FAILURE() << "it was opened";
  } catch (const std::runtime_error& refused) {
    EXPECT_NE(std::string(refused.what()).find("sink: /nowhere/at/all"), std::string::npos)
        << refused.what();
  }
}

TEST(Devices, AFullDiskEndsTheRunAndSaysSo) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const std::int64_t room : {std::int64_t{100}, std::int64_t{1} << 20}) {
    const Values full{{"path", "/dev/full"s}, {"buffer_samples", room}};
    const auto failures = run(kTone, "signal-source", full, "raw-sink", 5'000'000);
    ASSERT_FALSE(failures.empty());
    EXPECT_NE(failures[0].find("sink: /dev/full"), std::string::npos) << failures[0];
  }
}

TEST(Devices, APipeThatNobodyReadsIsAbandonedWhenTheRunIsToEnd) {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // that never reads
  const auto held = static_cast<std::uint64_t>(fcntl(reader, F_SETPIPE_SZ, 4096)) / 8;
  const Graph graph = pair_of();
  const Values into{{"path", pipe}, {"buffer_samples", std::int64_t{1000}}};
  Runner runner(graph, {100, 64},
                Blocks{make_block("signal-source", kTone), make_block("raw-sink", into)},
                {.paced = false}, {});
  runner.start();
  // More than the pipe holds.
  while (runner.executor().account(1).executions < held + 500) std::this_thread::yield();
  runner.stop();
  const std::vector<std::string> failures = runner.finish();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].find(pipe), std::string::npos) << failures[0];
  EXPECT_NE(failures[0].find("were not"), std::string::npos) << failures[0];
  close(reader);
}

}  // namespace
}  // namespace carillon::dataflow
