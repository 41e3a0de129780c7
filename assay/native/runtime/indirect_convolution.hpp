// Indirect convolutions: each output pixel has an offset into the input, so that any subset of
// pixels can be computed. For int8 layers, perforation (skipped rows or columns are interpolated
// from their neighbours) and a fused 2x2 max pool. The indirection is as in Dukhan, "The Indirect
// Convolution Algorithm" (2019).
#pragma once

#include "output_stage.hpp"
#include "sampled_weights.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Along one axis: which outputs are computed, and of which two of those each output is the mean.
struct Axis {
    std::vector<Size> computed;
    std::vector<std::array<Size, 2>> from;  // indices into `computed`; the same twice: that one
};

inline Axis axis(Size size, Size every, Size offset) {
    const auto skipped = [&](Size i) {
        return every > 1 && i >= offset && (i - offset) % every == 0;
    };
    Axis result;
    for (Size i = 0; i < size; ++i)
        if (!skipped(i)) result.computed.push_back(i);
    if (result.computed.empty())
        return axis(size, 1, 0);  // one row, skipped: it is computed after all
    Size before = 0;              // computed ones up to here
    const Size count = static_cast<Size>(result.computed.size());
    for (Size i = 0; i < size; ++i) {
        if (!skipped(i)) result.from.push_back({before, before}), ++before;
        else result.from.push_back({std::max<Size>(0, before - 1), std::min(before, count - 1)});
    }
    return result;
}

template <typename In, typename Weight>
class IndirectConvolution : public Step {
  public:
    // `zero_point` is the number that means 0, for the border.
    IndirectConvolution(const Geometry& g, std::shared_ptr<const SampledWeights<Weight>> weights,
                        OutputStage output_stage, Perforation perforation, bool max_pooled,
                        In zero_point, const float* input, float* output)
        : g_(flatten_pointwise(g, perforation, max_pooled)), weights_(std::move(weights)),
          output_stage_(std::move(output_stage)), max_pooled_(max_pooled), zero_point_(zero_point),
          input_(reinterpret_cast<const In*>(input)), output_(output),
          rows_(axis(g_.high, perforation.rows, perforation.offset)),
          columns_(axis(g_.wide, perforation.columns, perforation.offset)) {
        perforated_ = static_cast<Size>(rows_.computed.size()) < g_.high ||
                      static_cast<Size>(columns_.computed.size()) < g_.wide;
        block_columns_ = columns_for(g_.filters);
        block_ = block_columns_ * lanes;
        blocks_ = (g_.filters + block_ - 1) / block_;
        copies_input_ = g_.padded() || !weights_->order.empty();
        channels_ =
            weights_->order.empty() ? g_.channels : static_cast<Size>(weights_->order.size());
        row_size_ = (g_.width + g_.pads[1] + g_.pads[3]) * channels_;
        slot_size_ = (g_.height + g_.pads[0] + g_.pads[2]) * row_size_;
        pool_size_ = max_pooled ? 2 : 1;
        out_high_ = g_.high / pool_size_, out_wide_ = g_.wide / pool_size_;
        const Size pixels = static_cast<Size>(rows_.computed.size() * columns_.computed.size());
        slots_ = std::min(g_.images, std::max<Size>(1, min_pixels / std::max<Size>(1, pixels)));
        computed_per_row_ = static_cast<Size>(columns_.computed.size()) * pool_size_;
        find_pixel_offsets();
    }

    const char* name() const override {
        if (sizeof(In) == 1) return perforated_ ? "int8-perforated" : "int8";
        if (sizeof(Weight) == 1) return "weight-int8";
        return perforated_ ? "perforated" : "terms";
    }

    Size max_parts() const override { return std::max(g_.images * out_high_ / 2, blocks_); }

    Size scratch() const override {
        const Size border_size = copies_input_ ? slots_ * slot_size_ + 64 : 0;
        return aligned_floats(border_size) + (perforated_ ? sums_size() : 0);
    }

    void run(const Part& part) override {
        Range rows{0, g_.images * out_high_}, blocks{0, blocks_};
        if (rows.last / 2 < part.parts && blocks_ >= part.parts) blocks = partition(blocks_, part);
        else rows = partition(rows.last, part);
        // As many images as give tiles enough pixels, or what is left of one.
        while (rows.first < rows.last) {
            const Size image = rows.first / out_high_;
            const Size last = std::min(rows.last, (image + slots_) * out_high_);
            compute(image, {rows.first - image * out_high_, last - image * out_high_}, blocks,
                    part.scratch);
            rows.first = last;
        }
    }

  private:
    using Sum = typename ElementTraits<In>::Sum;
    static constexpr Size min_pixels = 96;  // pixels

