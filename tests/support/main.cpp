#include "support/test.hpp"

#ifdef CARILLON_HAVE_GTEST

int main(int argc, char** argv) {
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

int main(int argc, char** argv) { return minitest::run(argc, argv); }

#endif
