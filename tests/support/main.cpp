#include "support/test.hpp"

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/cuda/partition.hpp"
#include "support/place.hpp"

namespace {

// Takes --device out of the words. False: it was there, and there is no device.
bool choose_places(int& argc, char** argv) {
  using namespace carillon;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--device") != 0) continue;
    for (int j = i; j + 1 < argc; ++j) argv[j] = argv[j + 1];
    --argc;
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
  }
  return true;
}

}  // namespace

#ifdef CARILLON_HAVE_GTEST

int main(int argc, char** argv) {
  if (!choose_places(argc, argv)) return carillon::test::kSkipped;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

#else

int minitest::run(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  int passed = 0, failed = 0, skipped_count = 0;
  for (const auto& test : tests()) {
    if (test.name.find(only) == std::string::npos) continue;
    const int before = failures();
    skipped() = false;
    try {
      test.body();
    } catch (const std::exception& error) {
      Failure(test.name.c_str(), 0, "threw ") << error.what();
    }
    if (failures() > before)
      ++failed;
    else
      ++(skipped() ? skipped_count : passed);
    std::cout << (failures() > before ? "FAILED "
                  : skipped()         ? "skipped "
                                      : "ok ")
              << test.name << std::endl;
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped_count << " skipped\n";
  return failed == 0 && passed + skipped_count > 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (!choose_places(argc, argv)) return carillon::test::kSkipped;
  return minitest::run(argc, argv);
}

#endif
