// Layers of single pixels, which are products of matrices, by Strassen's method: of two by two
// blocks seven products instead of eight. Strassen, "Gaussian Elimination is not Optimal" (1969);
// sums are made and spread next to the products as by Huang et al., "Strassen's Algorithm Reloaded"
// (2016).
#pragma once

#include <iterator>

#include "step.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// A block of a matrix in a sum, with its sign. Blocks are numbered by rows, 0 to 3.
struct Summand {
    int block = 0;
    float sign = 1;
    bool first = false;  // of a result: nothing was added to this block before
};

// One or two.
struct Summands {
    constexpr Summands(Summand first) : each{first, {}}, count(1) {}
    constexpr Summands(Summand first, Summand second) : each{first, second}, count(2) {}
    constexpr const Summand* begin() const { return each; }
    constexpr const Summand* end() const { return each + count; }

    Summand each[2];
    int count;
};

// A sum of input blocks times a sum of weights, added to some blocks of the result.
struct Product {
    Summands inputs;
    int weights;  // which of the sums below
    Summands results;
};

// Known to the compiler: what is made when a program starts would be made with instructions that
// the CPU may not have.
constexpr Summands strassen_sums[] = {{{0}, {3}}, {{0}},      {{1}, {3, -1}}, {{2}, {0, -1}},
                                      {{3}},      {{0}, {1}}, {{2}, {3}}};
constexpr Product block_products[] = {{{{0}, {3}}, 0, {{0, 1, true}, {3, 1, true}}},
                                      {{{2}, {3}}, 1, {{2, 1, true}, {3, -1}}},
                                      {{{0}}, 2, {{1, 1, true}, {3}}},
                                      {{{3}}, 3, {{0}, {2}}},
                                      {{{0}, {1}}, 4, {{0, -1}, {1}}},
                                      {{{2}, {0, -1}}, 5, {{3}}},
                                      {{{1}, {3, -1}}, 6, {{0}}}};
// The same for one row of blocks, 0 and 1, from the same sums of weights: for a last row of the
// matrix that has no other. It saves nothing.
constexpr Product row_products[] = {{{{0}, {1}}, 1, {{0, 1, true}}},
                                    {{{1}}, 3, {{0}}},
                                    {{{0}}, 2, {{1, 1, true}}},
                                    {{{0}, {1}}, 4, {{1}}}};

inline Size whole_vectors(Size count) { return rounded_up(count, lanes); }

// The filters of a block in bands as wide as tiles: from `first` on, so many vectors.
template <typename Each>
void each_band(Size filters, Each each) {
    const Size vectors = whole_vectors(filters) / lanes;
    for (Size first = 0; first < vectors; first += widest)
        each(first * lanes, static_cast<int>(std::min<Size>(widest, vectors - first)));
}

// Weights (filters, channels) → sum of blocks, band of filters, channel, lane.
inline Buffer<float> strassen_weights(const Geometry& g, const float* weight) {
    const Size each = g.filters / 2, depth = g.channels / 2;
    Buffer<float> result(static_cast<Size>(std::size(strassen_sums)) * depth * whole_vectors(each));
    float* to = result.data();
    for (const Summands& sum : strassen_sums)
        each_band(each, [&](Size first, int columns) {
            for (Size k = 0; k < depth; ++k)
                for (Size n = first; n < first + columns * lanes; ++n, ++to)
                    for (const Summand& summand : sum) {
                        const Size filter = summand.block % 2 * each + n;
                        const Size channel = summand.block / 2 * depth + k;
                        if (n < each) *to += summand.sign * weight[filter * g.channels + channel];
                    }
        });
    return result;
}

class Strassen : public Step {
  public:
    // `weight` is of sums; `plain` is as the definition of the layer has it.
    Strassen(const Geometry& g, const float* weight, const float* untransformed, Epilogue after,
             const float* input, float* output)
        : weight_(weight), untransformed_(untransformed), after_(std::move(after)), input_(input),
          output_(output), channels_(g.channels), filters_(g.filters), rows_(g.pixels()),
          depth_(g.channels / 2), block_filters_(g.filters / 2),
          padded_depth_(whole_vectors(depth_)), padded_width_(whole_vectors(block_filters_)),
          step_(odd_lines(2 * padded_width_)) {
        limit_ = take_relu_limit(after_);
        after_.relu |= limit_ > 0;
        const Size most = max_rows(widest), fit = cache_floats / (2 * (step_ + channels_));
        high_ = std::min(std::max(most, fit / most * most), rows_ / 2);
    }

    // Weights and inputs are added up: far from the largest float they cannot overflow.
    static bool fits(const Geometry& g, const float* weight) {
        const bool blocks =
            g.channels % 2 == 0 && g.filters % 2 == 0 && g.pixels() >= 2 && g.channels >= 2 * lanes;
        return g.pointwise() && blocks && far_from_overflow(weight, g.weights());
    }

    // Where sums are few beside products.
    static bool pays(const Geometry& g) {
        return g.channels >= 192 && g.filters >= 192 && g.pixels() >= 48;
    }

    const char* name() const override { return "strassen"; }
    Size max_parts() const override { return std::max<Size>(1, rows_ / 16); }
    Size scratch() const override { return high_ * (padded_depth_ + 2 * step_); }

