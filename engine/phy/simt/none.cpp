// Without nvcc: launches of kernels, none of which succeeds.
#include "phy/demap/cuda.hpp"
#include "phy/equalize/cuda.hpp"
#include "phy/estimate/cuda.hpp"
#include "phy/ldpc/cuda.hpp"
#include "phy/ofdm/cuda.hpp"
#include "phy/precode/cuda.hpp"
#include "phy/transport/cuda.hpp"
#include "phy/zeroforce/cuda.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::kNotBuilt;

Status gather(const GatherTask&, Stream) { return kNotBuilt; }
Status receive(const ReceiveTask&, Stream) { return kNotBuilt; }
Status transmit(const TransmitTask&, Stream) { return kNotBuilt; }
Status estimate(const EstimateTask&, Stream) { return kNotBuilt; }
Status deviate(const DeviationTask&, Stream) { return kNotBuilt; }
Status survey(const SurveyTask&, Stream) { return kNotBuilt; }
Status gram(const GramTask&, Stream) { return kNotBuilt; }
Status factor(const FactorTask&, Stream) { return kNotBuilt; }
Status weigh(const WeighTask&, Stream) { return kNotBuilt; }
Status expand(const ExpandTask&, Stream) { return kNotBuilt; }
Status antenna_power(const AntennaPowerTask&, Stream) { return kNotBuilt; }
Status choose_gain(const GainTask&, Stream) { return kNotBuilt; }
Status leave_out(const LeaveOutTask&, Stream) { return kNotBuilt; }
Status equalize(const EqualizeTask&, Stream) { return kNotBuilt; }
Status recover(const RecoverTask&, Stream) { return kNotBuilt; }
Status decode(const DecodeTask&, Stream) { return kNotBuilt; }
Status desegment(const DesegmentTask&, Stream) { return kNotBuilt; }
Status encode(const EncodeTask&, Stream) { return kNotBuilt; }
Status precode(const PrecodeTask&, Stream) { return kNotBuilt; }

}  // namespace carillon::phy::cuda