    // A product of pixels alone is one row of them.
    static Geometry flatten_pointwise(Geometry g, const Perforation& perforation, bool max_pooled) {
        if (!g.pointwise() || max_pooled || perforation.is_active()) return g;
        g.height = g.high = g.images * g.high * g.wide;
        g.images = g.width = g.wide = 1;
        return g;
    }

    static Size aligned_floats(Size numbers) {
        return (numbers * static_cast<Size>(sizeof(In)) + 3) / 4 + 16;
    }
    Size sums_size() const {
        return slots_ * static_cast<Size>(rows_.computed.size() * columns_.computed.size()) *
               blocks_ * block_;
    }

    // Of the computed pixels, in the order they are computed: four of a window side by side.
    void find_pixel_offsets() {
        for (Size slot = 0; slot < slots_; ++slot)
            for (Size y = 0; y < static_cast<Size>(rows_.computed.size()); y += pool_size_)
                for (Size x = 0; x < static_cast<Size>(columns_.computed.size()); x += pool_size_)
                    for (Size v = y; v < y + pool_size_; ++v)
                        for (Size h = x; h < x + pool_size_; ++h)
                            pixel_offsets_.push_back(
                                slot * slot_size_ +
                                computed_position(rows_, v) * g_.strides[0] * row_size_ +
                                computed_position(columns_, h) * g_.strides[1] * channels_);
    }
    static Size computed_position(const Axis& axis, Size i) {
        return axis.computed[static_cast<std::size_t>(i)];
    }

    // Rows of the output, counted from the image's first; they may reach into images after it.
    void compute(Size image, Range rows, Range blocks, float* scratch) {
        const Range computed = computed_rows(rows);
        const In* from = input_ + image * slot_size_;
        if (copies_input_) from = copy_with_border(image, rows, reinterpret_cast<In*>(scratch));
        float* sums = scratch + aligned_floats(copies_input_ ? slots_ * slot_size_ + 64 : 0);
        const Size first = computed.first * computed_per_row_,
                   count = computed.last * computed_per_row_ - first;
        const Size max_count =
            max_pooled_ ? max_pixels(block_columns_) / 4 * 4 : max_pixels(block_columns_);
        for (Size block = blocks.first; block < blocks.last; ++block) {
            const Weight* weight = weights_->weights.data() +
                                   block * weights_->units * block_ * ElementTraits<In>::unit;
            const Size step = max_pooled_ ? 4 : 1;
            for_each_tile(count / step, max_count / step, [&](Size done, Size tiles) {
                alignas(alignment) Sum tile[24 * lanes];
                const Size pixel = first + done * step, pixels = tiles * step;
                const Runs runs{weights_->runs.data(), static_cast<Size>(weights_->runs.size())};
                indirect_tile_function<In, Weight>(block_columns_, pixels)(
                    runs, from, pixel_offsets_.data() + pixel, weight, tile);
                if (perforated_) store_sums(tile, block, pixel, pixels, sums);
                else
                    store_tile(tile, block,
                               image * out_high_ * out_wide_ + pixel / pool_size_ / pool_size_,
                               pixels);
            });
        }
        if (perforated_) interpolate(image, rows, blocks, sums);
    }

    // The computed rows that these rows of the output need, counted through the slots.
    Range computed_rows(Range rows) const {
        if (!perforated_) return rows;
        const auto place = [&](Size row, std::size_t which) {
            return row / g_.high * static_cast<Size>(rows_.computed.size()) +
                   rows_.from[static_cast<std::size_t>(row % g_.high)][which];
        };
        return {place(rows.first, 0), place(rows.last - 1, 1) + 1};
    }

    // Images with zeros around them, in slots; of each, the rows that are read, and the channels in
    // the order of the sampled weights.
    const In* copy_with_border(Size image, Range rows, In* scratch) const {
        const Size reach = (g_.window[0] - 1) * g_.dilations[0] + 1;
        const Size margin = perforated_ ? 1 : 0;
        for (Size slot = rows.first / out_high_; slot * out_high_ < rows.last; ++slot) {
            const Size top = std::max<Size>(0, rows.first - slot * out_high_ - margin) * pool_size_;
            const Size end =
                std::min(out_high_, rows.last - slot * out_high_ + margin) * pool_size_;
            const In* from = input_ + (image + slot) * g_.height * g_.width * g_.channels;
            for (Size y = top * g_.strides[0]; y < (end - 1) * g_.strides[0] + reach; ++y)
                copy_row(from, y - g_.pads[0], scratch + slot * slot_size_ + y * row_size_);
        }
        return scratch;
    }

