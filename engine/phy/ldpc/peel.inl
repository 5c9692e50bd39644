// What message passing leaves open though nothing of what was received is wrong: bits that were
// not sent and that checks only give one after the other. A chain of them may be longer than
// iterations reach, and a message loses kOffset with every check on its way. Here what is known is
// certain, and a check that lacks one bit gives it. Columns are bits, so that a round of all rows
// is less than half an iteration.

namespace {

class Peeling {
 public:
  Peeling(const BaseGraph& graph, LdpcCode code, std::uint32_t pack, LdpcWorkspace& work)
      : graph_(graph),
        places_(place_edges(code, pack, work)),
        pack_(pack),
        z_(code.lifting * pack),
        work_(work) {}

  // Blocks, as bits.
  struct Found {
    std::uint32_t solved, contradicted;  // a bit was; a check was, that knows all its bits
  };

  // The Z checks of the row's first `edges` edges and of a column that only they have, if any: its
  // ones, and which of its bits are unknown. Unknown bits count as zero.
  Found row(std::uint32_t r, std::uint32_t edges, const Bits& ones, const Bits& unknown) const {
    const std::uint32_t begin = graph_.row_begin[r], end = begin + edges;
    Bits odd = ones ^ sum_columns<true>(work_.bits, places_ + begin, places_ + end);
    Bits once = unknown, twice = {};
    for (std::uint32_t e = begin; e < end; ++e) {
      const Bits here = unknown_at(e);
      twice = twice | (once & here);
      once = once | here;
    }
    const Bits lacks_one = without(once, twice);
    Found found{0, blocks_of(without(odd, once), z_, pack_)};
    if (blocks_of(lacks_one, z_, pack_) == 0) return found;
    for (std::uint32_t e = begin; e < end; ++e) {
      const Bits here = unknown_at(e) & lacks_one;
      const std::uint32_t blocks = blocks_of(here, z_, pack_);
      found.solved |= blocks;
      if (blocks != 0) fill_in(e, here, here & odd);
    }
    return found;
  }

  // Blocks with unknown bits in the columns [first, last).
  std::uint32_t open(std::uint32_t first, std::uint32_t last) const {
    Bits any = {};
    for (std::uint32_t c = first; c < last; ++c) any = any | load_bits(work_.unknown[c]);
    return blocks_of(any, z_, pack_);
  }

 private:
  Bits unknown_at(std::uint32_t e) const {
    return sum_columns<true>(work_.unknown, places_ + e, places_ + e + 1);
  }

  // Of an edge's column, as the row has it: which bits are known now, and the ones among them.
  void fill_in(std::uint32_t e, const Bits& known, const Bits& ones) const {
    flip(work_.unknown[graph_.column[e]], known, graph_.shift[e]);
    flip(work_.bits[graph_.column[e]], ones, graph_.shift[e]);
  }
  void flip(BitColumn& column, const Bits& rotated_bits, std::uint32_t shift) const {
    BitColumn turned[2] = {};  // a rotation reads on past its column
    store_column(turned[0], rotated_bits, z_);
    const std::uint32_t back = shift == 0 ? 0 : z_ - shift * pack_;
    store_column(column, load_bits(column) ^ rotated<true>(turned[0], back), z_);
  }

  const BaseGraph& graph_;
  const BitPlace* const places_;
  const std::uint32_t pack_, z_;
  LdpcWorkspace& work_;
};

}  // namespace
