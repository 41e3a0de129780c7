// Convolutions and dense layers by the definition, in tiles of registers.
#pragma once

#include "step.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Weights (filters, channels / groups, high, wide) in the order the tiles read them:
// group, block of filters, tap, channel, lane; filters are padded with zeros to whole blocks.
template <typename Weight, typename Convert>
Buffer<Weight> pack_weights(const Geometry& g, const float* weight, int columns, Convert convert) {
    const Size each = g.filters / g.groups, depth = g.channels / g.groups;
    const Size block = columns * lanes, blocks = (each + block - 1) / block;
    const Size taps = g.window[0] * g.window[1];
    Buffer<Weight> result(g.groups * blocks * taps * depth * block);
    for (Size filter = 0; filter < g.filters; ++filter) {
        const Size group = filter / each, inside = filter % each;
        Weight* to = result.data() + ((group * blocks + inside / block) * taps * depth) * block +
                     inside % block;
        for (Size tap = 0; tap < taps; ++tap)
            for (Size c = 0; c < depth; ++c)
                to[(tap * depth + c) * block] = convert(weight[(filter * depth + c) * taps + tap]);
    }
    return result;
}

template <typename Weight>
class Direct : public Step {
  public:
    Direct(const Geometry& g, const Weight* weight, Epilogue after, const float* input,
           float* output)
        : g_(flatten_pointwise(g)), weight_(weight), after_(std::move(after)), input_(input),
          output_(output) {
        group_filters_ = g_.filters / g_.groups;
        columns_ = least_padded_columns(group_filters_);
        depth_ = g_.channels / g_.groups;
        row_size_ = (g_.width + g_.pads[1] + g_.pads[3]) * g_.channels;
        blocks_ = (group_filters_ + columns_ * lanes - 1) / (columns_ * lanes);
        // Neighbours along a row lie side by side: a whole row of the window is one tap.
        const bool row_is_one_tap = g_.groups == 1 && g_.dilations[1] == 1;
        for (Size y = 0; y < g_.window[0]; ++y)
            for (Size x = 0; x < (row_is_one_tap ? 1 : g_.window[1]); ++x)
                taps_.push_back(y * g_.dilations[0] * row_size_ +
                                x * g_.dilations[1] * g_.channels);
        tile_.taps = taps_.data();
        tile_.tap_count = static_cast<Size>(taps_.size());
        tile_.depth = row_is_one_tap ? depth_ * g_.window[1] : depth_;
        tile_.input_step = g_.strides[1] * g_.channels;
        tile_.output_step = g_.filters;
        tile_.residual = after_.adds_residual;
        tile_.relu = after_.relu;
        tile_.limit = take_relu_limit(after_);
        tile_.relu |= tile_.limit > 0;
    }

    const char* name() const override { return sizeof(Weight) == 2 ? "direct-half" : "direct"; }

    Size max_parts() const override { return std::max(row_count(), g_.groups * blocks_); }
    Size scratch() const override {
        return g_.padded() ? (g_.height + g_.pads[0] + g_.pads[2]) * row_size_ : 0;
    }

    // Pixels or rows of the output are shared out; where they are few, blocks of filters are.
    void run(const Part& part) override {
        const Range every_block{0, g_.groups * blocks_};
        const Size rows = g_.images * g_.high;
        if (row_count() < part.parts && every_block.last >= part.parts)
            compute_rows({0, rows}, {0, g_.wide}, partition(every_block.last, part), part.scratch);
        else if (rows == 1)
            compute_rows({0, 1}, partition(g_.wide, part), every_block, part.scratch);
        else compute_rows(partition(rows, part), {0, g_.wide}, every_block, part.scratch);
    }

  private:
    static Geometry flatten_pointwise(Geometry g) {
        if (!g.pointwise()) return g;
        g.wide = g.width = g.images * g.high * g.wide;
        g.images = g.height = g.high = 1;
        return g;
    }

    // So many parts of pixels or rows are worth their while.
    Size row_count() const {
        const Size rows = g_.images * g_.high;
        return rows == 1 ? g_.wide / 8 : rows / 2;
    }

    void compute_rows(Range rows, Range pixels, Range blocks, float* scratch) {
        while (rows.first < rows.last) {
            const Size image = rows.first / g_.high, top = rows.first % g_.high;
            const Size end = std::min(g_.high, top + rows.last - rows.first);
            const float* from = input_ + image * g_.height * g_.width * g_.channels;
            if (g_.padded()) from = with_border(from, top, end, scratch);
            for (Size block = blocks.first; block < blocks.last; ++block)
                for (Size y = top; y < end; ++y)
                    compute_row(from + y * g_.strides[0] * row_size_, image * g_.high + y, pixels,
                                block);
            rows.first += end - top;
        }
    }

    // The rows that outputs from `top` to `end` read, with zeros around them, at their own places.
    const float* with_border(const float* image, Size top, Size end, float* scratch) const {
        const Size reach = (g_.window[0] - 1) * g_.dilations[0] + 1;
        const Size first = top * g_.strides[0], last = (end - 1) * g_.strides[0] + reach;
        for (Size y = first; y < last; ++y) {
            const Size from = y - g_.pads[0];
            float* row = scratch + y * row_size_;
            if (from < 0 || from >= g_.height) {
                std::fill(row, row + row_size_, 0.0f);
                continue;
            }
            float* inner = std::fill_n(row, g_.pads[1] * g_.channels, 0.0f);
            inner =
                std::copy_n(image + from * g_.width * g_.channels, g_.width * g_.channels, inner);
            std::fill_n(inner, g_.pads[3] * g_.channels, 0.0f);
        }
        return scratch;
    }

    // Pixels of one row of the output, for one block of filters.
    void compute_row(const float* from, Size row, Range pixels, Size block) {
        const Size group = block / blocks_, first = block % blocks_ * columns_ * lanes;
        const Size filter = group * group_filters_ + first, left = group_filters_ - first;
        const Weight* weight =
            weight_ + block * g_.window[0] * g_.window[1] * depth_ * columns_ * lanes;
        Tile tile = tile_;
        tile.bias = after_.bias ? after_.bias + filter : nullptr;
        from += group * depth_;
        for_each_tile(pixels.last - pixels.first, max_rows(columns_), [&](Size done, Size count) {
            const Size x = pixels.first + done;
            const Size at = (row * g_.wide + x) * g_.filters + filter;
            const float* residual = after_.residual ? after_.residual + at : nullptr;
            tile_function<Weight>(columns_, count)(tile, from + x * tile.input_step, weight,
                                                   residual, output_ + at, left);
            if (!after_.post_ops.empty()) finish(residual, output_ + at, count, left);
        });
    }

    void finish(const float* residual, float* output, Size pixels, Size left) const {
        const Size width = std::min(left, columns_ * lanes);
        for (Size i = 0; i < pixels; ++i, output += g_.filters) {
            apply(after_.post_ops, output, residual, width);
            if (residual) residual += g_.filters;
        }
    }

    Geometry g_;
    const Weight* weight_;
    Epilogue after_;
    const float* input_;
    float* output_;
    Size group_filters_, depth_, row_size_, blocks_;
    int columns_;
    std::vector<Size> taps_;
    Tile tile_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
