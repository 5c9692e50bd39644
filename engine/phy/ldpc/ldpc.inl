// LDPC kernels of one instruction set; included inside its namespace.

#include "phy/ldpc/bits.inl"
//
#include "phy/ldpc/encode.inl"
//
#include "phy/ldpc/bytes.inl"
//
#include "phy/ldpc/row.inl"
//
#include "phy/ldpc/pack.inl"
//
#include "phy/ldpc/peel.inl"
//
#include "phy/ldpc/decode.inl"

const LdpcKernels ldpc_kernels = {encode, decode};
