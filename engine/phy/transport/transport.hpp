// One transport block, from payload bits to the code blocks' coded bits: TS 38.212 6.2.1–6.2.6
// (uplink) and 7.2.1–7.2.6 (downlink), which agree for one layer. Computed once per grant.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "phy/crc/crc.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/modulation.hpp"

namespace carillon::phy {

struct Coding {
  bool crc =
      true;  ///< 38.212: CRC24A or 16 on the block, CRC24B on each code block if there are several
  Modulation modulation = Modulation::Qpsk;
  double rate = 1.0 / 3;        ///< target code rate R
  std::uint8_t base_graph = 0;  ///< 1 or 2; 0: by 38.212 6.2.2
  std::uint16_t lifting =
      0;  ///< Z: then code blocks are full (K = 22Z or 10Z bits); 0: by 38.212 5.2.2
  std::uint8_t redundancy_version = 0;  ///< 0…3
  double buffer_limit = 1.0;            ///< Ncb / N, in (0, 1]: 38.212 5.4.2.1's limited buffer
};

/// What is wrong with a request: the key of Coding (or "tbs", "resource_elements") and the reason,
/// with the range that would do.
struct CodingError {
  std::string key;
  std::string message;
};

/// Consecutive coded bits e[e…e+count) that are consecutive in the circular buffer, d[d…d+count).
struct SoftPiece {
  std::uint32_t e, count, d;
};

/// Where the coded bits e of a code block lie in the decoder's soft buffer, d order (38.212 5.3.2).
struct SoftMap {
  /// One lap of the circular buffer from k0 on, fillers left out, cut to E; `piece_count` are in
  /// use.
  std::array<SoftPiece, 3> pieces{};
  std::uint32_t piece_count = 0;
  std::uint32_t lap = 0;  ///< coded bits after which they repeat: Ncb less its fillers
  std::uint32_t E = 0;    ///< coded bits of the block
  std::uint32_t plane_stride =
      0;                  ///< E / Qm: constellation bit i of element j is e[i * plane_stride + j]
  std::uint32_t N = 0;    ///< coded bits of the code: places in the decoder's soft buffer
  std::uint32_t Ncb = 0;  ///< of these, the circular buffer's
  std::uint8_t bits = 0;  ///< Qm
  /// E <= lap: soft bits are stored at their d place in a buffer of N, whose other places stay as
  /// they are: zero them beforehand. Otherwise bits repeat: they are stored in e order in a buffer
  /// of E, and DemapKernels::recover adds them up.
  bool direct = true;
};

struct CodeBlock {
  std::uint32_t first_re,
      re_count;  ///< in the transport block's resource elements, frequency first
  std::uint32_t E;
  std::uint32_t last_position;  ///< one more than the highest d place sent
  SoftMap map;
};

class TransportPlan {
 public:
  /// A plan for a transport block on `re_count` resource elements of one layer. Its size is `tbs`
  /// bits or, if not given: with a CRC that of 38.214 5.1.3.2; without, floor(rate × coded bits)
  /// cut to whole bytes in each code block; with `lifting` set, as many full code blocks as the
  /// rate allows.
  static std::variant<TransportPlan, CodingError> make(const Coding& coding, std::uint32_t re_count,
                                                       std::optional<std::uint32_t> tbs = {});

