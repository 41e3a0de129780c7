// The one inner loop: a tile of rows times columns of a product, kept in registers.
// Convolutions, their Winograd form and dense layers are all made of it.
#pragma once

#include <array>
#include <utility>

#include "activation.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// So many columns at once: vectors of lanes. More columns, fewer rows fit the registers.
constexpr int widest = registers == 32 ? 4 : 2;
constexpr int max_rows(int columns) {
    if (registers == 32) return columns == 4 ? 6 : columns == 3 ? 9 : columns == 2 ? 14 : 16;
    return columns == 2 ? 6 : 12;
}

inline int columns_for(Size filters) {
    int columns = 1;
    while (columns < widest && filters > columns * lanes) columns *= 2;
    return columns;
}

// The same, and three where that pads less: 96 filters are twice 48, not twice 64.
inline int least_padded_columns(Size filters) {
    int best = columns_for(filters);
    const auto padded = [filters](Size columns) {
        return (filters + columns * lanes - 1) / (columns * lanes) * columns;
    };
    for (int columns = widest - 1; columns > 1; --columns)
        if (columns < best && padded(columns) < padded(best)) best = columns;
    return best;
}

// Where the sums of a tile are added, in place of being its outputs.
struct AddTargets {
    int count = 0;
    struct {
        float* to;
        float sign;
        bool first;  // nothing is there yet
    } each[2];
};

// What a tile multiplies: at each tap, `depth` neighbours of each input row with as many weights.
struct Tile {
    const Size* taps = nullptr;  // offsets from the first input
    Size tap_count = 1;
    Size depth = 0;
    Size input_step = 0;  // from one row's input to the next row's
    Size output_step = 0;
    const float* bias = nullptr;  // padded to whole columns; null: none
    bool residual = false;
    bool relu = false;
    float limit = 0;  // of a relu; 0: none
    const AddTargets* targets =
        nullptr;  // the sums are added there, and nothing else is done to them
};

template <typename Weight>
using TileFunction = void (*)(const Tile&, const float* input, const Weight* weight,
                              const float* residual, float* output, Size filters);

// Calls work(0), work(1), … with numbers that the compiler knows: an array that is only looked at
// by such numbers is a set of registers to it.
template <int... numbers, typename Work>
ASSAY_INLINE void unroll(std::integer_sequence<int, numbers...>, const Work& work) {
    (work(std::integral_constant<int, numbers>{}), ...);
}

// What is done to the sums, each thing for all of them before the next. `whole`: all columns are.
template <bool whole, int rows, int columns>
ASSAY_INLINE void finish(const Tile& tile, Vector (&sum)[rows * columns], const float* residual,
                         float* output, Size filters) {
    constexpr std::make_integer_sequence<int, rows * columns> all;
    const auto at = [&](int i) { return i / columns * tile.output_step + i % columns * lanes; };
    const auto left = [&](int i) { return whole ? lanes : filters - i % columns * lanes; };
    if (tile.residual)
        unroll(all, [&](auto i) ASSAY_ALWAYS_INLINE {
            if (left(i) > 0) sum[i] += load(residual + at(i), left(i));
        });
    if (tile.relu)
        unroll(all, [&](auto i) ASSAY_ALWAYS_INLINE { sum[i] = at_least(sum[i], Vector{}); });
    if (tile.limit > 0)
        unroll(all,
               [&](auto i) ASSAY_ALWAYS_INLINE { sum[i] = at_most(sum[i], fill(tile.limit)); });
    unroll(all, [&](auto i) ASSAY_ALWAYS_INLINE {
        if (left(i) > 0) store(output + at(i), sum[i], left(i));
    });
}

template <int rows, int columns>
ASSAY_INLINE void add_to_targets(const Tile& tile, const Vector (&sum)[rows * columns]) {
    for (int place = 0; place < tile.targets->count; ++place) {
        const auto& here = tile.targets->each[place];
        const Vector sign = fill(here.sign);
        unroll(std::make_integer_sequence<int, rows * columns>{}, [&](auto i) ASSAY_ALWAYS_INLINE {
            float* to = here.to + i / columns * tile.output_step + i % columns * lanes;
            store(to, here.first ? sum[i] : load(to) + sign * sum[i]);
        });
    }
}

template <int rows, int columns, typename Weight>
__attribute__((noinline)) void tile(const Tile& tile, const float* input, const Weight* weight,
                                    const float* residual, float* output, Size filters) {
    constexpr std::make_integer_sequence<int, rows> down;
    constexpr std::make_integer_sequence<int, columns> across;
    Vector sum[rows * columns];
    unroll(across, [&](auto c) ASSAY_ALWAYS_INLINE {
        const Vector start = tile.bias ? load(tile.bias + c * lanes) : Vector{};
        unroll(down, [&](auto r) ASSAY_ALWAYS_INLINE { sum[r * columns + c] = start; });
    });
    const Size step = tile.input_step;
    for (Size t = 0; t < tile.tap_count; ++t) {
        const float* from = input + tile.taps[t];
        for (const float* end = from + tile.depth; from != end; ++from) {
            Vector factor[columns];
            unroll(across,
                   [&](auto c) ASSAY_ALWAYS_INLINE { factor[c] = load(weight + c * lanes); });
            weight += columns * lanes;
            unroll(down, [&](auto r) ASSAY_ALWAYS_INLINE {
                const Vector value = fill(from[r * step]);
                unroll(across, [&](auto c) ASSAY_ALWAYS_INLINE {
                    sum[r * columns + c] += value * factor[c];
                });
            });
        }
    }
    if (tile.targets) add_to_targets<rows, columns>(tile, sum);
    else if (filters >= columns * lanes)
        finish<true, rows, columns>(tile, sum, residual, output, filters);
    else finish<false, rows, columns>(tile, sum, residual, output, filters);
}

template <int columns, typename Weight, int... rows>
constexpr auto tile_functions(std::integer_sequence<int, rows...>) {
    return std::array<TileFunction<Weight>, sizeof...(rows)>{tile<rows + 1, columns, Weight>...};
}

// The function for so many rows, from 1 to most_rows(columns).
template <typename Weight>
TileFunction<Weight> tile_function(int columns, Size rows) {
    static constexpr auto one =
        tile_functions<1, Weight>(std::make_integer_sequence<int, max_rows(1)>{});
    static constexpr auto two =
        tile_functions<2, Weight>(std::make_integer_sequence<int, max_rows(2)>{});
    const auto index = static_cast<std::size_t>(rows - 1);
    if constexpr (widest == 4) {
        static constexpr auto four =
            tile_functions<4, Weight>(std::make_integer_sequence<int, max_rows(4)>{});
        static constexpr auto three =
            tile_functions<3, Weight>(std::make_integer_sequence<int, max_rows(3)>{});
        if (columns == 4) return four[index];
        if (columns == 3) return three[index];
    }
    return columns == 2 ? two[index] : one[index];
}

// Rows in the fewest tiles, all nearly as high as each other: each(first row, rows).
template <typename Each>
ASSAY_INLINE void for_each_tile(Size rows, Size most, Each each) {
    const Size count = (rows + most - 1) / most;
    for (Size i = 0, first = 0; i < count; ++i) {
        const Size here = (rows - first) / (count - i) + ((rows - first) % (count - i) != 0);
        each(first, here);
        first += here;
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
