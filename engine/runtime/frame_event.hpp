// What the runtime tells the outside about its frames.
#pragma once

#include <cstdint>

#include "base/tick.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

struct FrameEvent {
  enum class Kind : std::uint8_t {
    Refused,    ///< the policy did not admit it: an overload NACK. Holds nothing
    Committed,  ///< a `notify` instruction is done
    Missed,     ///< a `notify` instruction will never be done
    Done,       ///< every instruction committed or missed. Holds the slot until release()
    Dropped,    ///< past its deadline or abandoned; nothing of it runs. Holds the slot until
                ///< release()
  };
  Kind kind = Kind::Done;
  Reason why = Reason::None;
  std::uint16_t source = 0;
  std::uint16_t instruction = 0;  ///< of Committed and Missed
  std::uint16_t slot = 0;
  std::uint64_t frame = 0;
  Tick at = 0;
};

}  // namespace carillon::runtime
