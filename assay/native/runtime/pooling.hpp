// The largest or the mean of a window. Padding is never counted, as in Keras.
#pragma once

#include <limits>

#include "quantize.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// A step that makes each pixel of an image from a window of another.
class WindowStep : public Step {
  public:
    explicit WindowStep(const Geometry& g) : g_(g) {}
    Size max_parts() const override { return g_.images * g_.high; }

    void run(const Part& part) override {
        const Range rows = partition(g_.images * g_.high, part);
        for (Size row = rows.first; row < rows.last; ++row) {
            const Size image = row / g_.high, top = row % g_.high * g_.strides[0] - g_.pads[0];
            const Range down = inside(top, g_.window[0], g_.height);
            for (Size x = 0; x < g_.wide; ++x) {
                const Size left = x * g_.strides[1] - g_.pads[1];
                const Range across = inside(left, g_.window[1], g_.width);
                const Size first = (image * g_.height + down.first) * g_.width + across.first;
                window({first * g_.channels, (row * g_.wide + x) * g_.channels,
                        down.last - down.first, across.last - across.first});
            }
        }
    }

  protected:
    struct Window {
        Size from, to;    // of the first number in the input, and in the output
        Size high, wide;  // of what lies inside the image
    };
    virtual void window(const Window& here) = 0;
    Size row() const { return g_.width * g_.channels; }

    Geometry g_;

  private:
    static Range inside(Size first, Size window, Size size) {
        return {std::max<Size>(0, first), std::min(size, first + window)};
    }
};

class Pooling : public WindowStep {
  public:
    Pooling(const Geometry& g, bool largest, PostOps posts, const float* input, float* output)
        : WindowStep(g), largest_(largest), posts_(std::move(posts)), input_(input),
          output_(output) {}

    const char* name() const override { return largest_ ? "max-pool" : "average-pool"; }

  protected:
    void window(const Window& here) override {
        largest_ ? pool_window<true>(here) : pool_window<false>(here);
    }

  private:
    // Several vectors of channels at once, none of which waits for another.
    template <bool largest>
    void pool_window(const Window& here) const {
        constexpr Size unrolled = 4;
        Size c = 0;
        for (; c + unrolled * lanes <= g_.channels; c += unrolled * lanes)
            channels<largest, unrolled>(here, c);
        for (; c + lanes <= g_.channels; c += lanes) channels<largest, 1>(here, c);
        if (c < g_.channels) channels<largest, 0>(here, c);
    }

    // So many whole vectors; 0: the rest of one. A window of which nothing lies inside is empty.
    template <bool largest, Size vectors>
    ASSAY_INLINE void channels(const Window& here, Size c) const {
        constexpr Size vector_count = vectors ? vectors : 1;
        const Size left = vectors ? lanes : g_.channels - c;
        Vector values[vector_count];
        IntVector has_nan[vector_count] =
            {};  // where one was no number: a comparison would pass over it
        for (Vector& each : values)
            each = fill(largest ? -std::numeric_limits<float>::infinity() : 0.0f);
        for (Size y = 0; y < here.high; ++y)
            for (Size x = 0; x < here.wide; ++x) {
                const float* from = input_ + here.from + y * row() + x * g_.channels + c;
                for (Size v = 0; v < vector_count; ++v) {
                    const Vector value = vectors ? load(from + v * lanes) : load(from, left);
                    if (!largest) values[v] += value;
                    else values[v] = value > values[v] ? value : values[v];
                    if (largest) has_nan[v] |= value != value;
                }
            }
        const float inverse_count = 1.0f / static_cast<float>(here.high * here.wide);
        for (Size v = 0; v < vector_count; ++v) {
            Vector result = largest ? values[v] : values[v] * inverse_count;
            if (largest)
                result = has_nan[v] ? fill(std::numeric_limits<float>::quiet_NaN()) : result;
            if (!posts_.empty()) result = apply_post_ops(result);
            store(output_ + here.to + c + v * lanes, result, left);
        }
    }

    __attribute__((noinline)) Vector apply_post_ops(Vector value) const {
        for (const PostOp& post : posts_) value = apply(post, value);
        return value;
    }

    bool largest_;
    PostOps posts_;
    const float* input_;
    float* output_;
};

// The largest byte of each window: that of the largest number, as scales are above 0.
class ByteMaxPool : public WindowStep {
  public:
    ByteMaxPool(const Geometry& g, const float* input, float* output)
        : WindowStep(g), input_(reinterpret_cast<const Byte*>(input)),
          output_(reinterpret_cast<Byte*>(output)) {}

    const char* name() const override { return "max-pool-int8"; }

  protected:
    void window(const Window& here) override {
        Byte* to = output_ + here.to;
        std::fill_n(to, g_.channels, Byte{0});
        for (Size y = 0; y < here.high; ++y)
            for (Size x = 0; x < here.wide; ++x)
                take_maximum(input_ + here.from + y * row() + x * g_.channels, to);
    }

  private:
    void take_maximum(const Byte* __restrict from, Byte* __restrict to) const {
        for (Size c = 0; c < g_.channels; ++c) to[c] = to[c] < from[c] ? from[c] : to[c];
    }

    const Byte* input_;
    Byte* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
