// Numbers kept as bytes: a byte b is (b - zero) * scale, so that a chain of layers moves a quarter
// of the memory and multiplies four numbers at a time. What is no number becomes 0 in a byte.
#pragma once

#include "step.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

using Byte = std::uint8_t;
using Signed = std::int8_t;
typedef Byte ByteRow __attribute__((vector_size(lanes)));
typedef Signed SignedRow __attribute__((vector_size(lanes)));

// How a value lies in memory: as floats, or as bytes of this scale.
struct Kept {
    bool bytes = false;
    float scale = 1, zero = 0, inverse = 1;
};

inline Kept kept(const Layer& layer) {
    return {layer.bytes, layer.scale, layer.zero, 1 / layer.scale};
}

// In the compiler's own words for a conversion g++ takes each number by itself: half the time of a
// layer of few channels.
ASSAY_INLINE Vector floats_of(ByteRow row) {
#if defined(__AVX512F__)
    const auto whole = _mm512_maskz_cvtepu8_epi32(0xFFFF, reinterpret_cast<__m128i>(row));
    return __builtin_convertvector(reinterpret_cast<Whole>(whole), Vector);
#elif defined(__AVX2__)
    __m128i wide{};
    std::memcpy(&wide, &row, sizeof row);
    return __builtin_convertvector(reinterpret_cast<Whole>(_mm256_cvtepu8_epi32(wide)), Vector);
#else
    return __builtin_convertvector(row, Vector);
#endif
}

ASSAY_INLINE Vector floats_of(SignedRow row) {
#if defined(__AVX512F__)
    const auto whole = _mm512_maskz_cvtepi8_epi32(0xFFFF, reinterpret_cast<__m128i>(row));
    return __builtin_convertvector(reinterpret_cast<Whole>(whole), Vector);
#elif defined(__AVX2__)
    __m128i wide{};
    std::memcpy(&wide, &row, sizeof row);
    return __builtin_convertvector(reinterpret_cast<Whole>(_mm256_cvtepi8_epi32(wide)), Vector);
#else
    return __builtin_convertvector(row, Vector);
#endif
}

ASSAY_INLINE ByteRow row_of(const Byte* from, Size count) {
    ByteRow row{};
    if (count >= lanes) std::memcpy(&row, from, sizeof row);
    else std::memcpy(&row, from, static_cast<std::size_t>(count));
    return row;
}

ASSAY_INLINE Vector floats_of(const Byte* from, Size count, const Kept& as) {
    return (floats_of(row_of(from, count)) - as.zero) * as.scale;
}

// The nearest whole numbers, from 0 to 255; what is no number becomes 0.
ASSAY_INLINE ByteRow bytes_of(Vector value) {
#if defined(__AVX512F__)
    const auto positive =
        _mm512_maskz_max_ps(0xFFFF, reinterpret_cast<__m512>(value), _mm512_setzero_ps());
    const auto held = _mm512_maskz_min_ps(0xFFFF, positive, _mm512_set1_ps(255));
    return reinterpret_cast<ByteRow>(
        _mm512_maskz_cvtepi32_epi8(0xFFFF, _mm512_maskz_cvtps_epi32(0xFFFF, held)));
#elif defined(__AVX2__)
    const auto held = _mm256_min_ps(
        _mm256_max_ps(reinterpret_cast<__m256>(value), _mm256_setzero_ps()), _mm256_set1_ps(255));
    const __m256i whole = _mm256_cvtps_epi32(held);
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    const __m128i bytes = _mm_packus_epi16(words, words);
    ByteRow row;
    std::memcpy(&row, &bytes, sizeof row);
    return row;
#else
    const Vector positive = value > Vector{} ? value : Vector{};
    // The last bits of a float of this size are whole numbers: it rounds as it is added.
    const Vector rounded = at_most(positive, fill(255.0f)) + 8388608.0f;
    return __builtin_convertvector(reinterpret_cast<Whole>(rounded), ByteRow);
#endif
}

ASSAY_INLINE void store_row(Byte* to, ByteRow row, Size count) {
    if (count >= lanes) std::memcpy(to, &row, sizeof row);
    else std::memcpy(to, &row, static_cast<std::size_t>(count));
}

ASSAY_INLINE void store_bytes(Byte* to, Vector value, Size count, const Kept& as) {
    store_row(to, bytes_of(value * as.inverse + as.zero), count);
}

// Floats as bytes, or bytes as floats.
class Cast : public Step {
  public:
    Cast(Size count, Kept from, Kept to, const float* input, float* output)
        : count_(count), from_(from), to_(to), input_(input), output_(output) {}

    const char* name() const override { return "cast"; }
    Size most_parts() const override { return std::max<Size>(1, count_ / 4096); }

    void run(const Part& part) override {
        const Range mine = share(count_, part);
        const auto* bytes = reinterpret_cast<const Byte*>(input_);
        for (Size i = mine.first; i < mine.last; i += lanes) {
            const Size left = mine.last - i;
            const Vector value =
                from_.bytes ? floats_of(bytes + i, left, from_) : load(input_ + i, left);
            if (to_.bytes) store_bytes(reinterpret_cast<Byte*>(output_) + i, value, left, to_);
            else store(output_ + i, value, left);
        }
    }

  private:
    Size count_;
    Kept from_, to_;
    const float* input_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
