// Elementwise functions: each is written once, over a vector.
#pragma once

#include <cmath>

#include "post.hpp"
#include "vector.hpp"

namespace assay {

// Rational approximation on [-7.9, 7.9], beyond which float32 has only ±1; within 4 units of the
// last place. The coefficients are those Eigen uses.
ASSAY_INLINE Vector tanh(Vector x) {
    x = at_most(at_least(x, fill(-7.90531110763549805f)), fill(7.90531110763549805f));
    const Vector s = x * x;
    Vector p = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
    p = s * p + -8.60467152213735e-11f;
    p = s * p + 5.12229709037114e-08f;
    p = s * p + 1.48572235717979e-05f;
    p = s * p + 6.37261928875436e-04f;
    p = s * p + 4.89352455891786e-03f;
    Vector q = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
    q = s * q + 2.26843463243900e-03f;
    q = s * q + 4.89352518554385e-03f;
    return x * p * reciprocal(q);
}

template <typename Each>
ASSAY_INLINE Vector by_lane(Vector x, Each each) {
    for (Size i = 0; i < lanes; ++i) x[i] = each(x[i]);
    return x;
}

ASSAY_INLINE Vector relu(Vector x, const Post& post) {
    // No slope is no product: infinity times 0 is no number.
    const Vector y = post.alpha == 0 ? at_least(x, Vector{}) : x > Vector{} ? x : x * post.alpha;
    return post.limit > 0 ? at_most(y, fill(post.limit)) : y;
}

inline float hard_sigmoid(float x) {
    const float y = x / 6 + 0.5f;
    return y < 0 ? 0 : y > 1 ? 1 : y;  // not by fmax, which takes 0 for what is no number
}

inline float apply_one(const Post& post, float x) {
    switch (post.function) {
        case Function::sigmoid: return 1 / (1 + std::exp(-x));
        case Function::elu: return x > 0 ? x : post.alpha * std::expm1(x);
        case Function::selu:
            return 1.05070098735548049f * (x > 0 ? x : 1.67326324235437728f * std::expm1(x));
        case Function::gelu: return x * 0.5f * std::erfc(-x * 0.70710678118654752f);
        case Function::gelu_tanh:
            return 0.5f * x * (1 + std::tanh(0.79788456080286536f * (x + 0.044715f * x * x * x)));
        case Function::silu: return x / (1 + std::exp(-x));
        case Function::softplus: return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
        case Function::softsign: return x / (1 + std::fabs(x));
        case Function::exponential: return std::exp(x);
        case Function::hard_sigmoid: return hard_sigmoid(x);
        case Function::hard_silu: return x * hard_sigmoid(x);
        default: return x;
    }
}

ASSAY_INLINE Vector apply(const Post& post, Vector x) {
    if (post.function == Function::relu) return relu(x, post);
    if (post.function == Function::tanh) return tanh(x);
    return by_lane(x, [&post](float one) { return apply_one(post, one); });
}

// `count` neighbours, in place; `residual` is as long.
inline void apply(const Posts& posts, float* values, const float* residual, Size count) {
    for (const Post& post : posts)
        for (Size i = 0; i < count; i += lanes) {
            const Vector x = load(values + i, count - i);
            const bool adds = post.function == Function::residual;
            store(values + i, adds ? x + load(residual + i, count - i) : apply(post, x),
                  count - i);
        }
}

}  // namespace assay
