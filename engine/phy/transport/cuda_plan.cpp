// What of transport blocks on a GPU is the host's.
#include <algorithm>

#include "phy/transport/cuda.hpp"
#include "phy/transport/cuda.inl"

namespace carillon::phy::cuda {
namespace {

SelectView view(const SoftMap& map) {
  SelectView result{};
  std::copy_n(map.pieces.begin(), map.piece_count, result.pieces);
  result.piece_count = map.piece_count;
  result.lap = map.lap;
  result.E = map.E;
  return result;
}

}  // namespace

TransportView view(const TransportPlan& plan) {
  TransportView result{};
  result.A = plan.A();
  result.C = plan.C();
  result.K = plan.K();
  result.block_bits = plan.B() / plan.C();
  if (plan.transport_crc() != Crc::None)
    result.transport_crc = crc_chunks(plan.transport_crc(), plan.A(), kEncodeThreads);
  if (plan.block_crc() != Crc::None)
    result.block_crc = crc_chunks(plan.block_crc(), result.block_bits, kEncodeThreads);
  // The last blocks have more resource elements than the first, or none has.
  const auto blocks = plan.blocks();
  while (result.larger < blocks.size() && blocks[result.larger].E == blocks[0].E) ++result.larger;
  result.select[0] = view(blocks.front().map);
  result.select[1] = view(blocks.back().map);
  return result;
}

EncodeTask encode_task(const TransportPlan& plan) {
  EncodeTask task{};
  task.plan = view(plan);
  std::uint32_t sent = 0;
  for (const CodeBlock& block : plan.blocks()) sent = std::max(sent, block.last_position);
  task.table = encode_table(plan.code(), sent);
  task.count = 1;
  task.payload_stride = (plan.A() + 7) / 8;
  task.coded_block = bit_words(task.plan.select[1].E);
  task.coded_stride = task.coded_block * plan.C();
  return task;
}

simt::Launch launch_of(const EncodeTask& task) {
  return {.x = task.plan.C,
          .y = task.count,
          .threads = kEncodeThreads,
          .shared_bytes = encode_shared_bytes(task)};
}

simt::Launch launch_of(const DesegmentTask& task) {
  return {.x = task.count,
          .threads = kDesegmentThreads,
          .shared_bytes = std::max(task.plan.transport_crc.chunks, 1U) * 4};
}

}  // namespace carillon::phy::cuda
