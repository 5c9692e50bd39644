// What a change makes of a format that is valid.
#pragma once

#include <stdexcept>
#include <string>

#include "frame/format.hpp"
#include "frame/frame.hpp"
#include "support/test.hpp"

namespace carillon::test {

inline frame::FrameFormat valid() {
  frame::FrameFormat format;
  format.numerology.fft_size = 128;
  format.numerology.subcarriers = 72;
  return format;
}

/// Exactly one problem, under `key`, whose message holds `part`.
template <typename Change>
void expect_problem(const std::string& key, const std::string& part, Change&& change,
                    frame::FrameFormat format = valid()) {
  EXPECT_TRUE(format.validate().empty());
  change(format);
  const auto problems = format.validate();
  ASSERT_EQ(problems.size(), 1U) << "for " << key << " " << part;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_NE(problems[0].message.find(part), std::string::npos) << problems[0].message;
  EXPECT_THROW(frame::Frame{format}, std::invalid_argument);
}

template <typename Change>
void expect_valid(Change&& change, frame::FrameFormat format = valid()) {
  change(format);
  for (const auto& problem : format.validate())
    EXPECT_EQ(problem.key + " " + problem.message, std::string());
}

}  // namespace carillon::test
