#include "support/test.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "base/cuda/partition.hpp"
#include "support/place.hpp"
#include "support/standstill.hpp"

namespace {

// Takes a word out of the others; whether it was there.
bool take_word(int& argc, char** argv, const char* word) {
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], word) != 0) argv[kept++] = argv[i];
  return std::exchange(argc, kept) != kept;
}

// --device: false when there is none.
bool choose_places(int& argc, char** argv) {
  using namespace carillon;
  if (!take_word(argc, argv, "--device")) return true;
  test::wheres() = {test::Where::Device};
  cuda::use_all_queues();
  const cuda::Machine machine = cuda::look();
  if (machine.devices.empty()) {
    std::cout << "skipped: " << machine.why << "\n";
    return false;
  }
  if (const cuda::Status status = cuda::use(machine.devices[0]); !status.ok()) {
    std::cout << machine.devices[0].name << ": " << status.text() << "\n";
    std::exit(1);
  }
  std::cout << "on " << machine.devices[0].name << "\n";
  return true;
}

// Which tests failed, and whether the machine stood still while they ran; only with --timed.
class Disturbances {
 public:
  Disturbances(int& argc, char** argv) {
    if (take_word(argc, argv, "--timed")) watch_.emplace();
  }
  void begin() {
    if (watch_) watch_->reset();
  }
  /// Whether a failure since begin() may be the machine's.
  bool seen(const std::string& test) const {
    using namespace carillon;
    const Tick longest = watch_ ? watch_->longest() : 0;
    if (longest < test::kStandstill) return false;
    std::cout << test << ": this machine stood still for " << longest / kMillisecond
              << " ms meanwhile\n";
    return true;
  }

 private:
  std::optional<carillon::test::StandstillWatch> watch_;
};

}  // namespace

#ifdef CARILLON_HAVE_GTEST

namespace {

class Listener final : public testing::EmptyTestEventListener {
 public:
  explicit Listener(Disturbances& disturbances) : disturbances_(disturbances) {}
  void OnTestStart(const testing::TestInfo&) override { disturbances_.begin(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    if (disturbances_.seen(name))
      again_ += name + ":";
    else
      failed_ = true;
  }
  /// The tests to do again, as a filter; empty when there is none or one failed undisturbed.
  std::string again() { return failed_ ? "" : std::exchange(again_, ""); }

 private:
  Disturbances& disturbances_;
  std::string again_;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (!choose_places(argc, argv)) return carillon::test::kSkipped;
  Disturbances disturbances(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  auto* const listener = new Listener(disturbances);  // GoogleTest deletes it
  testing::UnitTest::GetInstance()->listeners().Append(listener);
  int status = RUN_ALL_TESTS();
  for (int attempt = 1; status != 0 && attempt < carillon::test::kAttempts; ++attempt) {
    const std::string again = listener->again();
    if (again.empty()) break;
    GTEST_FLAG_SET(filter, again);
    status = RUN_ALL_TESTS();
  }
  return status;
}

#else

namespace {

// Whether it failed.
bool fails(const minitest::Test& test) {
  const int before = minitest::failures();
  minitest::skipped() = false;
  try {
    test.body();
  } catch (const std::exception& error) {
    minitest::Failure(test.name.c_str(), 0, "threw ") << error.what();
  }
  return minitest::failures() > before;
}

int run(const std::string& only, Disturbances& disturbances) {
  int passed = 0, failed = 0, skipped = 0;
  for (const auto& test : minitest::tests()) {
    if (test.name.find(only) == std::string::npos) continue;
    bool bad = true;
    for (int attempt = 0; bad && attempt < carillon::test::kAttempts; ++attempt) {
      disturbances.begin();
      bad = fails(test);
      if (bad && !disturbances.seen(test.name)) break;
    }
    ++(bad ? failed : minitest::skipped() ? skipped : passed);
    std::cout << (bad                   ? "FAILED "
                  : minitest::skipped() ? "skipped "
                                        : "ok ")
              << test.name << std::endl;
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped\n";
  return failed == 0 && passed + skipped > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (!choose_places(argc, argv)) return carillon::test::kSkipped;
  Disturbances disturbances(argc, argv);
  return run(argc > 1 ? argv[1] : "", disturbances);
}

#endif
