// Convolutions and dense layers that compute only what is kept: bytes instead of floats, some rows
// or columns of the output (the others are means of their neighbours), the largest of each window
// of four.
#pragma once

#include "keeping.hpp"
#include "terms.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Of the rows, or of the columns: each from `offset` on whose distance is a multiple of `every`.
struct Perforation {
    Size rows = 1, columns = 1, offset = 0;
};

// Along one axis: which outputs are computed, and of which two of those each output is the mean.
struct Axis {
    std::vector<Size> kept;
    std::vector<std::array<Size, 2>> from;  // places in `kept`; the same twice: that one
};

inline Axis axis(Size size, Size every, Size offset) {
    const auto skipped = [&](Size i) {
        return every > 1 && i >= offset && (i - offset) % every == 0;
    };
    Axis made;
    for (Size i = 0; i < size; ++i)
        if (!skipped(i)) made.kept.push_back(i);
    if (made.kept.empty()) return axis(size, 1, 0);  // one row, skipped: it is computed after all
    Size before = 0;                                 // kept ones up to here
    const Size count = static_cast<Size>(made.kept.size());
    for (Size i = 0; i < size; ++i) {
        if (!skipped(i)) made.from.push_back({before, before}), ++before;
        else made.from.push_back({std::max<Size>(0, before - 1), std::min(before, count - 1)});
    }
    return made;
}

template <typename In, typename Weight>
class Gathered : public Step {
  public:
    // `zero` is the number that means 0, for the border.
    Gathered(const Geometry& g, std::shared_ptr<const Terms<Weight>> terms, Keeping keeping,
             Perforation perforation, bool pooled, In zero, const float* input, float* output)
        : g_(flat(g, perforation, pooled)), terms_(std::move(terms)), keeping_(std::move(keeping)),
          pooled_(pooled), zero_(zero), input_(reinterpret_cast<const In*>(input)), output_(output),
          rows_(axis(g_.high, perforation.rows, perforation.offset)),
          columns_(axis(g_.wide, perforation.columns, perforation.offset)) {
        perforated_ = static_cast<Size>(rows_.kept.size()) < g_.high ||
                      static_cast<Size>(columns_.kept.size()) < g_.wide;
        wide_ = columns_for(g_.filters);
        block_ = wide_ * lanes;
        blocks_ = (g_.filters + block_ - 1) / block_;
        copied_ = g_.padded() || !terms_->order.empty();
        channels_ = terms_->order.empty() ? g_.channels : static_cast<Size>(terms_->order.size());
        line_ = (g_.width + g_.pads[1] + g_.pads[3]) * channels_;
        slot_ = (g_.height + g_.pads[0] + g_.pads[2]) * line_;
        each_ = pooled ? 2 : 1;
        out_high_ = g_.high / each_, out_wide_ = g_.wide / each_;
        const Size pixels = static_cast<Size>(rows_.kept.size() * columns_.kept.size());
        slots_ = std::min(g_.images, std::max<Size>(1, enough / std::max<Size>(1, pixels)));
        across_ = static_cast<Size>(columns_.kept.size()) * each_;
        find_places();
    }

    const char* name() const override {
        if (sizeof(In) == 1) return perforated_ ? "int8-perforated" : "int8";
        if (sizeof(Weight) == 1) return "weight-int8";
        return perforated_ ? "perforated" : "terms";
    }

    Size most_parts() const override { return std::max(g_.images * out_high_ / 2, blocks_); }

    Size scratch() const override {
        const Size held = copied_ ? slots_ * slot_ + 64 : 0;
        return border_floats(held) + (perforated_ ? sums_size() : 0);
    }

