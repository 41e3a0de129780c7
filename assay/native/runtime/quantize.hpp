// Values quantized to int8: a byte b is (b - zero_point) * scale, so that a chain of layers moves a
// quarter of the memory and multiplies four numbers per lane. NaN becomes 0.
#pragma once

#include "step.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

using Byte = std::uint8_t;
using Signed = std::int8_t;
typedef Byte ByteVector __attribute__((vector_size(lanes)));
typedef Signed SignedVector __attribute__((vector_size(lanes)));

// In the compiler's own words for a conversion g++ takes each number by itself: half the time of a
// layer of few channels.
ASSAY_INLINE Vector to_floats(ByteVector row) {
#if defined(__AVX512F__)
    const auto integers = _mm512_maskz_cvtepu8_epi32(0xFFFF, reinterpret_cast<__m128i>(row));
    return __builtin_convertvector(reinterpret_cast<IntVector>(integers), Vector);
#elif defined(__AVX2__)
    __m128i wide{};
    std::memcpy(&wide, &row, sizeof row);
    return __builtin_convertvector(reinterpret_cast<IntVector>(_mm256_cvtepu8_epi32(wide)), Vector);
#else
    return __builtin_convertvector(row, Vector);
#endif
}

ASSAY_INLINE Vector to_floats(SignedVector row) {
#if defined(__AVX512F__)
    const auto integers = _mm512_maskz_cvtepi8_epi32(0xFFFF, reinterpret_cast<__m128i>(row));
    return __builtin_convertvector(reinterpret_cast<IntVector>(integers), Vector);
#elif defined(__AVX2__)
    __m128i wide{};
    std::memcpy(&wide, &row, sizeof row);
    return __builtin_convertvector(reinterpret_cast<IntVector>(_mm256_cvtepi8_epi32(wide)), Vector);
#else
    return __builtin_convertvector(row, Vector);
#endif
}

ASSAY_INLINE ByteVector load_bytes(const Byte* from, Size count) {
    ByteVector row{};
    if (count >= lanes) std::memcpy(&row, from, sizeof row);
    else std::memcpy(&row, from, static_cast<std::size_t>(count));
    return row;
}

ASSAY_INLINE Vector to_floats(const Byte* from, Size count, const QuantParams& as) {
    return (to_floats(load_bytes(from, count)) - as.zero_point) * as.scale;
}

// Rounds to the nearest integer from 0 to 255; NaN becomes 0.
ASSAY_INLINE ByteVector to_bytes(Vector value) {
#if defined(__AVX512F__)
    const auto positive =
        _mm512_maskz_max_ps(0xFFFF, reinterpret_cast<__m512>(value), _mm512_setzero_ps());
    const auto clamped = _mm512_maskz_min_ps(0xFFFF, positive, _mm512_set1_ps(255));
    return reinterpret_cast<ByteVector>(
        _mm512_maskz_cvtepi32_epi8(0xFFFF, _mm512_maskz_cvtps_epi32(0xFFFF, clamped)));
#elif defined(__AVX2__)
    const auto clamped = _mm256_min_ps(
        _mm256_max_ps(reinterpret_cast<__m256>(value), _mm256_setzero_ps()), _mm256_set1_ps(255));
    const __m256i integers = _mm256_cvtps_epi32(clamped);
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
    const __m128i bytes = _mm_packus_epi16(words, words);
    ByteVector row;
    std::memcpy(&row, &bytes, sizeof row);
    return row;
#else
    const Vector positive = value > Vector{} ? value : Vector{};
    // The last bits of a float of this size are whole numbers: it rounds as it is added.
    const Vector rounded = at_most(positive, fill(255.0f)) + 8388608.0f;
    return __builtin_convertvector(reinterpret_cast<IntVector>(rounded), ByteVector);
#endif
}

ASSAY_INLINE void store_bytes(Byte* to, ByteVector row, Size count) {
    if (count >= lanes) std::memcpy(to, &row, sizeof row);
    else std::memcpy(to, &row, static_cast<std::size_t>(count));
}

ASSAY_INLINE void store_quantized(Byte* to, Vector value, Size count, const QuantParams& as) {
    store_bytes(to, to_bytes(value * as.inverse + as.zero_point), count);
}

// Quantizes or dequantizes a value.
class Cast : public Step {
  public:
    Cast(Size count, QuantParams from, QuantParams to, const float* input, float* output)
        : count_(count), from_(from), to_(to), input_(input), output_(output) {}

    const char* name() const override { return "cast"; }
    Size max_parts() const override { return std::max<Size>(1, count_ / 4096); }

    void run(const Part& part) override {
        const Range mine = partition(count_, part);
        const auto* bytes = reinterpret_cast<const Byte*>(input_);
        for (Size i = mine.first; i < mine.last; i += lanes) {
            const Size left = mine.last - i;
            const Vector value =
                from_.quantized ? to_floats(bytes + i, left, from_) : load(input_ + i, left);
            if (to_.quantized)
                store_quantized(reinterpret_cast<Byte*>(output_) + i, value, left, to_);
            else store(output_ + i, value, left);
        }
    }

  private:
    Size count_;
    QuantParams from_, to_;
    const float* input_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
