// What goes through a cell's data port, message by message: docs/data-port.md has the same for
// those who write a client.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "frame/frame.hpp"

namespace carillon::port {

enum class MessageType : std::uint8_t {
  Carrier = 1,  ///< to the client, first: the cell's transport blocks, a BlockRow each
  Frame = 2,    ///< to the client: a frame has begun; bits for later ones are welcome
  Block = 3,    ///< to the client: a received block with its verdict
  Bits = 4,     ///< from the client: a block to be sent
  Refused = 5,  ///< to the client: its message, with the reason
  Work =
      6,  ///< from the client: what a frame does, a GrantRow each; and the answer, a BlockRow each
};

/// Why a client's message was not taken.
enum class Refusal : std::uint8_t {
  None,
  NoFrame,  ///< the cell has not begun any frame yet
  Late,     ///< the frame has begun
  Early,    ///< the frame is too far ahead, or the place that it is to have is still in use
  Block,    ///< the frame has no such block
  Bits,     ///< the block has another length, or the piece reaches beyond it
  Order,    ///< the piece does not follow on the one before; all of the block may be there
  Format,   ///< it is no message of this kind, or of another cell
  Busy,     ///< another client is served; the connection is closed
  Grant,    ///< one grant of a frame's work cannot be done; what follows the message says why
};
inline constexpr std::array<std::string_view, 10> kRefusals{
    "none", "no_frame", "late", "early", "block", "bits", "order", "format", "busy", "grant"};

/// What every message begins with, little endian, as it travels.
struct Message {
  static constexpr std::uint32_t kMagic = 0x3150'4443;  // "CDP1"

  std::uint32_t magic = kMagic;
  MessageType type{};
  /// Of a Block a frame::Verdict, of a Refused a Refusal; of a Carrier the frame::Direction whose
  /// bits the client gives.
  std::uint8_t verdict = 0;
  std::uint16_t cell = 0;
  std::uint32_t frame = 0;  ///< the radio's number; of a Carrier how far ahead bits may be
  /// In the frame, by direction; of a Carrier and of Work the number of rows, of a refused grant
  /// its row.
  std::uint32_t block = 0;
  std::uint16_t user = 0;  ///< of a Carrier the slots of a frame
  std::uint8_t harq_process = 0, redundancy_version = 0;
  std::uint16_t slot = 0;  ///< of the frame; of a Carrier the frames that differ, 0: as Work says
  /// Of a Block the signal over noise after equalization, in hundredths of a dB above -100 dB; 0:
  /// not measured.
  std::uint16_t snr = 0;
  std::uint32_t bits = 0;    ///< of the whole block
  std::uint32_t offset = 0;  ///< bytes of it, or of the cell's rows, before this piece
  /// Nanoseconds of the machine's steady clock: of a Frame when it is on air, of a Block when it
  /// was decoded or given up; of a Carrier how long a frame lasts.
  std::int64_t time = 0;
};
static_assert(sizeof(Message) == 40);

/// A transport block, as a Carrier tells it. Slots count on through the frames that differ: it is
/// one of all frames whose number, modulo as many, is `slot` divided by a frame's slots.
struct BlockRow {
  std::uint8_t direction = 0;  ///< a frame::Direction
  std::uint8_t harq_process = 0, redundancy_version = 0, reserved = 0;
  std::uint16_t user = 0, slot = 0;
  std::uint16_t first_symbol = 0, last_symbol = 0;
  std::uint32_t bits = 0;
};
static_assert(sizeof(BlockRow) == 16);

/// One grant of a frame (frame::Grant) in a Work message.
struct GrantRow {
  std::uint16_t user = 0, slot = 0;  ///< of the frame
  std::uint8_t direction = 0;        ///< a frame::Direction
  std::uint8_t redundancy_version = 0, harq_process = 0;
  std::uint8_t modulation = 0;                  ///< 0: as the cell; else bits per symbol, 2 to 8
  std::uint16_t first_block = 0, blocks = 0;    ///< resource blocks
  std::uint16_t first_symbol = 0, symbols = 0;  ///< of the slot; 0 symbols: to its end
  std::uint8_t mcs = 0;                         ///< 0: as the cell; else a row of its table, plus 1
  std::uint8_t again = 0;                       ///< 1: what was sent in its HARQ process before
  std::uint16_t rate = 0;                       ///< 0: as the cell; else times 10240
};
static_assert(sizeof(GrantRow) == 20);

/// As in frame::Grants::list.
std::vector<std::uint32_t> list_of(std::span<const std::uint8_t> rows);

/// Most bytes behind a Message's 40; longer blocks come in pieces, in order.
inline constexpr std::size_t kPiece = 32768;

/// All blocks of a cell, frame after frame of those that differ, first those of the uplink.
std::vector<BlockRow> rows_of(const frame::Frame& frame);
/// Those of one frame.
std::vector<BlockRow> rows_of(const frame::Frame& frame, const frame::FrameProgram& program);

/// Names a block of a frame.
Message message_of(MessageType type, const frame::Frame& frame, const frame::FrameProgram& program,
                   frame::Direction direction, std::uint32_t radio_frame, std::uint32_t block);

/// A client's datagram: its Message, as far as it is there, and what follows. Format: it is neither
/// Bits nor Work for this cell; else None.
struct Parsed {
  Refusal why = Refusal::None;
  Message message;
  std::span<const std::uint8_t> piece;
};
Parsed parse(std::span<const std::uint8_t> datagram, std::uint32_t cell);

/// Bytes that a block of so many bits takes.
constexpr std::size_t bytes_for(std::uint32_t bits) { return (std::size_t{bits} + 7) / 8; }

}  // namespace carillon::port
