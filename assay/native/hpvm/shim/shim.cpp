// The implementation of hpvm.h and tensorUtils.h, as one unit: compiled once for each set of flags.
#include "control.hpp"
