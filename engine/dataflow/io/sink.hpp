// Sinks with a file or device: execute() copies samples into a ring, and a thread takes them there.
#pragma once

#include <memory>

#include "dataflow/io/source.hpp"

namespace carillon::dataflow {

/// A file or device to write to. Only figures() is called from other threads than the writing one
/// while that runs.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual std::string name() const = 0;  ///< of the file or device
  /// Throws std::runtime_error that names it and says what to do.
  virtual void open() = 0;
  /// Takes up to `samples`, and returns how many; waits for the device with `stop` only, and takes
  /// none if that is asked. Throws std::runtime_error.
  virtual std::size_t write(const float* from, std::size_t samples, const Stop& stop) = 0;
  /// Of a sample, by its number; before or after it is written.
  virtual void tag(const Tag& tag) { static_cast<void>(tag); }
  /// Makes what was written complete: also after a failure, and with none. Throws
  /// std::runtime_error.
  virtual void close(const Stop& stop) = 0;
  virtual std::vector<Figure> figures() const { return {}; }
};

/// An execution takes one sample.
class DeviceSink final : public Block {
 public:
  DeviceSink(Items items, std::unique_ptr<Writer> writer, std::uint64_t buffer_samples);
  ~DeviceSink() override { thread_.stop(0); }

  void execute(const float* const* in, float*, std::size_t count) noexcept override;
  bool has_device() const noexcept override { return true; }
  void start() override;
  std::uint64_t ready() noexcept override;
  std::uint64_t moved() const noexcept override {
    return static_cast<std::uint64_t>(written_.value());
  }
  void abandon() noexcept override { thread_.stop(0); }
  /// Throws the failure, also one that was there before.
  void finish() override;
  std::string failure() const override { return thread_.failure(); }
  std::vector<Figure> figures() const override;

 private:
  void move(const Stop& stop);
  void write_all(const Stop& stop);
  void hand_tags();

  Items items_;
  std::unique_ptr<Writer> writer_;
  std::uint64_t buffer_samples_, position_ = 0;
  std::unique_ptr<Ring> samples_;  // from start() on
  TagRing tags_;
  Count written_, lost_, lost_tags_;
  IoThread thread_;
};

}  // namespace carillon::dataflow
