// The kernels of combiners: cuda_survey.inl has survey, cuda_product.inl gram and weigh,
// cuda_factor.inl factor, cuda_expand.inl what follows.
#pragma once

#include "phy/zeroforce/cuda_expand.inl"
#include "phy/zeroforce/cuda_factor.inl"
#include "phy/zeroforce/cuda_product.inl"
#include "phy/zeroforce/cuda_survey.inl"
