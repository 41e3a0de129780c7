// A tile of a product whose rows are pixels from anywhere: each has its own place in the input.
// Inputs and weights are floats, bytes (multiplied four at a time), or floats and bytes.
#pragma once

#include "bytes.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Neighbours in the input that are multiplied: from a pixel's first, so many units of them.
struct Run {
    Size offset, units;
};

template <typename In>
struct Numbers {
    using Sum = float;
    using Row = Vector;
    static constexpr Size unit = 1;
};

template <>
struct Numbers<Byte> {
    using Sum = std::int32_t;
    using Row = Whole;
    static constexpr Size unit = 4;
};

ASSAY_INLINE Vector spread_of(const float* from) { return fill(*from); }
ASSAY_INLINE Whole spread_of(const Byte* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return Whole{} + four;
}

ASSAY_INLINE Vector row_of(const float* weight, float) { return load(weight); }
ASSAY_INLINE Vector row_of(const Signed* weight, float) {
    SignedRow row;
    std::memcpy(&row, weight, sizeof row);
    return floats_of(row);
}
ASSAY_INLINE Whole row_of(const Signed* weight, std::int32_t) {
    Whole row;
    std::memcpy(&row, weight, sizeof row);
    return row;
}

ASSAY_INLINE Vector added(Vector sum, Vector value, Vector factor) { return sum + value * factor; }

#if defined(__AVX512BW__)
ASSAY_INLINE Whole pairs(Whole a, Whole b) {
    return reinterpret_cast<Whole>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#elif defined(__AVX2__) && !defined(__AVX512F__)
ASSAY_INLINE Whole pairs(Whole a, Whole b) {
    return reinterpret_cast<Whole>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#endif

// In each lane four unsigned bytes times four signed ones, added up exactly.
ASSAY_INLINE Whole added(Whole sum, Whole value, Whole factor) {
#if defined(__AVX512VNNI__)
    return reinterpret_cast<Whole>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                       reinterpret_cast<__m512i>(value),
                                                       reinterpret_cast<__m512i>(factor)));
#elif defined(__AVX512BW__) || (defined(__AVX2__) && !defined(__AVX512F__))
    // Bytes 0 and 2, then 1 and 3, as pairs of 16 bits, so that nothing is cut off.
    typedef std::int16_t Words __attribute__((vector_size(sizeof(Whole))));
    const auto weight = reinterpret_cast<Words>(factor);
    const Whole low = value & 0x00FF00FF, high = (value >> 8) & 0x00FF00FF;
    return sum + pairs(low, reinterpret_cast<Whole>((weight << 8) >> 8)) +
           pairs(high, reinterpret_cast<Whole>(weight >> 8));
#else
    for (int byte = 0; byte < 4; ++byte)
        sum += ((value >> (8 * byte)) & 0xFF) * ((factor << (24 - 8 * byte)) >> 24);
    return sum;
#endif
}

// Rows whose sums and places fit the registers beside so many columns.
constexpr int most_pixels(int columns) {
    if (registers == 32) return columns == 4 ? 6 : 12;
    return columns == 2 ? 6 : 12;
}

struct Runs {
    const Run* first;
    Size count;
};

template <typename In, typename Weight>
using GatherFunction = void (*)(Runs, const In* input, const Size* places, const Weight* weight,
                                typename Numbers<In>::Sum* sums);

template <int rows, int columns, typename In, typename Weight>
__attribute__((noinline)) void gather_tile(Runs runs, const In* input, const Size* places,
                                           const Weight* weight, typename Numbers<In>::Sum* sums) {
    using Of = Numbers<In>;
    constexpr Size unit = Of::unit;
    constexpr std::make_integer_sequence<int, rows> down;
    constexpr std::make_integer_sequence<int, columns> across;
    typename Of::Row sum[rows * columns];
    const In* from[rows];
    each_of(down, [&](auto r) ASSAY_IN_PLACE {
        from[r] = input + places[r];
        each_of(across, [&](auto c) ASSAY_IN_PLACE { sum[r * columns + c] = typename Of::Row{}; });
    });
    for (const Run* run = runs.first; run != runs.first + runs.count; ++run)
        for (Size at = run->offset, end = at + run->units * unit; at != end; at += unit) {
            typename Of::Row factor[columns];
            each_of(across, [&](auto c) ASSAY_IN_PLACE {
                factor[c] = row_of(weight + c * lanes * unit, typename Of::Sum{});
            });
            weight += columns * lanes * unit;
            each_of(down, [&](auto r) ASSAY_IN_PLACE {
                const typename Of::Row value = spread_of(from[r] + at);
                each_of(across, [&](auto c) ASSAY_IN_PLACE {
                    sum[r * columns + c] = added(sum[r * columns + c], value, factor[c]);
                });
            });
        }
    each_of(std::make_integer_sequence<int, rows * columns>{},
            [&](auto i) ASSAY_IN_PLACE { std::memcpy(sums + i * lanes, &sum[i], sizeof sum[i]); });
}

template <typename In, typename Weight, int columns, int... rows>
constexpr auto gather_tiles(std::integer_sequence<int, rows...>) {
    return std::array<GatherFunction<In, Weight>, sizeof...(rows)>{
        gather_tile<rows + 1, columns, In, Weight>...};
}

// The function for so many pixels, from 1 to most_pixels(columns).
template <typename In, typename Weight>
GatherFunction<In, Weight> gather_function(int columns, Size rows) {
    static constexpr auto one =
        gather_tiles<In, Weight, 1>(std::make_integer_sequence<int, most_pixels(1)>{});
    static constexpr auto two =
        gather_tiles<In, Weight, 2>(std::make_integer_sequence<int, most_pixels(2)>{});
    const auto index = static_cast<std::size_t>(rows - 1);
    if constexpr (widest == 4) {
        static constexpr auto four =
            gather_tiles<In, Weight, 4>(std::make_integer_sequence<int, most_pixels(4)>{});
        if (columns == 4) return four[index];
    }
    return columns == 2 ? two[index] : one[index];
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
