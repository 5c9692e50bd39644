// Every block's declaration: from its folder into the list of block_types().
#pragma once

#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {

BlockType null_source_type();
BlockType signal_source_type();
BlockType noise_source_type();
BlockType fm_test_signal_type();
BlockType raw_source_type();
BlockType wav_source_type();
BlockType udp_source_type();
BlockType zmq_source_type();
BlockType soapy_source_type();
BlockType null_sink_type();
BlockType raw_sink_type();
BlockType wav_sink_type();
BlockType udp_sink_type();
BlockType zmq_sink_type();

BlockType fir_type();
BlockType translating_fir_type();
BlockType resampler_type();
BlockType channelizer_type();
BlockType deemphasis_type();
BlockType dc_blocker_type();
BlockType squelch_type();
BlockType agc_type();
BlockType rotator_type();

BlockType add_type();
BlockType multiply_type();
BlockType add_two_type();
BlockType multiply_two_type();
BlockType convert_type();

BlockType demodulator_type();
BlockType fm_modulator_type();

BlockType probe_type();
BlockType correlator_type();
BlockType fft_power_type();
BlockType waterfall_sink_type();

BlockType head_type();
BlockType skip_type();
BlockType pick_type();

}  // namespace carillon::dataflow
