// What the ends of a link say and hand out.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::test {

/// Waits for `wanted` packets; fewer when they do not come for longer than any busy machine takes.
inline std::vector<fronthaul::Received> receive(fronthaul::Transport& end, std::size_t wanted,
                                                std::uint32_t receiver = 0,
                                                Tick patience = 20 * kSecond) {
  std::vector<fronthaul::Received> all;
  for (const Tick begin = now(); all.size() < wanted && now() - begin < patience;) {
    std::array<fronthaul::Received, 16> batch;
    const std::size_t count =
        end.receive(receiver, {batch.data(), std::min(batch.size(), wanted - all.size())});
    all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

inline void recycle(fronthaul::Transport& end, const std::vector<fronthaul::Received>& packets) {
  for (const auto& p : packets) end.recycle({&p.buffer, 1});
}

/// What it throws; nothing if it does not.
inline std::string what(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace carillon::test
