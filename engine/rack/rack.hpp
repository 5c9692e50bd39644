// Which server of a rack serves which radio unit, and when a unit is moved to another one: the
// fronthaul's controller, which knows of NACKs and of lost hosts and tells the switch. A unit takes
// nothing along: what is lost meanwhile is noise for the radio, which HARQ repairs (Slingshot).
// Before a unit is moved for an overload, its server's reserve joins (MegaStation §4.4).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/tick.hpp"

namespace carillon::rack {

/// Why a radio unit was moved, or a frame lost on its way.
enum class Cause : std::uint8_t {
  None,
  Overload,  ///< moved: too many of the unit's frames came too late or were refused
  HostLost,  ///< lost, or moved: the server was
  Moving,    ///< lost: the unit was between two servers
};
std::string_view to_string(Cause cause);

struct RackOptions {
  std::uint32_t nacks = 3;    ///< of a unit's last frames: its server is overloaded
  std::uint32_t window = 50;  ///< the last frames, at most 64
  /// For so long after a move or a join, no overload of its servers has any consequence.
  Tick hold = 20 * kMillisecond;
  /// Until the switch has changed; frames that start meanwhile are lost.
  Tick move = kMillisecond;
};

/// A radio unit goes from one server to another.
struct Move {
  Tick decided = 0, served = 0;  ///< frames that start in between are lost
  std::uint16_t cell = 0, from = 0, to = 0;
  Cause why = Cause::None;  ///< Overload or HostLost
};

/// A device of a server's reserve was told to come up.
struct Join {
  Tick at = 0;
  std::uint16_t cell = 0;  ///< whose NACKs asked for it
  std::uint16_t server = 0, device = 0;
};

/// Room is judged by load: the share of a server's devices, as far as its scheduler sees them up,
/// that the frames of its units ask for. A unit goes where the load is least with it there.
///
/// Overload: `nacks` of a unit's last `window` frames were refused or late. A device of its
/// server's reserve joins; NACKs count again for frames that start `hold` later, when it has had
/// time to help. Without a reserve the unit moves, but only to a server that is then less loaded
/// than its own was; so no sequence of such moves comes back to where it began, and between them
/// there is `hold`. Lost host: all its units move as soon as that is noticed. No unit goes back by
/// itself, and no device into reserve.
class Rack {
 public:
  /// Of a server's devices, that a cell's frames ask for.
  using Share = std::function<double(std::uint16_t server, std::uint16_t cell)>;
  /// Has a device of the server's reserve join, and says which; nothing: there is none left.
  using Reserve = std::function<std::optional<std::uint16_t>(std::uint16_t server, Tick now)>;

  /// `homes`: by cell, where it is first; nothing, or missing: where there is the most room.
  Rack(std::uint16_t servers, std::uint16_t cells,
       std::span<const std::optional<std::uint16_t>> homes, const RackOptions& options, Share share,
       Reserve reserve = {});

  /// Where a frame of the cell goes that starts now: to a lost server where there is no other;
  /// kNone: nowhere, since the cell is moving. Relieves the cell's server if it has to. In order of
  /// `now`, and once for each frame.
  std::uint16_t route(std::uint16_t cell, Tick now);
  static constexpr std::uint16_t kNone = 0xffff;

  /// What a server says of a frame that started then.
  void ended(std::uint16_t cell, std::uint16_t server, Tick began, bool done);
  /// It is known that a server is gone, or there again.
  void changed(std::uint16_t server, bool up, Tick now);

  std::span<const Move> moves() const { return moves_; }
  std::span<const Join> joins() const { return joins_; }

 private:
  struct Unit {
    std::uint16_t server = 0;
    Tick served = 0;          // there, from then on
    std::uint64_t nacks = 0;  // a bit for each of its frames there, the last one's lowest
  };
  struct Server {
    bool up = true;
    Tick held = 0;     // until then no overload has a consequence
    Tick settled = 0;  // what started before says nothing of the devices that it has now
  };
  double load(std::uint16_t server) const;
  std::uint32_t recent_nacks(const Unit& unit) const;
  std::uint16_t roomiest(std::uint16_t cell, std::uint16_t except) const;
  void relieve(std::uint16_t cell, Tick now);
  void join(std::uint16_t cell, std::uint16_t device, Tick now);
  void move(std::uint16_t cell, std::uint16_t to, Cause why, Tick now);

  RackOptions options_;
  Share share_;
  Reserve reserve_;
  std::vector<Unit> units_;  // [cell]
  std::vector<Server> servers_;
  std::vector<Move> moves_;
  std::vector<Join> joins_;
};

}  // namespace carillon::rack
