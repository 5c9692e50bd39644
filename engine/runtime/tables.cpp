#include "runtime/tables.hpp"

namespace carillon::runtime {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::None: return "none";
    case Reason::EarliestFrame: return "earliest frame";
    case Reason::WorkConserving: return "work conserving";
    case Reason::Assigned: return "assigned beforehand";
    case Reason::Deadline: return "deadline passed";
    case Reason::Predecessor: return "predecessor missed";
    case Reason::Abandoned: return "abandoned";
    case Reason::Refused: return "refused";
    case Reason::Memory: return "no memory left";
    case Reason::Unit: return "with its unit";
    case Reason::Idlest: return "on the idlest device";
    case Reason::Full: return "room where its predecessor ran";
    case Reason::Fragmented: return "elsewhere is sooner than to wait";
    case Reason::Waits: return "to wait is sooner than to copy";
    case Reason::Delayed: return "no room anywhere";
    case Reason::Soonest: return "where it is done first";
    case Reason::Urgent: return "little slack left";
    case Reason::Reordered: return "ready and there is room";
    case Reason::Overcommitted: return "on what others leave";
    case Reason::Coalesced: return "behind its predecessor";
    case Reason::Returned: return "again, its device died";
  }
  return "unknown";
}

}  // namespace carillon::runtime
