// Peers that are loaded as they are: shared libraries with interfaces in C.
#pragma once

#include "peers/library.hpp"
#include "peers/peer.hpp"

namespace carillon::bench {

/// A peer without a name where the library is not installed.
Peer load_fftw();
Peer load_mkl();

/// Of any library that exports FFTW's single-precision interface.
Method<Fft> fftw_method(const Library& library);

}  // namespace carillon::bench
