// Every header that a generic kernel (.inl) may use: included before a target pragma, never inside.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "dsp/sample.hpp"
