// Entry points of the opcodes' kernels: runtime::Kernel, with the Pipeline as context.
#pragma once

#include "runtime/opcode.hpp"

namespace carillon::frame::kernels {

void pilot_fft(void* context, const runtime::Task& task) noexcept;
void uplink_fft(void* context, const runtime::Task& task) noexcept;
void zero_force(void* context, const runtime::Task& task) noexcept;
void equalize_demodulate(void* context, const runtime::Task& task) noexcept;
void decode(void* context, const runtime::Task& task) noexcept;
void store(void* context, const runtime::Task& task) noexcept;
void encode(void* context, const runtime::Task& task) noexcept;
void modulate(void* context, const runtime::Task& task) noexcept;
void precode(void* context, const runtime::Task& task) noexcept;
void ifft(void* context, const runtime::Task& task) noexcept;

}  // namespace carillon::frame::kernels
