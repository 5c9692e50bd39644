// Models of late subframes over clock and rate (engine/power).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "power/late_search.hpp"

namespace carillon::bindings {

namespace {

using power::Coefficients;
using power::Family;
using power::Fit;
using power::kCoefficients;
using power::Point;
using power::Verdict;
using Result = nb::typed<nb::dict, nb::str, nb::any>;

Family family_of(const std::string& name) {
  if (name == "power") return Family::Power;
  require(name == "exponential", "a family is power or exponential");
  return Family::Exponential;
}

std::vector<Point> points_of(const In<double, 2>& rows) {
  require(rows.shape(1) == 3, "a point has a clock, a rate and a share of late ones");
  std::vector<Point> points;
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    points.push_back({rows(i, 0), rows(i, 1), rows(i, 2)});
  return points;
}

Coefficients coefficients_of(const std::vector<double>& given) {
  require(given.size() == kCoefficients, "a model has 18 coefficients, of which some are 0");
  Coefficients found{};
  std::ranges::copy(given, found.begin());
  return found;
}

Out<double> late_probability(const std::string& family, const std::vector<double>& coefficients,
                             const In<double, 1>& clocks, const In<double, 1>& rates) {
  require(clocks.shape(0) == rates.shape(0), "there must be as many rates as clocks");
  const Coefficients own = coefficients_of(coefficients);
  std::vector<double> found;
  for (std::size_t i = 0; i < clocks.shape(0); ++i)
    found.push_back(power::late_probability(family_of(family), own, clocks(i), rates(i)));
  const std::size_t size = found.size();
  return array(std::move(found), {size});
}

Result late_fit(const std::string& family, const In<double, 2>& points,
                const std::vector<double>& start, std::size_t drawn, std::uint64_t seed) {
  const Coefficients own = coefficients_of(start);
  power::Terms terms = 0;
  for (std::size_t n = 0; n < kCoefficients; ++n) terms |= own[n] != 0 ? 1U << n : 0U;
  const power::Fitter fitter(family_of(family), points_of(points));
  const Fit fit = fitter.fit(terms, {&own, 1}, drawn, seed);
  Result result;
  result["coefficients"] =
      array(std::vector<double>(fit.coefficients.begin(), fit.coefficients.end()), {kCoefficients});
  result["mse"] = fit.mse;
  result["verdict"] = std::string(power::name_of(fit.verdict));
  return result;
}

class Search {
 public:
  Search(const std::string& family, const In<double, 2>& points, std::size_t drawn,
         std::uint64_t seed)
      : search_(family_of(family), points_of(points), drawn, seed) {}

  bool work(double seconds, unsigned threads) {
    const nb::gil_scoped_release released;
    return search_.work(seconds, threads);
  }
  std::size_t done() const { return search_.done(); }
  std::size_t whole() const { return search_.whole(); }

  // Of all subsets, by their terms.
  Result found() {
    std::vector<double> coefficients, mse;
    std::vector<std::uint8_t> verdicts;
    for (const Fit& fit : search_.fits()) {
      coefficients.insert(coefficients.end(), fit.coefficients.begin(), fit.coefficients.end());
      mse.push_back(fit.mse);
      verdicts.push_back(static_cast<std::uint8_t>(fit.verdict));
    }
    const std::size_t size = mse.size();
    Result result;
    result["coefficients"] = array(std::move(coefficients), {size, kCoefficients});
    result["mse"] = array(std::move(mse), {size});
    result["verdict"] = array(std::move(verdicts), {size});
    return result;
  }
  void put_back(const In<double, 2>& coefficients, const In<double, 1>& mse,
                const In<std::uint8_t, 1>& verdicts, std::size_t whole) {
    const std::size_t size = search_.fits().size();
    require(coefficients.shape(0) == size && coefficients.shape(1) == kCoefficients &&
                mse.shape(0) == size && verdicts.shape(0) == size && whole <= kCoefficients,
            "is not what a search has found");
    for (std::size_t i = 0; i < size; ++i) {
      require(verdicts(i) <= static_cast<std::uint8_t>(Verdict::Pole), "there is no such verdict");
      Fit& fit = search_.fits()[i];
      for (std::size_t n = 0; n < kCoefficients; ++n) fit.coefficients[n] = coefficients(i, n);
      fit.mse = mse(i);
      fit.verdict = static_cast<Verdict>(verdicts(i));
    }
    search_.resume_after(whole);
  }

 private:
  power::LateSearch search_;
};

}  // namespace

void bind_power(nb::module_& core) {
  using namespace nb::literals;
  core.def(
      "late_probability", &late_probability, "family"_a, "coefficients"_a, "clocks"_a, "rates"_a,
      "Of a family (power or exponential) and its 18 coefficients, at points. NaN where it is\n"
      "not real.");
  core.def("late_fit", &late_fit, "family"_a, "points"_a, "start"_a, "drawn"_a, "seed"_a,
           "A model with the terms of `start`, 18 coefficients of which those that it lacks are 0: "
           "from\n"
           "there, and from as many random starts as `drawn` says. points as LateSearch has "
           "them.\n"
           "coefficients, mse, and verdict, a name of late_verdicts(). ValueError as LateSearch.");
  core.def(
      "late_verdicts",
      [] {
        std::vector<std::string> names;
        for (std::uint8_t place = 0; place <= static_cast<std::uint8_t>(Verdict::Pole); ++place)
          names.emplace_back(power::name_of(static_cast<Verdict>(place)));
        return names;
      },
      "What LateSearch.found() says of fits, by their places.");
  nb::class_<Search>(core, "LateSearch",
                     "All subsets of coefficients, those with few first "
                     "(engine/power/late_search.hpp).")
      .def(nb::init<const std::string&, const In<double, 2>&, std::size_t, std::uint64_t>(),
           "family"_a, "points"_a, "drawn"_a, "seed"_a,
           "points: float64 rows of clock, rate and share of late ones. drawn: starts of chance "
           "for\n"
           "each subset. ValueError of points that no model can be fitted to.")
      .def("work", &Search::work, "seconds"_a, "threads"_a,
           "Goes on for about so long; false: all is done.")
      .def_prop_ro("done", &Search::done, "Subsets that have been fitted.")
      .def_prop_ro("whole", &Search::whole, "All subsets of so many coefficients have been.")
      .def(
          "found", &Search::found,
          "coefficients, mse and verdict (a place in late_verdicts()) of each subset; bit n - 1 of "
          "its\n"
          "place stands for c_n.")
      .def("put_back", &Search::put_back, "coefficients"_a, "mse"_a, "verdicts"_a, "whole"_a,
           "Goes on behind the subsets with `whole` coefficients. ValueError of other arrays than\n"
           "found() gives.");
}

}  // namespace carillon::bindings
