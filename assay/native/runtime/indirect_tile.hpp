// Microkernel of an indirect matrix product: each row has its own offset into the input.
// Inputs and weights are float32, int8 (four products per lane), or float32 inputs and int8
// weights.
#pragma once

#include "quantize.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Neighbours in the input that are multiplied: from a pixel's first, so many units of them.
struct Run {
    Size offset, units;
};

template <typename In>
struct ElementTraits {
    using Sum = float;
    using Row = Vector;
    static constexpr Size unit = 1;
};

template <>
struct ElementTraits<Byte> {
    using Sum = std::int32_t;
    using Row = IntVector;
    static constexpr Size unit = 4;
};

ASSAY_INLINE Vector broadcast(const float* from) { return fill(*from); }
ASSAY_INLINE IntVector broadcast(const Byte* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return IntVector{} + four;
}

ASSAY_INLINE Vector load_weights(const float* weight, float) { return load(weight); }
ASSAY_INLINE Vector load_weights(const Signed* weight, float) {
    SignedVector row;
    std::memcpy(&row, weight, sizeof row);
    return to_floats(row);
}
ASSAY_INLINE IntVector load_weights(const Signed* weight, std::int32_t) {
    IntVector row;
    std::memcpy(&row, weight, sizeof row);
    return row;
}

ASSAY_INLINE Vector multiply_add(Vector sum, Vector value, Vector factor) {
    return sum + value * factor;
}

#if defined(__AVX512BW__)
ASSAY_INLINE IntVector multiply_pairs(IntVector a, IntVector b) {
    return reinterpret_cast<IntVector>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#elif defined(__AVX2__) && !defined(__AVX512F__)
ASSAY_INLINE IntVector multiply_pairs(IntVector a, IntVector b) {
    return reinterpret_cast<IntVector>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#endif

// In each lane four unsigned bytes times four signed ones, added up exactly.
ASSAY_INLINE IntVector multiply_add(IntVector sum, IntVector value, IntVector factor) {
#if defined(__AVX512VNNI__)
    return reinterpret_cast<IntVector>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                           reinterpret_cast<__m512i>(value),
                                                           reinterpret_cast<__m512i>(factor)));
#elif defined(__AVX512BW__) || (defined(__AVX2__) && !defined(__AVX512F__))
    // Bytes 0 and 2, then 1 and 3, as pairs of 16 bits, so that nothing is cut off.
    typedef std::int16_t Words __attribute__((vector_size(sizeof(IntVector))));
    const auto weight = reinterpret_cast<Words>(factor);
    const IntVector low = value & 0x00FF00FF, high = (value >> 8) & 0x00FF00FF;
    return sum + multiply_pairs(low, reinterpret_cast<IntVector>((weight << 8) >> 8)) +
           multiply_pairs(high, reinterpret_cast<IntVector>(weight >> 8));
#else
    for (int byte = 0; byte < 4; ++byte)
        sum += ((value >> (8 * byte)) & 0xFF) * ((factor << (24 - 8 * byte)) >> 24);
    return sum;
#endif
}

// Rows whose sums and offsets fit the registers with this many columns.
constexpr int max_pixels(int columns) {
    if (registers == 32) return columns == 4 ? 6 : 12;
    return columns == 2 ? 6 : 12;
}

struct Runs {
    const Run* first;
    Size count;
};

template <typename In, typename Weight>
using IndirectTileFunction = void (*)(Runs, const In* input, const Size* offsets,
                                      const Weight* weight, typename ElementTraits<In>::Sum* sums);

template <int rows, int columns, typename In, typename Weight>
__attribute__((noinline)) void indirect_tile(Runs runs, const In* input, const Size* offsets,
                                             const Weight* weight,
                                             typename ElementTraits<In>::Sum* sums) {
    using Of = ElementTraits<In>;
    constexpr Size unit = Of::unit;
    constexpr std::make_integer_sequence<int, rows> down;
    constexpr std::make_integer_sequence<int, columns> across;
    typename Of::Row sum[rows * columns];
    const In* from[rows];
    unroll(down, [&](auto r) ASSAY_ALWAYS_INLINE {
        from[r] = input + offsets[r];
        unroll(across,
               [&](auto c) ASSAY_ALWAYS_INLINE { sum[r * columns + c] = typename Of::Row{}; });
    });
    for (const Run* run = runs.first; run != runs.first + runs.count; ++run)
        for (Size at = run->offset, end = at + run->units * unit; at != end; at += unit) {
            typename Of::Row factor[columns];
            unroll(across, [&](auto c) ASSAY_ALWAYS_INLINE {
                factor[c] = load_weights(weight + c * lanes * unit, typename Of::Sum{});
            });
            weight += columns * lanes * unit;
            unroll(down, [&](auto r) ASSAY_ALWAYS_INLINE {
                const typename Of::Row value = broadcast(from[r] + at);
                unroll(across, [&](auto c) ASSAY_ALWAYS_INLINE {
                    sum[r * columns + c] = multiply_add(sum[r * columns + c], value, factor[c]);
                });
            });
        }
    unroll(std::make_integer_sequence<int, rows * columns>{}, [&](auto i) ASSAY_ALWAYS_INLINE {
        std::memcpy(sums + i * lanes, &sum[i], sizeof sum[i]);
    });
}

template <typename In, typename Weight, int columns, int... rows>
constexpr auto indirect_tiles(std::integer_sequence<int, rows...>) {
    return std::array<IndirectTileFunction<In, Weight>, sizeof...(rows)>{
        indirect_tile<rows + 1, columns, In, Weight>...};
}

// The function for so many pixels, from 1 to most_pixels(columns).
template <typename In, typename Weight>
IndirectTileFunction<In, Weight> indirect_tile_function(int columns, Size rows) {
    static constexpr auto one =
        indirect_tiles<In, Weight, 1>(std::make_integer_sequence<int, max_pixels(1)>{});
    static constexpr auto two =
        indirect_tiles<In, Weight, 2>(std::make_integer_sequence<int, max_pixels(2)>{});
    const auto index = static_cast<std::size_t>(rows - 1);
    if constexpr (widest == 4) {
        static constexpr auto four =
            indirect_tiles<In, Weight, 4>(std::make_integer_sequence<int, max_pixels(4)>{});
        if (columns == 4) return four[index];
    }
    return columns == 2 ? two[index] : one[index];
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
