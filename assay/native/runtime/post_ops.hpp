// Post-ops of a layer, by name. The source of a model includes only this, not their code, which
// would double its compile time.
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
    quantize,
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

// A function applied to a result before it is stored.
struct PostOp {
    Function function = Function::relu;
    float alpha = 0;  // relu: slope below 0; elu: scale; clip: the smallest result
    float limit = 0;  // relu: the largest result, 0: none; clip: the largest result
    // quantize: 256 levels from alpha to limit, rounding down
};

using PostOps = std::vector<PostOp>;

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
