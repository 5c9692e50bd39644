// carillon-bench: measures kernels and whole frames on one core. `carillon bench` runs it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "peers/peer.hpp"
#include "support/bench.hpp"

namespace {

using carillon::bench::Options;

constexpr const char* kUsage =
    "usage: carillon-bench [--json] [--list] [--quick] [--isa NAME]... [--filter REGEX]\n"
    "                      [--compare]             beside each peer that is there\n"
    "                      [--plan NAME=FILE]...   a run plan's cell, run as whole frames\n"
    "       carillon-bench --about                 what it was built with and what it is held to\n";

void about() {
  std::printf("{\"compiler\": \"GCC %s\", \"peers\": [", __VERSION__);
  const char* comma = "";
  for (const auto& known : carillon::bench::known_peers()) {
    std::printf("%s{\"library\": \"%s\", \"found\": \"%s\", \"get\": \"%s\"}", comma,
                known.library.c_str(), known.peer.name.c_str(), known.get.c_str());
    comma = ", ";
  }
  std::printf("]}\n");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_isa(Options& options, const std::string& name) {
  const auto all = carillon::available_isas();
  if (std::none_of(all.begin(), all.end(),
                   [&](carillon::Isa isa) { return carillon::to_string(isa) == name; })) {
    std::string message = "this machine has no '" + name + "'; it has";
    for (const auto isa : all) message += " " + std::string(carillon::to_string(isa));
    throw std::runtime_error(message);
  }
  options.isas.push_back(name);
}

void add_plan(Options& options, const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos)
    throw std::runtime_error("--plan wants NAME=FILE, not '" + word + "'");
  options.plans.emplace_back(word.substr(0, equals), read_file(word.substr(equals + 1)));
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::runtime_error(word + " wants a value");
      return argv[++i];
    };
    if (word == "--json")
      options.json = true;
    else if (word == "--list")
      options.list = true;
    else if (word == "--quick")
      options.quick = true;
    else if (word == "--compare")
      options.compare = true;
    else if (word == "--isa")
      add_isa(options, value());
    else if (word == "--filter")
      options.filter = std::regex(value());
    else if (word == "--plan")
      add_plan(options, value());
    else
      throw std::runtime_error("unknown word '" + word + "'\n" + kUsage);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "--about") == 0) {
      about();
      return 0;
    }
    carillon::bench::Bench bench(parse(argc, argv));
    for (const auto& [name, run] : carillon::bench::Group::all()) {
      bench.enter(name);
      run(bench);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "carillon-bench: %s\n", error.what());
    return 2;
  }
  return 0;
}