    void copy_row(const In* image, Size y, In* to) const {
        if (y < 0 || y >= g_.height) {
            std::fill_n(to, row_size_, zero_point_);
            return;
        }
        const In* from = image + y * g_.width * g_.channels;
        to = std::fill_n(to, g_.pads[1] * channels_, zero_point_);
        if (weights_->order.empty()) to = std::copy_n(from, g_.width * channels_, to);
        else
            for (Size x = 0; x < g_.width; ++x, from += g_.channels)
                for (Size c : weights_->order) *to++ = from[c];
        std::fill_n(to, g_.pads[3] * channels_, zero_point_);
    }

    using Row = typename ElementTraits<In>::Row;

    static ASSAY_INLINE Row load_sums(const Sum* sums) {
        Row row;
        std::memcpy(&row, sums, sizeof row);
        return row;
    }

    // Writes a tile of sums through the output stage; `pixel` is the index of its first pixel in
    // the output. A fused pool takes the maximum of the sums: the output stage is monotonic.
    void store_tile(const Sum* sums, Size block, Size pixel, Size pixels) {
        if (output_stage_.requantizes()) return store_tile_as_bytes(sums, block, pixel, pixels);
        for (Size p = 0; p < pixels; p += pool_size_ * pool_size_, ++pixel)
            for (int c = 0; c < block_columns_; ++c) {
                const Size filter = block * block_ + c * lanes;
                if (filter >= g_.filters) break;
                output_stage_.write(largest(sums + p * block_ + c * lanes), filter, output_,
                                    pixel * g_.filters + filter, g_.filters - filter);
            }
    }

    // The same for int8 outputs, one vector of filters at a time.
    void store_tile_as_bytes(const Sum* sums, Size block, Size pixel, Size pixels) {
        const Size pool_pixels = pool_size_ * pool_size_, between = pool_pixels * block_;
        for (int c = 0; c < block_columns_; ++c) {
            const Size filter = block * block_ + c * lanes;
            if (filter >= g_.filters) break;
            const Sum* from = sums + c * lanes;
            output_stage_.requantize_rows(filter, output_, pixel * g_.filters + filter, g_.filters,
                                          pixels / pool_pixels,
                                          [&](Size i) { return largest(from + i * between); });
        }
    }

    // A pixel's sums, or of a window's four the largest.
    ASSAY_INLINE Vector largest(const Sum* sums) const {
        Row value = load_sums(sums);
        if (max_pooled_)
            for (Size q = 1; q < 4; ++q) value = larger(value, load_sums(sums + q * block_));
        return __builtin_convertvector(value, Vector);
    }

    void store_sums(const Sum* tile, Size block, Size pixel, Size pixels, float* sums) const {
        for (Size p = 0; p < pixels; ++p)
            for (int c = 0; c < block_columns_; ++c)
                store(sums + ((pixel + p) * blocks_ + block) * block_ + c * lanes,
                      output_stage_.dequantize(
                          __builtin_convertvector(load_sums(tile + p * block_ + c * lanes), Vector),
                          block * block_ + c * lanes));
    }

    // Every pixel of the output: a computed one, or the mean of its two neighbours.
    void interpolate(Size image, Range rows, Range blocks, const float* sums) {
        const Size high = static_cast<Size>(rows_.computed.size());
        for (Size row = rows.first; row < rows.last; ++row) {
            const auto& down = rows_.from[static_cast<std::size_t>(row % g_.high)];
            for (Size x = 0; x < g_.wide; ++x) {
                const auto& along = columns_.from[static_cast<std::size_t>(x)];
                const float* from[2];
                for (std::size_t i = 0; i < 2; ++i)
                    from[i] =
                        sums + ((row / g_.high * high + down[i]) * computed_per_row_ + along[i]) *
                                   blocks_ * block_;
                const Size at = ((image * g_.high + row) * g_.wide + x) * g_.filters;
                const Size end = std::min(g_.filters, blocks.last * block_);
                for (Size k = blocks.first * block_; k < end; k += lanes) {
                    Vector value = load(from[0] + k);
                    if (from[0] != from[1]) value = (value + load(from[1] + k)) * 0.5f;
                    output_stage_.finish(value, output_, at + k, g_.filters - k);
                }
            }
        }
    }

    Geometry g_;
    std::shared_ptr<const SampledWeights<Weight>> weights_;
    OutputStage output_stage_;
    bool max_pooled_, perforated_, copies_input_;
    In zero_point_;
    const In* input_;
    float* output_;
    Axis rows_, columns_;
    int block_columns_;
    Size block_, blocks_, channels_, row_size_, slot_size_, slots_, pool_size_, computed_per_row_,
        out_high_, out_wide_;
    std::vector<Size> pixel_offsets_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