  Modulation modulation() const { return modulation_; }
  std::uint32_t Qm() const { return bits_per_symbol(modulation_); }
  std::uint32_t re_count() const { return re_count_; }
  std::uint32_t G() const { return re_count_ * Qm(); }  ///< coded bits
  std::uint32_t A() const { return A_; }                ///< payload bits
  std::uint32_t B() const { return A_ + crc_bits(transport_crc_); }
  std::uint32_t C() const { return static_cast<std::uint32_t>(blocks_.size()); }
  LdpcCode code() const { return code_; }
  std::uint32_t K() const { return code_.info_bits(); }
  std::uint32_t Kprime() const { return Kprime_; }  ///< K less the fillers
  std::uint32_t fillers() const { return K() - Kprime_; }
  std::uint32_t N() const { return code_.length(); }
  std::uint32_t Ncb() const { return Ncb_; }
  Crc transport_crc() const { return transport_crc_; }
  Crc block_crc() const { return block_crc_; }
  /// The check a decoder can stop on: the block's own, or the transport block's when there is one
  /// block.
  Crc decoder_crc() const { return C() > 1 ? block_crc_ : transport_crc_; }
  std::span<const CodeBlock> blocks() const { return blocks_; }
  /// Bytes of one code block's soft buffer as DemapKernels::store fills it: N, or E where bits
  /// repeat.
  std::uint32_t soft_bytes() const { return soft_bytes_; }

 private:
  Modulation modulation_ = Modulation::Qpsk;
  Crc transport_crc_ = Crc::None, block_crc_ = Crc::None;
  LdpcCode code_;
  std::uint32_t re_count_ = 0, A_ = 0, Kprime_ = 0, Ncb_ = 0, soft_bytes_ = 0;
  std::vector<CodeBlock> blocks_;

  friend struct TransportPlanner;
};

/// The transport block's parity bits: computed once, handed to segment() for every code block.
std::uint32_t transport_parity(const TransportPlan&, const std::uint8_t* payload) noexcept;

/// Code block r's K information bits (MSB first, (K+7)/8 bytes) with its CRC24B, fillers zero.
void segment(const TransportPlan&, const std::uint8_t* payload, std::uint32_t parity,
             std::uint32_t r, std::uint8_t* info) noexcept;

/// The payload (A bits, MSB first, (A+7)/8 bytes) from all code blocks, block r's bits at
/// infos + r * stride. Returns whether the transport block's CRC holds (true without CRC).
bool desegment(const TransportPlan&, const std::uint8_t* infos, std::size_t stride,
               std::uint8_t* payload) noexcept;

/// Spare bytes readable after the E bits that select_bits writes (ModulateKernels reads past).
inline constexpr std::size_t kCodedPadding = 8;

/// Rate matching, 38.212 5.4.2.1: the E coded bits of a block from its codeword (N bits, d order),
/// both LSB first. The interleaver of 5.4.2.2 is implied: constellation bit i is e's i-th run of E
/// / Qm.
void select_bits(const SoftMap&, const std::uint8_t* codeword, std::uint8_t* e) noexcept;

/// Rate matching of 38.212 5.4.2.1 as a map. Of the code's N coded bits the first Ncb are kept,
/// less `fillers`; E is a multiple of Qm.
SoftMap match_rate(LdpcCode, std::uint32_t fillers, std::uint32_t Ncb,
                   std::uint32_t redundancy_version, std::uint32_t Qm, std::uint32_t E) noexcept;

/// The base graph of 38.212 6.2.2 for A payload bits at rate R.
std::uint8_t choose_base_graph(std::uint32_t A, double rate) noexcept;

/// Largest lifting size whose K = 22Z or 10Z does not exceed `info_bits`; 0 if there is none.
std::uint16_t largest_lifting(std::uint8_t base_graph, std::uint32_t info_bits) noexcept;

/// Transport block size, 38.214 5.1.3.2 steps 2–4, for `re_count` elements (times layers).
std::uint32_t transport_block_bits(std::uint32_t re_count, Modulation, double rate) noexcept;

struct Mcs {
  Modulation modulation;
  double rate;
};
/// 38.214 tables 5.1.3.1-1 (up to 64QAM), -2 (256QAM), -3 (low spectral efficiency).
enum class McsTable : std::uint8_t { Qam64 = 1, Qam256 = 2, LowSe = 3 };
/// Nothing for a reserved or unknown index.
std::optional<Mcs> mcs(McsTable, std::uint32_t index) noexcept;

}  // namespace carillon::phy
