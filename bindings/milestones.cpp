#include "milestones.hpp"

namespace carillon::bindings {

namespace {

using frame::Milestones;

std::vector<double> column(const std::vector<Milestones>& frames, Tick Milestones::*milestone) {
  std::vector<double> values;
  for (const Milestones& one : frames)
    values.push_back(one.*milestone == runtime::kNever ? std::numeric_limits<double>::quiet_NaN()
                                                       : milliseconds(one.*milestone));
  return values;
}

}  // namespace

void set_milestones(nanobind::dict& result, const std::vector<Milestones>& frames) {
  result["first_packet"] = array_of(column(frames, &Milestones::first_packet));
  result["started"] = array_of(column(frames, &Milestones::started));
  result["pilots_done"] = array_of(column(frames, &Milestones::pilots_done));
  result["combiner_done"] = array_of(column(frames, &Milestones::combiner_done));
  result["uplink_done"] = array_of(column(frames, &Milestones::uplink_done));
  result["downlink_first"] = array_of(column(frames, &Milestones::downlink_first));
  result["ended"] = array_of(column(frames, &Milestones::ended));
  result["slack"] = array_of(column(frames, &Milestones::slack));
  std::vector<std::uint32_t> missed;
  std::vector<std::uint8_t> completed;
  for (const Milestones& one : frames) {
    missed.push_back(one.missed);
    completed.push_back(one.completed);
  }
  result["missed"] = array_of(std::move(missed));
  nanobind::object flags = array_of(std::move(completed));
  result["completed"] = flags.attr("astype")("bool");
}

}  // namespace carillon::bindings
