#pragma once
#include "tensorUtils.h"