    // Rows of the blocks are shared out; the last part has the row that is left over, too.
    void run(const Part& part) override {
        const Size half = rows_ / 2;
        const Range mine = partition(half, part);
        for (Size first = mine.first; first < mine.last; first += high_)
            compute(block_products, {first, half, 2, std::min(high_, mine.last - first)},
                    part.scratch);
        if (rows_ % 2 && part.number + 1 == part.parts)
            compute(row_products, {rows_ - 1, 0, 1, 1}, part.scratch);
    }

  private:
    static constexpr Size cache_floats = 200 * 1024;  // floats: about what a core's cache holds

    // Some rows of each block: the first of them in the first block, from one block to the next
    // below, how many blocks there are below each other, and how many rows.
    struct Chunk {
        Size first, apart, down, count;
    };

    template <std::size_t count>
    void compute(const Product (&products)[count], const Chunk& chunk, float* scratch) const {
        float* results = scratch + high_ * padded_depth_;
        for (const Product& product : products) {
            const float* from = block(product.inputs.each[0], chunk);
            const bool alone = product.inputs.count == 1;
            if (!alone) add(from, product.inputs.each[1], chunk, scratch);
            multiply(product, chunk, alone ? from : scratch, alone ? channels_ : padded_depth_,
                     results);
        }
        write(chunk, results);
    }

    const float* block(const Summand& summand, const Chunk& chunk) const {
        return input_ + (chunk.first + summand.block / 2 * chunk.apart) * channels_ +
               summand.block % 2 * depth_;
    }

    // The last vector is a whole one too: what the one before has done of it is done again.
    void add(const float* first, const Summand& summand, const Chunk& chunk, float* to) const {
        const float* second = block(summand, chunk);
        const Vector sign = fill(summand.sign);
        for (Size row = 0; row < chunk.count; ++row, to += padded_depth_) {
            for (Size k = 0; k + lanes <= depth_; k += lanes)
                store(to + k, load(first + k) + sign * load(second + k));
            const Size last = depth_ - lanes;
            store(to + last, load(first + last) + sign * load(second + last));
            first += channels_;
            second += channels_;
        }
    }

    void multiply(const Product& product, const Chunk& chunk, const float* from, Size from_step,
                  float* results) const {
        static constexpr Size here = 0;
        AddTargets targets;
        Tile tile;
        tile.taps = &here;
        tile.depth = depth_;
        tile.input_step = from_step;
        tile.output_step = step_;
        tile.targets = &targets;
        const float* weight = weight_ + product.weights * depth_ * padded_width_;
        each_band(block_filters_, [&](Size band, int columns) {
            for_each_tile(chunk.count, max_rows(columns), [&](Size first, Size rows) {
                targets.count = 0;
                for (const Summand& summand : product.results)
                    targets.each[targets.count++] = {
                        results + (summand.block / 2 * high_ + first) * step_ +
                            summand.block % 2 * padded_width_ + band,
                        summand.sign, summand.first};
                tile_function<float>(columns, rows)(tile, from + first * from_step, weight, nullptr,
                                                    nullptr, 0);
            });
            weight += depth_ * columns * lanes;
        });
    }

    void write(const Chunk& chunk, const float* results) const {
        for (Size down = 0; down < chunk.down; ++down)
            for (Size i = 0; i < chunk.count; ++i)
                for (Size across = 0; across < 2; ++across)
                    write_row(chunk.first + down * chunk.apart + i, across * block_filters_,
                              results + (down * high_ + i) * step_ + across * padded_width_);
    }

    void write_row(Size row, Size first, const float* sums) const {
        Vector non_finite{};
        for (Size k = 0; k < block_filters_; k += lanes) {
            const Vector sum = load(sums + k);
            put(row, first + k, sum, block_filters_ - k);
            non_finite += sum - sum;  // 0, unless it is infinite or no number
        }
        if (!all_zero(non_finite))
            for (Size k = 0; k < block_filters_; k += lanes)
                put(row, first + k, direct_sum(row, first + k, block_filters_ - k),
                    block_filters_ - k);
        if (after_.post_ops.empty()) return;
        const Size at = row * filters_ + first;
        apply(after_.post_ops, output_ + at, after_.residual ? after_.residual + at : nullptr,
              block_filters_);
    }

    void put(Size row, Size filter, Vector sum, Size left) const {
        const Size at = row * filters_ + filter;
        if (after_.bias) sum += load(after_.bias + filter);
        if (after_.adds_residual) sum += load(after_.residual + at, left);
        if (after_.relu) sum = at_least(sum, Vector{});
        if (limit_ > 0) sum = at_most(sum, fill(limit_));
        store(output_ + at, sum, left);
    }

    // By the definition: what is infinite or no number would be seen in rows that are not its own.
    Vector direct_sum(Size row, Size filter, Size left) const {
        Vector sum{};
        for (Size lane = 0; lane < std::min(lanes, left); ++lane)
            for (Size k = 0; k < channels_; ++k)
                sum[lane] +=
                    input_[row * channels_ + k] * untransformed_[(filter + lane) * channels_ + k];
        return sum;
    }

    const float *weight_, *untransformed_;
    Epilogue after_;
    float limit_ = 0;
    const float* input_;
    float* output_;
    Size channels_, filters_, rows_;
    Size depth_, block_filters_;        // of a block: channels, filters
    Size padded_depth_, padded_width_;  // the same as whole vectors
    Size step_, high_;                  // of results: from row to row; rows of a block at once
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
