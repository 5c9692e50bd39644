// Every header that a generic kernel (.inl) may use: included before a target pragma, never inside.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/prefetch.hpp"
#include "phy/tile.hpp"
