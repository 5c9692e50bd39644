// Blocks that users write in Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <complex>
#include <cstring>
#include <mutex>
#include <utility>

#include "lone.hpp"

namespace carillon::bindings {

namespace nb = nanobind;
using dataflow::Items;

namespace {

// A view of samples, for the time of a call.
nb::object view(const float* samples, std::size_t floats, Items items) {
  if (items == Items::Real)
    return nb::cast(
        nb::ndarray<nb::numpy, const float, nb::ndim<1>>(samples, {floats}, nb::handle()),
        nb::rv_policy::reference);
  return nb::cast(
      nb::ndarray<nb::numpy, const std::complex<float>, nb::ndim<1>>(
          reinterpret_cast<const std::complex<float>*>(samples), {floats / 2}, nb::handle()),
      nb::rv_policy::reference);
}

class PythonBlock final : public dataflow::Block {
 public:
  PythonBlock(nb::object function, dataflow::Ports ports)
      : Block(std::move(ports)), function_(std::move(function)) {}
  bool varies() const noexcept override { return true; }

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    std::fill_n(out, writes(count), 0.0F);  // after a failure, too
    if (failed_.load(std::memory_order_relaxed)) return;
    const nb::gil_scoped_acquire held;
    if (!function_.is_valid()) return fail("has ended; make another one");
    try {
      nb::list arrays;
      for (std::size_t i = 0; i < ports().inputs.size(); ++i)
        arrays.append(view(in[i], reads(i, count), ports().inputs[i].items));
      take(call(arrays, count), out, count);
    } catch (const nb::python_error& error) {
      const nb::str type(error.type().attr("__name__")), said(error.value());
      fail(std::string(type.c_str()) + ": " + said.c_str());
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  // A run that has ended keeps nothing of the user's alive.
  void finish() override {
    const nb::gil_scoped_acquire held;
    function_.reset();
  }
  PyObject* function() const { return function_.ptr(); }
  std::string failure() const override {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  nb::object call(const nb::list& arrays, std::size_t count) {
    return ports().inputs.empty() ? function_(count) : function_(*arrays);
  }

  void take(const nb::object& made, float* out, std::size_t count) {
    const auto& output = ports().output;
    if (!output) return;
    nb::ndarray<nb::ro, nb::device::cpu> array;
    if (!nb::try_cast(made, array)) throw std::runtime_error("returned no array");
    const bool pairs = output->items == Items::Complex;
    if (array.dtype() != (pairs ? nb::dtype<std::complex<float>>() : nb::dtype<float>()))
      throw std::runtime_error(std::string("returned another dtype than ") +
                               (pairs ? "complex64" : "float32"));
    const std::size_t wanted = count * output->produce;
    if (array.ndim() != 1 || array.size() != wanted || (wanted > 1 && array.stride(0) != 1))
      throw std::runtime_error("returned " + std::to_string(array.size()) + " samples, not " +
                               std::to_string(wanted) + " in one row");
    std::memcpy(out, array.data(), writes(count) * sizeof(float));
  }

  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    why_ = why.substr(0, why.find('\n'));
    failed_ = true;
  }

  nb::object function_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string why_;
};

Items items_of(const std::string& name) {
  require(name == "real" || name == "complex", "samples are real or complex");
  return name == "real" ? Items::Real : Items::Complex;
}

}  // namespace

PyObject* function_of(const dataflow::Block& block) {
  const auto* const own = dynamic_cast<const PythonBlock*>(&block);
  return own == nullptr ? nullptr : own->function();
}

void forget_function(dataflow::Block& block) {
  if (auto* const own = dynamic_cast<PythonBlock*>(&block)) own->finish();
}

std::shared_ptr<dataflow::Block> python_block(nb::object function,
                                              const std::vector<InputRow>& inputs,
                                              const std::optional<OutputRow>& output) {
  require(nb::isinstance<nb::callable>(function), "a block's function must be callable");
  require(!inputs.empty() || output.has_value(), "a block has an input or an output");
  dataflow::Ports ports;
  constexpr std::uint64_t kMost = 1U << 24;
  for (const auto& [items, threshold, consume, history] : inputs) {
    require(consume >= 1 && threshold >= consume, "threshold >= consume >= 1");
    require(threshold <= kMost && history <= kMost, "at most 2^24 samples");
    ports.inputs.push_back({items_of(items), threshold, consume, history});
  }
  if (output) {
    require(std::get<1>(*output) >= 1 && std::get<1>(*output) <= kMost,
            "an execution makes between 1 and 2^24 samples");
    ports.output = {items_of(std::get<0>(*output)), std::get<1>(*output)};
  }
  return std::make_shared<PythonBlock>(std::move(function), std::move(ports));
}

}  // namespace carillon::bindings
