// All of the runtime as one unit: compiled once for each set of flags, linked to every model.
#include "level.hpp"
