// Convolutions of stride 1 by Winograd's minimal filtering: fewer products, the same sums.
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).
#pragma once

#include "step.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// From `size` rows of numbers to as many: the input's transform, Bᵀ. The points are 0, ±1, ∞ for
// size 4, and ±2 more for size 6.
template <int size>
ASSAY_INLINE void transform_input(const Vector (&d)[size], Vector (&to)[size]) {
    if constexpr (size == 4) {
        to[0] = d[0] - d[2];
        to[1] = d[1] + d[2];
        to[2] = d[2] - d[1];
        to[3] = d[3] - d[1];
    } else {
        const Vector a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1];
        const Vector c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
        to[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
        to[1] = a + b;
        to[2] = a - b;
        to[3] = c + e;
        to[4] = c - e;
        to[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
    }
}

// From products to `outputs` values: Aᵀ.
template <int size, int outputs>
ASSAY_INLINE void transform_output(const Vector (&m)[size], Vector (&to)[outputs]) {
    const Vector sum = m[1] + m[2], difference = m[1] - m[2];
    if constexpr (size == 4) {
        to[0] = m[0] + sum;
        to[1] = difference + m[3];
    } else {
        const Vector far = m[3] + m[4], apart = m[3] - m[4];
        to[0] = m[0] + sum + far;
        if constexpr (outputs == 2) {
            to[1] = difference + 2.0f * apart + m[5];
        } else {
            to[1] = difference + 2.0f * apart;
            to[2] = sum + 4.0f * far;
            to[3] = difference + 8.0f * apart + m[5];
        }
    }
}

// The filter's transform, G: window numbers to `size`. Done once, in double.
template <int size, int window>
void transform_filter(const double* from, Size step, double* to, Size to_step) {
    // A row of G is the powers of its point over the product of its distances to the others.
    constexpr double points[] = {0, 1, -1, 2, -2};
    constexpr double scales4[] = {1, 0.5, 0.5};
    constexpr double scales6[] = {0.25, -1.0 / 6, -1.0 / 6, 1.0 / 24, 1.0 / 24};
    for (int i = 0; i < size - 1; ++i) {
        double power = 1, sum = 0;
        for (int k = 0; k < window; ++k, power *= points[i]) sum += power * from[k * step];
        to[i * to_step] = sum * (size == 4 ? scales4[i < 3 ? i : 0] : scales6[i]);
    }
    to[(size - 1) * to_step] = from[(window - 1) * step];
}

// Weights (filters, channels, window, window) → place in the tile, block of filters, channel, lane.
template <int size, int window>
Buffer<float> transform_weights(const Geometry& g, const float* weight, int columns) {
    const Size block = columns * lanes, blocks = (g.filters + block - 1) / block;
    Buffer<float> result(size * size * blocks * g.channels * block);
    for (Size filter = 0; filter < g.filters; ++filter)
        for (Size c = 0; c < g.channels; ++c) {
            double from[window * window], half[size * window], squared[size * size];
            for (int i = 0; i < window * window; ++i)
                from[i] = weight[(filter * g.channels + c) * window * window + i];
            for (int x = 0; x < window; ++x)
                transform_filter<size, window>(from + x, window, half + x, window);
            for (int y = 0; y < size; ++y)
                transform_filter<size, window>(half + y * window, 1, squared + y * size, 1);
            for (int i = 0; i < size * size; ++i)
                result.data()[((i * blocks + filter / block) * g.channels + c) * block +
                              filter % block] = static_cast<float>(squared[i]);
        }
    return result;
}

template <int size, int window>
class Winograd : public Step {
  public:
    static constexpr int outputs = size - window + 1;  // outputs of a tile, each way
    static constexpr int places = size * size;

    // `weight` is transformed; `plain` is as the definition of the layer has it.
    Winograd(const Geometry& g, const float* weight, const float* untransformed, Epilogue after,
             const float* input, float* output)
        : g_(g), weight_(weight), untransformed_(untransformed), after_(std::move(after)),
          input_(input), output_(output) {
        columns_ = columns_for(g_.filters);
        blocks_ = (g_.filters + columns_ * lanes - 1) / (columns_ * lanes);
        down_ = (g_.high + outputs - 1) / outputs;
        across_ = (g_.wide + outputs - 1) / outputs;
        tiles_ = g_.images * down_ * across_;
        // As many tiles at once as leave room in a core's cache for the weights of a place.
        const Size rows = max_rows(columns_);
        const Size fit = cache_floats / (places * (g_.channels + width()));
        batch_ = std::min(tiles_, std::max(rows, fit / rows * rows));
    }

    static bool fits(const Geometry& g) {
        return g.window == Pair{window, window} && g.strides == Pair{1, 1} &&
               g.dilations == Pair{1, 1} && g.groups == 1 && g.channels >= lanes / 2;
    }

    // The transforms multiply inputs and weights by some hundreds: far from the largest float they
    // cannot overflow, but for inputs of such a size.
    static bool fits(const Geometry& g, const float* weight) {
        return fits(g) && far_from_overflow(weight, g.weights());
    }

    const char* name() const override {
        return size == 4 ? "winograd-2x3" : window == 3 ? "winograd-4x3" : "winograd-2x5";
    }

    Size max_parts() const override { return std::max(std::max<Size>(1, tiles_ / 4), blocks_); }
    Size scratch() const override {
        return places * (step(batch_, g_.channels) + step(batch_, width()));
    }

    // Tiles are shared out; where they are few, blocks of filters are.
    void run(const Part& part) override {
        Range tiles{0, tiles_}, blocks{0, blocks_};
        if (tiles_ >= 4 * part.parts || blocks_ < part.parts) tiles = partition(tiles_, part);
        else blocks = partition(blocks_, part);
        if (blocks.first == blocks.last) return;
        for (Size first = tiles.first; first < tiles.last; first += batch_) {
            const Size count = std::min(batch_, tiles.last - first);
            float* products = part.scratch + places * step(count, g_.channels);
            for (Size i = 0; i < count; ++i) read(first + i, i, count, part.scratch);
            multiply(count, blocks, part.scratch, products);
            for (Size i = 0; i < count; ++i) write(first + i, i, count, blocks, products);
        }
    }

  private:
    static constexpr Size cache_floats = 96 * 1024;  // floats

    struct Corner {
        Size image, y, x;
    };
    Corner corner(Size tile) const {
        const Size image = tile / (down_ * across_), inside = tile % (down_ * across_);
        return {image, inside / across_ * outputs, inside % across_ * outputs};
    }
    Size width() const { return blocks_ * columns_ * lanes; }

    // From one place's numbers of so many tiles to the next place's.
    static Size step(Size tiles, Size each) { return odd_lines(tiles * each); }

    void read(Size tile, Size index, Size count, float* to) const {
        const Corner at = corner(tile);
        const Size top = at.y - g_.pads[0], left = at.x - g_.pads[1];
        const float* image = input_ + at.image * g_.height * g_.width * g_.channels;
        const Size apart = step(count, g_.channels);
        const bool inside =
            top >= 0 && left >= 0 && top + size <= g_.height && left + size <= g_.width;
        for (Size c = 0; c < g_.channels; c += lanes) {
            const Size left_over = g_.channels - c;
            Vector half[size][size];
            for (int x = 0; x < size; ++x) {
                Vector column[size], transformed[size];
                for (int y = 0; y < size; ++y) {
                    const bool there = inside || (top + y >= 0 && top + y < g_.height &&
                                                  left + x >= 0 && left + x < g_.width);
                    column[y] =
                        there ? load(image + ((top + y) * g_.width + left + x) * g_.channels + c,
                                     left_over)
                              : Vector{};
                }
                transform_input<size>(column, transformed);
                for (int y = 0; y < size; ++y) half[y][x] = transformed[y];
            }
            for (int y = 0; y < size; ++y) {
                Vector transformed[size];
                transform_input<size>(half[y], transformed);
                for (int x = 0; x < size; ++x)
                    store(to + (y * size + x) * apart + index * g_.channels + c, transformed[x],
                          left_over);
            }
        }
    }

    void multiply(Size count, Range blocks, const float* inputs, float* products) const {
        static constexpr Size here = 0;
        const Size block = columns_ * lanes;
        const Size from = step(count, g_.channels), to = step(count, width());
        Tile tile;
        tile.taps = &here;
        tile.depth = tile.input_step = g_.channels;
        tile.output_step = width();
        for (Size place = 0; place < places; ++place)
            for (Size b = blocks.first; b < blocks.last; ++b) {
                const float* weight = weight_ + (place * blocks_ + b) * g_.channels * block;
                for_each_tile(count, max_rows(columns_), [&](Size first, Size rows) {
                    tile_function<float>(columns_, rows)(
                        tile, inputs + place * from + first * g_.channels, weight, nullptr,
                        products + place * to + first * width() + b * block, block);
                });
            }
    }

    void write(Size tile, Size index, Size count, Range blocks, const float* products) const {
        const Corner at = corner(tile);
        const Size high = std::min<Size>(outputs, g_.high - at.y);
        const Size wide = std::min<Size>(outputs, g_.wide - at.x);
        const Size end = std::min(g_.filters, blocks.last * columns_ * lanes);
        const Size apart = step(count, width());
        for (Size k = blocks.first * columns_ * lanes; k < end; k += lanes) {
            Vector half[outputs][size];
            for (int x = 0; x < size; ++x) {
                Vector column[size], transformed[outputs];
                for (int y = 0; y < size; ++y)
                    column[y] = load(products + (y * size + x) * apart + index * width() + k);
                transform_output<size, outputs>(column, transformed);
                for (int y = 0; y < outputs; ++y) half[y][x] = transformed[y];
            }
            Vector non_finite{};
            for (int y = 0; y < high; ++y) {
                Vector transformed[outputs];
                transform_output<size, outputs>(half[y], transformed);
                for (int x = 0; x < wide; ++x) {
                    put({at.image, at.y + y, at.x + x}, k, transformed[x]);
                    non_finite +=
                        transformed[x] - transformed[x];  // 0, unless it is infinite or no number
                }
            }
            if (!all_zero(non_finite)) write_direct(at, high, wide, k);
        }
    }

    void put(const Corner& at, Size k, Vector sum) const {
        const Size place = ((at.image * g_.high + at.y) * g_.wide + at.x) * g_.filters + k;
        if (after_.bias) sum += load(after_.bias + k);
        store(output_ + place, apply_epilogue(after_, sum, place, g_.filters - k), g_.filters - k);
    }

    // By the definition. The transforms mix all inputs of a tile: one that is infinite or no number
    // would be seen in outputs that have nothing to do with it.
    void write_direct(const Corner& at, Size high, Size wide, Size k) const {
        for (Size y = at.y; y < at.y + high; ++y)
            for (Size x = at.x; x < at.x + wide; ++x) {
                Vector sum{};
                for (Size lane = 0; lane < std::min(lanes, g_.filters - k); ++lane)
                    sum[lane] = direct_sum({at.image, y, x}, k + lane);
                put({at.image, y, x}, k, sum);
            }
    }

    float direct_sum(const Corner& at, Size filter) const {
        const Size top = at.y - g_.pads[0], left = at.x - g_.pads[1];
        const float* image = input_ + at.image * g_.height * g_.width * g_.channels;
        const float* weight = untransformed_ + filter * g_.channels * window * window;
        float sum = 0;
        for (Size y = std::max<Size>(0, -top); y < window && top + y < g_.height; ++y)
            for (Size x = std::max<Size>(0, -left); x < window && left + x < g_.width; ++x)
                for (Size c = 0; c < g_.channels; ++c)
                    sum += image[((top + y) * g_.width + left + x) * g_.channels + c] *
                           weight[(c * window + y) * window + x];
        return sum;
    }

    Geometry g_;
    const float *weight_, *untransformed_;
    Epilogue after_;
    const float* input_;
    float* output_;
    Size blocks_, down_, across_, tiles_, batch_;
    int columns_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