    void run(const Part& part) override {
        Range rows{0, g_.images * out_high_}, blocks{0, blocks_};
        if (rows.last / 2 < part.parts && blocks_ >= part.parts) blocks = share(blocks_, part);
        else rows = share(rows.last, part);
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
    using Sum = typename Numbers<In>::Sum;
    static constexpr Size enough = 96;  // pixels

    // A product of pixels alone is one row of them.
    static Geometry flat(Geometry g, const Perforation& perforation, bool pooled) {
        if (!g.pointwise() || pooled || perforation.rows > 1 || perforation.columns > 1) return g;
        g.height = g.high = g.images * g.high * g.wide;
        g.images = g.width = g.wide = 1;
        return g;
    }

    static Size border_floats(Size numbers) {
        return (numbers * static_cast<Size>(sizeof(In)) + 3) / 4 + 16;
    }
    Size sums_size() const {
        return slots_ * static_cast<Size>(rows_.kept.size() * columns_.kept.size()) * blocks_ *
               block_;
    }

    // Of the computed pixels, in the order they are computed: four of a window side by side.
    void find_places() {
        for (Size slot = 0; slot < slots_; ++slot)
            for (Size y = 0; y < static_cast<Size>(rows_.kept.size()); y += each_)
                for (Size x = 0; x < static_cast<Size>(columns_.kept.size()); x += each_)
                    for (Size v = y; v < y + each_; ++v)
                        for (Size h = x; h < x + each_; ++h)
                            places_.push_back(slot * slot_ +
                                              kept(rows_, v) * g_.strides[0] * line_ +
                                              kept(columns_, h) * g_.strides[1] * channels_);
    }
    static Size kept(const Axis& axis, Size i) { return axis.kept[static_cast<std::size_t>(i)]; }

    // Rows of the output, counted from the image's first; they may reach into images after it.
    void compute(Size image, Range rows, Range blocks, float* scratch) {
        const Range grid = computed_rows(rows);
        const In* from = input_ + image * slot_;
        if (copied_) from = with_border(image, rows, reinterpret_cast<In*>(scratch));
        float* sums = scratch + border_floats(copied_ ? slots_ * slot_ + 64 : 0);
        const Size first = grid.first * across_, count = grid.last * across_ - first;
        const Size most = pooled_ ? most_pixels(wide_) / 4 * 4 : most_pixels(wide_);
        for (Size block = blocks.first; block < blocks.last; ++block) {
            const Weight* weight =
                terms_->weights.data() + block * terms_->units * block_ * Numbers<In>::unit;
            const Size step = pooled_ ? 4 : 1;
            in_tiles(count / step, most / step, [&](Size done, Size tiles) {
                alignas(alignment) Sum held[24 * lanes];
                const Size pixel = first + done * step, pixels = tiles * step;
                const Runs runs{terms_->runs.data(), static_cast<Size>(terms_->runs.size())};
                gather_function<In, Weight>(wide_, pixels)(runs, from, places_.data() + pixel,
                                                           weight, held);
                if (perforated_) hold(held, block, pixel, pixels, sums);
                else
                    settle(held, block, image * out_high_ * out_wide_ + pixel / each_ / each_,
                           pixels);
            });
        }
        if (perforated_) expand(image, rows, blocks, sums);
    }

    // The computed rows that these rows of the output need, counted through the slots.
    Range computed_rows(Range rows) const {
        if (!perforated_) return rows;
        const auto place = [&](Size row, std::size_t which) {
            return row / g_.high * static_cast<Size>(rows_.kept.size()) +
                   rows_.from[static_cast<std::size_t>(row % g_.high)][which];
        };
        return {place(rows.first, 0), place(rows.last - 1, 1) + 1};
    }

    // Images with zeros around them, in slots; of each, the rows that are read, and the channels in
    // the order of the terms.
    const In* with_border(Size image, Range rows, In* scratch) const {
        const Size reach = (g_.window[0] - 1) * g_.dilations[0] + 1;
        const Size margin = perforated_ ? 1 : 0;
        for (Size slot = rows.first / out_high_; slot * out_high_ < rows.last; ++slot) {
            const Size top = std::max<Size>(0, rows.first - slot * out_high_ - margin) * each_;
            const Size end = std::min(out_high_, rows.last - slot * out_high_ + margin) * each_;
            const In* from = input_ + (image + slot) * g_.height * g_.width * g_.channels;
            for (Size y = top * g_.strides[0]; y < (end - 1) * g_.strides[0] + reach; ++y)
                copy_row(from, y - g_.pads[0], scratch + slot * slot_ + y * line_);
        }
        return scratch;
    }

    void copy_row(const In* image, Size y, In* to) const {
        if (y < 0 || y >= g_.height) {
            std::fill_n(to, line_, zero_);
            return;
        }
        const In* from = image + y * g_.width * g_.channels;
        to = std::fill_n(to, g_.pads[1] * channels_, zero_);
        if (terms_->order.empty()) to = std::copy_n(from, g_.width * channels_, to);
        else
            for (Size x = 0; x < g_.width; ++x, from += g_.channels)
                for (Size c : terms_->order) *to++ = from[c];
        std::fill_n(to, g_.pads[3] * channels_, zero_);
    }

    using Row = typename Numbers<In>::Row;

    static ASSAY_INLINE Row row_at(const Sum* sums) {
        Row row;
        std::memcpy(&row, sums, sizeof row);
        return row;
    }

    // Sums of a tile, finished and written; `pixel` is the first one's place in the output. Of a
    // window the largest sum is taken: what is done to it afterwards never falls.
    void settle(const Sum* sums, Size block, Size pixel, Size pixels) {
        if (keeping_.at_once()) return settle_bytes(sums, block, pixel, pixels);
        for (Size p = 0; p < pixels; p += each_ * each_, ++pixel)
            for (int c = 0; c < wide_; ++c) {
                const Size filter = block * block_ + c * lanes;
                if (filter >= g_.filters) break;
                keeping_.write(largest(sums + p * block_ + c * lanes), filter, output_,
                               pixel * g_.filters + filter, g_.filters - filter);
            }
    }

    // The same for bytes, a column of filters at a time.
    void settle_bytes(const Sum* sums, Size block, Size pixel, Size pixels) {
        const Size each = each_ * each_, between = each * block_;
        for (int c = 0; c < wide_; ++c) {
            const Size filter = block * block_ + c * lanes;
            if (filter >= g_.filters) break;
            const Sum* from = sums + c * lanes;
            keeping_.write_bytes(filter, output_, pixel * g_.filters + filter, g_.filters,
                                 pixels / each,
                                 [&](Size i) { return largest(from + i * between); });
        }
    }

    // A pixel's sums, or of a window's four the largest.
    ASSAY_INLINE Vector largest(const Sum* sums) const {
        Row value = row_at(sums);
        if (pooled_)
            for (Size q = 1; q < 4; ++q) value = larger(value, row_at(sums + q * block_));
        return __builtin_convertvector(value, Vector);
    }

    void hold(const Sum* tile, Size block, Size pixel, Size pixels, float* sums) const {
        for (Size p = 0; p < pixels; ++p)
            for (int c = 0; c < wide_; ++c)
                store(sums + ((pixel + p) * blocks_ + block) * block_ + c * lanes,
                      keeping_.scaled(
                          __builtin_convertvector(row_at(tile + p * block_ + c * lanes), Vector),
                          block * block_ + c * lanes));
    }

    // Every pixel of the output: a computed one, or the mean of two.
    void expand(Size image, Range rows, Range blocks, const float* sums) {
        const Size high = static_cast<Size>(rows_.kept.size());
        for (Size row = rows.first; row < rows.last; ++row) {
            const auto& down = rows_.from[static_cast<std::size_t>(row % g_.high)];
            for (Size x = 0; x < g_.wide; ++x) {
                const auto& along = columns_.from[static_cast<std::size_t>(x)];
                const float* from[2];
                for (std::size_t i = 0; i < 2; ++i)
                    from[i] = sums + ((row / g_.high * high + down[i]) * across_ + along[i]) *
                                         blocks_ * block_;
                const Size at = ((image * g_.high + row) * g_.wide + x) * g_.filters;
                const Size end = std::min(g_.filters, blocks.last * block_);
                for (Size k = blocks.first * block_; k < end; k += lanes) {
                    Vector value = load(from[0] + k);
                    if (from[0] != from[1]) value = (value + load(from[1] + k)) * 0.5f;
                    keeping_.finish(value, output_, at + k, g_.filters - k);
                }
            }
        }
    }

    Geometry g_;
    std::shared_ptr<const Terms<Weight>> terms_;
    Keeping keeping_;
    bool pooled_, perforated_, copied_;
    In zero_;
    const In* input_;
    float* output_;
    Axis rows_, columns_;
    int wide_;
    Size block_, blocks_, channels_, line_, slot_, slots_, each_, across_, out_high_, out_wide_;
    std::vector<Size> places_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
