// The kernels of combiners: cuda_product.inl has gram and weigh, cuda_factor.inl factor,
// cuda_expand.inl what follows.
#pragma once

#include "phy/zeroforce/cuda_expand.inl"
#include "phy/zeroforce/cuda_factor.inl"
#include "phy/zeroforce/cuda_product.inl"
