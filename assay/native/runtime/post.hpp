// What is done after a layer, by name. A model's own source needs no more of it than this: how it
// is computed would make every model take twice as long to compile.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu_level.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

using Size = std::ptrdiff_t;

enum class Function {
    residual,  // not a function: another value is added
    relu,
    tanh,
    sigmoid,
    elu,
    selu,
    gelu,
    gelu_tanh,
    silu,
    softplus,
    softsign,
    exponential,
    hard_sigmoid,
    hard_silu,
    mish,
    clip,
    sqrt,
    square,
    abs,
    negative,
    reciprocal,
    log,
    erf,
    sin,
    cos,
    levels,
    floor,
    ceil,
    round,
    truncate,
    sign,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
};

// Something done to a result before it is written for good.
struct Post {
    Function function = Function::relu;
    float alpha = 0;  // relu: slope below 0; elu: scale; clip: the smallest result
    float limit = 0;  // relu: the largest result, 0: none; clip: the largest result
    // levels: of 256 from alpha to limit, the one that a number is in
};

using Posts = std::vector<Post>;

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
