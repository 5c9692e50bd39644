#include "frame/gpu/body.hpp"

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

using namespace phy::cuda;
using namespace phy::cuda::zeroforce;

template <>
void KernelBody::operator()(EmulatedCta& cta, const GatherTask& task) const {
  gather_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const ReceiveTask& task) const {
  receive_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const EstimateTask& task) const {
  estimate_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const DeviationTask& task) const {
  deviation_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const SurveyTask& task) const {
  survey_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const GramTask& task) const {
  gram_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const FactorTask& task) const {
  factor_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const WeighTask& task) const {
  weigh_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const ExpandTask& task) const {
  expand_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const AntennaPowerTask& task) const {
  antenna_power_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const GainTask& task) const {
  gain_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const LeaveOutTask& task) const {
  leave_out_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const EqualizeTask& task) const {
  equalize_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const RecoverTask& task) const {
  recover_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const DecodeTask& task) const {
  decode_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const DesegmentTask& task) const {
  desegment_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const EncodeTask& task) const {
  encode_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const PrecodeTask& task) const {
  precode_block(cta, task);
}
template <>
void KernelBody::operator()(EmulatedCta& cta, const TransmitTask& task) const {
  transmit_block(cta, task);
}

}  // namespace carillon::test
