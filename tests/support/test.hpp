// GoogleTest where it is installed; else the small part of its interface that our tests use, so
// that the C++ tests also run on a machine that has a compiler and nothing more.
#pragma once

#ifdef CARILLON_HAVE_GTEST
#include <gtest/gtest.h>
#else
#include "support/minitest.hpp"
#endif
