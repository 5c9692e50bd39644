// A small fuzzer guided by coverage, with libFuzzer's entry point: inputs that reach new edges of
// the instrumented code join the corpus and are mutated further. GCC has no libFuzzer, and the
// kernels need GCC. A target that knows its input's structure may define LLVMFuzzerCustomMutator.
//
//   fuzz-<name> [-seconds=N] [-seed=N] FOLDER…   replay the folders' files, then fuzz for N seconds
//   fuzz-<name> FILE…                            replay the files (a crash to reproduce)
//
// An input that crashes or runs for ten seconds is written to crash-<name> in the current folder.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed)
    __attribute__((weak));
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Input = std::vector<std::uint8_t>;

// --- Coverage: one flag per edge, an edge being a hash of two successive program points ----------

constexpr std::size_t kEdges = 1 << 16;
std::array<std::uint8_t, kEdges> edges_hit;   // by the current input
std::array<std::uint8_t, kEdges> edges_seen;  // by any input
thread_local std::uintptr_t previous_point;

// Counts the edges that no earlier input reached.
std::size_t take_new_edges() {
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < kEdges; ++i) {
    fresh += edges_hit[i] > edges_seen[i];
    edges_seen[i] |= edges_hit[i];
  }
  edges_hit.fill(0);
  return fresh;
}

// --- Running an input
// -----------------------------------------------------------------------------

const Input* running = nullptr;
char crash_file[256];

void save_running_input() {
  if (running == nullptr) return;
  if (std::FILE* out = std::fopen(crash_file, "wb")) {
    std::fwrite(running->data(), 1, running->size(), out);
    std::fclose(out);
  }
  std::fprintf(stderr, "the input (%zu bytes) is in %s\n", running->size(), crash_file);
  running = nullptr;
}

void on_signal(int number) {
  save_running_input();
  std::fprintf(stderr, number == SIGALRM ? "an input ran for ten seconds\n" : "crashed\n");
  _exit(1);
}

std::size_t run(const Input& input) {
  // An exact copy on the heap, so that AddressSanitizer sees a read of one byte too many.
  const Input exact(input.begin(), input.end());
  running = &exact;
  alarm(10);
  previous_point = 0;
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  alarm(0);
  running = nullptr;
  return take_new_edges();
}

// --- Mutation
// -------------------------------------------------------------------------------------

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  Input operator()(const std::vector<Input>& corpus) {
    Input input = corpus[below(corpus.size())];
    if (LLVMFuzzerCustomMutator != nullptr && below(2) == 0) return by_structure(std::move(input));
    for (std::size_t n = 1 + below(4); n > 0; --n) mutate(input, corpus[below(corpus.size())]);
    if (input.size() > kLongest) input.resize(kLongest);
    return input;
  }

 private:
  static constexpr std::size_t kLongest = 1 << 16;

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  Input by_structure(Input input) {
    const std::size_t size = input.size();
    input.resize(kLongest);
    input.resize(
        LLVMFuzzerCustomMutator(input.data(), size, kLongest, static_cast<unsigned>(random_())));
    return input;
  }

  void mutate(Input& input, const Input& other) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t left = input.size() - at;
    const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto random_byte = [&] { return static_cast<std::uint8_t>(random_()); };
    switch (below(7)) {
      case 0:
        if (left > 0) *here ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        if (left > 0) *here = random_byte();
        break;
      case 2: write_extreme(input, at); break;
      case 3: input.insert(here, 1 + below(8), random_byte()); break;
      case 4: input.erase(here, here + static_cast<std::ptrdiff_t>(below(left + 1))); break;
      case 5: {  // repeat a piece of the input itself
        const Input piece(here, here + static_cast<std::ptrdiff_t>(below(left + 1)));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size() + 1)),
                     piece.begin(), piece.end());
        break;
      }
      case 6: {  // overwrite with a piece of another one
        const std::size_t from = below(other.size() + 1);
        const std::size_t count = std::min(left, below(other.size() - from + 1));
        std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count, here);
        break;
      }
    }
  }

  // A number at the edge of its type, of 1, 2, 4 or 8 bytes.
  void write_extreme(Input& input, std::size_t at) {
    static constexpr std::array<std::uint64_t, 8> kExtremes{
        0, 1, 0x7f, 0x80, 0x7fff, 0x7fffffff, 0x80000000, ~std::uint64_t{0}};
    const std::size_t width = std::size_t{1} << below(4);
    const std::uint64_t value = kExtremes[below(kExtremes.size())];
    if (at + width <= input.size()) std::memcpy(input.data() + at, &value, width);
  }

  std::mt19937_64 random_;
};

// --- Command line
// ---------------------------------------------------------------------------------

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Input> load(const std::vector<std::filesystem::path>& paths) {
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path))
        inputs.push_back(read(entry.path()));
    } else {
      inputs.push_back(read(path));
    }
  }
  return inputs;
}

void fuzz(std::vector<Input> corpus, double seconds, std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const std::size_t seeds = corpus.size();
  corpus.push_back({});
  std::size_t edges = 0, runs = 0;
  for (const Input& input : corpus) edges += run(input), ++runs;
  Mutator mutate(seed);
  while (Clock::now() < end) {
    Input input = mutate(corpus);
    const std::size_t fresh = run(input);
    ++runs;
    edges += fresh;
    if (fresh > 0) corpus.push_back(std::move(input));
  }
  std::printf("%zu runs from %zu seeds reached %zu edges with %zu inputs\n", runs, seeds, edges,
              corpus.size());
}

}  // namespace

// Called by the instrumented code (-fsanitize-coverage=trace-pc) at every program point.
extern "C" void __sanitizer_cov_trace_pc() {
  const auto point = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  edges_hit[((point * 0x9e3779b97f4a7c15u >> 40) ^ previous_point) % kEdges] = 1;
  previous_point = point * 0x9e3779b97f4a7c15u >> 41;
}

int main(int argc, char** argv) {
  double seconds = 0;
  std::uint64_t seed = 1;
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("-seconds="))
      seconds = std::atof(argv[i] + 9);
    else if (argument.starts_with("-seed="))
      seed = std::strtoull(argv[i] + 6, nullptr, 10);
    else
      paths.emplace_back(argument);
  }
  std::snprintf(crash_file, sizeof crash_file, "crash-%s",
                std::filesystem::path(argv[0]).filename().c_str());
  signal(SIGALRM, on_signal);
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(save_running_input);  // it reports crashes better than we would
  else
    for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) signal(number, on_signal);
  fuzz(load(paths), seconds, seed);
}
