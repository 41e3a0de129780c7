// Elementwise functions: each is written once, over a vector.
#pragma once

#include <cmath>

#include "post_ops.hpp"
#include "vector.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

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
ASSAY_INLINE Vector per_lane(Vector x, Each each) {
    for (Size i = 0; i < lanes; ++i) x[i] = each(x[i]);
    return x;
}

// 2 to the power of whole numbers, by the bits of a float's exponent.
ASSAY_INLINE Vector power_of_two(IntVector n) {
    const IntVector bits = (n + 127) << 23;
    Vector result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// x = n ln 2 + r, and e^r - 1 by its series, to the last place or two (the coefficients are those
// of Cephes).
struct ExponentialParts {
    Vector n, series;
};
ASSAY_INLINE ExponentialParts split_exponential(Vector x) {
    const Vector n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // to the nearest whole
    const Vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
    Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = r * p + 8.3334519073e-3f;
    p = r * p + 4.1665795894e-2f;
    p = r * p + 1.6666665459e-1f;
    p = r * p + 5.0000001201e-1f;
    return {n, r * r * p + r};
}

// 2 to the n comes in two steps, as one may be beyond a float. `less_one` gives e^x - 1, by the
// series alone where n is 0, so that small numbers keep all their places.
template <bool minus_one>
ASSAY_INLINE Vector exponential(Vector x) {
    const auto [n, series] =
        split_exponential(at_most(at_least(x, fill(-87.336544f)), fill(88.722835f)));
    const IntVector exponent = __builtin_convertvector(n, IntVector), half = exponent >> 1;
    Vector result = (series + 1.0f) * power_of_two(half) * power_of_two(exponent - half);
    if (minus_one) result = n == Vector{} ? series : result - 1.0f;
    result = x > 88.722835f ? fill(HUGE_VALF) : result;
    result = x < -87.336544f ? fill(minus_one ? -1.0f : 0.0f) : result;
    return x != x ? x : result;
}

ASSAY_INLINE Vector absolute(Vector x) { return x < Vector{} ? -x : x; }

// Held where nothing overflows, so that a quick reciprocal does: beyond, it is 1, or less than a
// float can tell from 0.
ASSAY_INLINE Vector sigmoid(Vector x) {
    const auto [n, series] = split_exponential(at_most(at_least(-x, fill(-87.0f)), fill(87.0f)));
    const Vector power = power_of_two(__builtin_convertvector(n, IntVector));
    const Vector result = reciprocal(1.0f + (series * power + power));
    return x < -87.0f ? Vector{} : result;
}

ASSAY_INLINE Vector elu(Vector x, float alpha) {
    return x > Vector{} ? x : alpha * exponential<true>(x);
}

// Rational, on [-4, 4], beyond which float32 has only ±1; the coefficients are those Eigen uses.
ASSAY_INLINE Vector erf(Vector x) {
    const Vector near = at_most(at_least(x, fill(-4.0f)), fill(4.0f)), s = near * near;
    Vector p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
    p = s * p + -2.10102402082508e-06f;
    p = s * p + -5.69250639462346e-05f;
    p = s * p + -7.34990630326855e-04f;
    p = s * p + -2.95459980854025e-03f;
    p = s * p + -1.60960333262415e-02f;
    Vector q = s * -1.45660718464996e-05f + -2.13374055278905e-04f;
    q = s * q + -1.68282697438203e-03f;
    q = s * q + -7.37332916720468e-03f;
    q = s * q + -1.42647390514189e-02f;
    return near * p * reciprocal(q);
}

// As torch has it: near 0 beyond -4, to a float's last place beside 1.
ASSAY_INLINE Vector gelu(Vector x) {
    const Vector z = x * 0.70710678118654752f;
    return 0.5f * x * (z < -4.0f ? Vector{} : 1.0f + erf(z));
}

// log(1 + u) for u from 0 to 1, by the series of the area tangent.
ASSAY_INLINE Vector log1p(Vector u) {
    const Vector s = u / (2.0f + u), t = s * s;
    Vector p = t * (1.0f / 13) + 1.0f / 11;
    p = t * p + 1.0f / 9;
    p = t * p + 1.0f / 7;
    p = t * p + 1.0f / 5;
    p = t * p + 1.0f / 3;
    return 2.0f * (s + s * t * p);
}

ASSAY_INLINE Vector softplus(Vector x) {
    return at_least(x, Vector{}) + log1p(exponential<false>(-absolute(x)));
}

// x tanh(log(1 + e^x)), which is x n / (n + 2) for n = e^x (e^x + 2).
ASSAY_INLINE Vector mish(Vector x) {
    const Vector e = exponential<false>(at_most(x, fill(20.0f))), n = e * (e + 2.0f);
    return x > 20.0f ? x : x * n / (n + 2.0f);
}

ASSAY_INLINE Vector relu(Vector x, const PostOp& post) {
    // No slope is no product: infinity times 0 is no number.
    const Vector y = post.alpha == 0 ? at_least(x, Vector{}) : x > Vector{} ? x : x * post.alpha;
    return post.limit > 0 ? at_most(y, fill(post.limit)) : y;
}

ASSAY_INLINE Vector hard_sigmoid(Vector x) {
    return at_most(at_least(x * (1.0f / 6) + 0.5f, Vector{}), fill(1.0f));
}

// The lower end of the level that a number is in, of 256.
ASSAY_INLINE Vector quantize(Vector x, float low, float high) {
    const Vector steps = (x - low) * (256.0f / (high - low));
    const Vector clamped =
        steps == steps ? at_most(at_least(steps, Vector{}), fill(255.0f)) : Vector{};
    const IntVector level =
        __builtin_convertvector(clamped, IntVector);  // towards 0: there is nothing below
    return __builtin_convertvector(level, Vector) * ((high - low) / 256.0f) + low;
}

inline float apply_scalar(Function function, float x) {
    switch (function) {
        case Function::sqrt: return std::sqrt(x);
        case Function::log: return std::log(x);
        case Function::sin: return std::sin(x);
        case Function::cos: return std::cos(x);
        case Function::floor: return std::floor(x);
        case Function::ceil: return std::ceil(x);
        case Function::round: return std::nearbyint(x);
        case Function::truncate: return std::trunc(x);
        case Function::sign: return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
        case Function::tan: return std::tan(x);
        case Function::asin: return std::asin(x);
        case Function::acos: return std::acos(x);
        case Function::atan: return std::atan(x);
        case Function::sinh: return std::sinh(x);
        case Function::cosh: return std::cosh(x);
        case Function::asinh: return std::asinh(x);
        case Function::acosh: return std::acosh(x);
        case Function::atanh: return std::atanh(x);
        default: return x;
    }
}

ASSAY_INLINE Vector apply(const PostOp& post, Vector x) {
    switch (post.function) {
        case Function::relu: return relu(x, post);
        case Function::tanh: return tanh(x);
        case Function::sigmoid: return sigmoid(x);
        case Function::elu: return elu(x, post.alpha);
        case Function::selu: return 1.05070098735548049f * elu(x, 1.67326324235437728f);
        case Function::gelu: return gelu(x);
        case Function::gelu_tanh:
            return 0.5f * x * (1.0f + tanh(0.79788456080286536f * (x + 0.044715f * x * x * x)));
        case Function::silu: return x * sigmoid(x);
        case Function::softplus: return softplus(x);
        case Function::softsign: return x / (1.0f + absolute(x));
        case Function::exponential: return exponential<false>(x);
        case Function::hard_sigmoid: return hard_sigmoid(x);
        case Function::hard_silu: return x * hard_sigmoid(x);
        case Function::mish: return mish(x);
        case Function::clip: return at_most(at_least(x, fill(post.alpha)), fill(post.limit));
        case Function::square: return x * x;
        case Function::abs: return absolute(x);
        case Function::negative: return -x;
        case Function::reciprocal: return 1.0f / x;
        case Function::erf: return erf(x);
        case Function::quantize: return quantize(x, post.alpha, post.limit);
        default:
            return per_lane(x, [&post](float lane) { return apply_scalar(post.function, lane); });
    }
}

// `count` neighbours, in place; `residual` is as long.
inline void apply(const PostOps& posts, float* values, const float* residual, Size count) {
    for (const PostOp& post : posts)
        for (Size i = 0; i < count; i += lanes) {
            const Vector x = load(values + i, count - i);
            const bool adds_residual = post.function == Function::residual;
            store(values + i, adds_residual ? x + load(residual + i, count - i) : apply(post, x),
                  count - i);
        }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
