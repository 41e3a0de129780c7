// What a model's own source needs: the words to describe it.
#pragma once

#include "network.hpp"
