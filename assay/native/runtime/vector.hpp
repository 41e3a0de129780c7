// A row of floats as wide as the machine's registers, in the compiler's own vector types:
// the same source is AVX-512, AVX, SSE or NEON code, as the flags say.
#pragma once

#include <cstdint>
#include <cstring>

#include "post_ops.hpp"

#if defined(__AVX512F__) || defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

#if defined(__AVX512F__)
constexpr Size lanes = 16;
constexpr int registers = 32;
#elif defined(__AVX__)
constexpr Size lanes = 8;
constexpr int registers = 16;
#else
constexpr Size lanes = 4;
constexpr int registers = 16;
#endif

// Without optimization (under the sanitizers of tests) a copy at each call only makes compiling
// long.
#ifdef __OPTIMIZE__
#define ASSAY_ALWAYS_INLINE __attribute__((always_inline))
#else
#define ASSAY_ALWAYS_INLINE
#endif
#define ASSAY_INLINE inline ASSAY_ALWAYS_INLINE

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
typedef float Unaligned __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));
typedef std::int32_t IntVector __attribute__((vector_size(lanes * sizeof(float))));

// Less a zero, which is nothing to do: plus a zero would be an addition, as -0 + 0 is 0.
ASSAY_INLINE Vector fill(float value) { return value - Vector{}; }

ASSAY_INLINE Vector load(const float* from) { return reinterpret_cast<const Unaligned&>(*from); }

ASSAY_INLINE void store(float* to, Vector value) { reinterpret_cast<Unaligned&>(*to) = value; }

// The first `count` lanes only: what lies beyond the end of a row is never touched.
ASSAY_INLINE Vector load(const float* from, Size count) {
    if (count >= lanes) return load(from);
    Vector result{};
    std::memcpy(&result, from, static_cast<std::size_t>(count) * sizeof(float));
    return result;
}

ASSAY_INLINE void store(float* to, Vector value, Size count) {
    if (count >= lanes) return store(to, value);
    std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(float));
}

// What is no number stays none, as in Keras: no comparison with it holds, so the value that may be
// one is what is left over. Bounds are numbers.
ASSAY_INLINE Vector at_least(Vector value, Vector bound) { return value < bound ? bound : value; }
ASSAY_INLINE Vector at_most(Vector value, Vector bound) { return value > bound ? bound : value; }
ASSAY_INLINE Vector larger(Vector a, Vector b) { return ((a > b) | (a != a)) ? a : b; }
ASSAY_INLINE IntVector larger(IntVector a, IntVector b) { return a > b ? a : b; }

// Lanes that are no number count as being something.
ASSAY_INLINE bool all_zero(Vector value) {
    const IntVector is_nonzero = value != Vector{};
    std::int32_t any = 0;
    for (Size i = 0; i < lanes; ++i) any |= is_nonzero[i];
    return any == 0;
}

// A float16, as stored; wide machines widen a row of them in one instruction.
struct Half {
    std::uint16_t bits;
};

#if defined(__AVX512F__) || defined(__F16C__)
constexpr bool has_float16 = true;
#else
constexpr bool has_float16 = false;
#endif

ASSAY_INLINE Vector load([[maybe_unused]] const Half* from) {
#if defined(__AVX512F__)
    return reinterpret_cast<Vector>(
        _mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__F16C__) && defined(__AVX__)
    return reinterpret_cast<Vector>(
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
    return Vector{};  // never called: `halves` is false
#endif
}

ASSAY_INLINE Vector reciprocal(Vector value) {
#if defined(__AVX512F__)
    // 14 right bits, and one step of Newton's for the rest: a third of a division's time
    Vector near =
        reinterpret_cast<Vector>(_mm512_maskz_rcp14_ps(0xFFFF, reinterpret_cast<__m512>(value)));
    return near * (2.0f - value * near);
#else
    return 1.0f / value;
#endif
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
