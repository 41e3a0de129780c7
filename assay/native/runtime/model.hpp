// What a model's own source needs: the words to describe it, and the program to run it.
#pragma once

#include "network.hpp"

namespace assay {

int program(int count, char** words, const std::string& model);

}  // namespace assay
