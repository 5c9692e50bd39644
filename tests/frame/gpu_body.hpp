// The text of every kernel, to be run on the host.
#pragma once

#include <type_traits>

#include "frame/gpu.hpp"
#include "phy/demap/cuda.inl"
#include "phy/equalize/cuda.inl"
#include "phy/equalize/cuda_leave_out.inl"
#include "phy/estimate/cuda.inl"
#include "phy/estimate/cuda_deviation.inl"
#include "phy/ldpc/cuda.inl"
#include "phy/ofdm/cuda.inl"
#include "phy/precode/cuda.inl"
#include "phy/transport/cuda.inl"
#include "phy/zeroforce/cuda.inl"

namespace carillon::test {

// A kernel's text, by its task.
struct KernelBody {
  template <typename Cta, typename Task>
  void operator()(Cta& cta, const Task& task) const {
    using namespace phy::cuda;
    using namespace phy::cuda::zeroforce;
    if constexpr (std::is_same_v<Task, GatherTask>) gather_block(cta, task);
    if constexpr (std::is_same_v<Task, ReceiveTask>) receive_block(cta, task);
    if constexpr (std::is_same_v<Task, EstimateTask>) estimate_block(cta, task);
    if constexpr (std::is_same_v<Task, DeviationTask>) deviation_block(cta, task);
    if constexpr (std::is_same_v<Task, SurveyTask>) survey_block(cta, task);
    if constexpr (std::is_same_v<Task, GramTask>) gram_block(cta, task);
    if constexpr (std::is_same_v<Task, FactorTask>) factor_block(cta, task);
    if constexpr (std::is_same_v<Task, WeighTask>) weigh_block(cta, task);
    if constexpr (std::is_same_v<Task, ExpandTask>) expand_block(cta, task);
    if constexpr (std::is_same_v<Task, AntennaPowerTask>) antenna_power_block(cta, task);
    if constexpr (std::is_same_v<Task, GainTask>) gain_block(cta, task);
    if constexpr (std::is_same_v<Task, LeaveOutTask>) leave_out_block(cta, task);
    if constexpr (std::is_same_v<Task, EqualizeTask>) equalize_block(cta, task);
    if constexpr (std::is_same_v<Task, RecoverTask>) recover_block(cta, task);
    if constexpr (std::is_same_v<Task, DecodeTask>) decode_block(cta, task);
    if constexpr (std::is_same_v<Task, DesegmentTask>) desegment_block(cta, task);
    if constexpr (std::is_same_v<Task, EncodeTask>) encode_block(cta, task);
    if constexpr (std::is_same_v<Task, PrecodeTask>) precode_block(cta, task);
    if constexpr (std::is_same_v<Task, TransmitTask>) transmit_block(cta, task);
  }
};

}  // namespace carillon::test
