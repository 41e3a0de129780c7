// Depthwise convolutions: each channel has a filter of its own; a vector is a row of channels.
#pragma once

#include "step.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Weights (channels, 1, high, wide) → tap, channel; a little longer than needed, for whole vectors.
inline Buffer<float> pack_depthwise_weights(const Geometry& g, const float* weight) {
    const Size taps = g.window[0] * g.window[1];
    Buffer<float> result(taps * g.channels + lanes);
    for (Size c = 0; c < g.channels; ++c)
        for (Size tap = 0; tap < taps; ++tap)
            result.data()[tap * g.channels + c] = weight[c * taps + tap];
    return result;
}

class Depthwise : public Step {
  public:
    Depthwise(const Geometry& g, const float* weight, Epilogue after, const float* input,
              float* output)
        : g_(g), weight_(weight), after_(std::move(after)), input_(input), output_(output) {
        limit_ = take_relu_limit(after_);
        after_.relu |= limit_ > 0;
        // Pixels whose windows reach beyond neither side of the image.
        const Size reach = (g_.window[1] - 1) * g_.dilations[1], stride = g_.strides[1];
        inner_.first = std::min(g_.wide, (g_.pads[1] + stride - 1) / stride);
        const Size last = g_.width - 1 - reach + g_.pads[1];
        inner_.last =
            last < 0 ? inner_.first : std::max(inner_.first, std::min(g_.wide, last / stride + 1));
    }

    static bool fits(const Geometry& g) { return g.groups == g.channels && g.groups == g.filters; }

    const char* name() const override { return "depthwise"; }
    Size max_parts() const override { return g_.images * g_.high; }

    void run(const Part& part) override {
        const Range rows = partition(g_.images * g_.high, part);
        for (Size row = rows.first; row < rows.last; ++row) line(row / g_.high, row % g_.high);
    }

  private:
    // Several pixels at once where all their taps count: a weight is loaded once for all of them.
    void line(Size image, Size y) {
        Size x = 0;
        for (; x < inner_.first; ++x) pixels<1>(image, y, x);
        for (; x + 8 <= inner_.last; x += 8) pixels<8>(image, y, x);
        for (; x + 4 <= inner_.last; x += 4) pixels<4>(image, y, x);
        for (; x < g_.wide; ++x) pixels<1>(image, y, x);
    }

    // The taps from `first` to `last` whose inputs lie in an image of this size.
    static Range taps_inside(Size start, Size window, Size dilation, Size size) {
        const Size first = start < 0 ? (-start + dilation - 1) / dilation : 0;
        const Size last = start >= size ? 0 : (size - 1 - start) / dilation + 1;
        return {first, std::max(first, std::min(window, last))};
    }

    // What an output pixel is made of.
    struct Window {
        Size from;  // in the input: its top left tap, which may lie outside
        Size at;    // in the output
        Range down, across;
    };

    template <int count>
    void pixels(Size image, Size y, Size x) {
        const Size top = y * g_.strides[0] - g_.pads[0], left = x * g_.strides[1] - g_.pads[1];
        const Window here{((image * g_.height + top) * g_.width + left) * g_.channels,
                          ((image * g_.high + y) * g_.wide + x) * g_.channels,
                          taps_inside(top, g_.window[0], g_.dilations[0], g_.height),
                          taps_inside(left, g_.window[1], g_.dilations[1], g_.width)};
        Size c = 0;
        constexpr int many = std::min(4, registers / 2 / count);
        if constexpr (many > 1)
            for (; c + many * lanes <= g_.channels; c += many * lanes)
                channels<count, many>(here, c);
        for (; c + lanes <= g_.channels; c += lanes) channels<count, 1>(here, c);
        if (c < g_.channels) channels<count, 0>(here, c);
    }

    // So many pixels and whole vectors of channels, whose sums stay in registers; 0: the rest of
    // one.
    template <int count, int vectors>
    ASSAY_INLINE void channels(const Window& here, Size c) {
        constexpr int vector_count = vectors ? vectors : 1;
        const Size left = vectors ? lanes : g_.channels - c;
        Vector sum[count][vector_count];
        for (int v = 0; v < vector_count; ++v) {
            const Vector start = after_.bias ? load(after_.bias + c + v * lanes) : Vector{};
            for (int p = 0; p < count; ++p) sum[p][v] = start;
        }
        const Size row = g_.dilations[0] * g_.width * g_.channels;
        const Size step = g_.dilations[1] * g_.channels, next = g_.strides[1] * g_.channels;
        for (Size ky = here.down.first; ky < here.down.last; ++ky) {
            const float* value = input_ + (here.from + ky * row + here.across.first * step + c);
            const float* factor =
                weight_ + (ky * g_.window[1] + here.across.first) * g_.channels + c;
            for (Size kx = here.across.first; kx < here.across.last; ++kx) {
                for (int v = 0; v < vector_count; ++v) {
                    const Vector weight = load(factor + v * lanes);
                    for (int p = 0; p < count; ++p) {
                        const float* from = value + p * next + v * lanes;
                        sum[p][v] += (vectors ? load(from) : load(from, left)) * weight;
                    }
                }
                value += step;
                factor += g_.channels;
            }
        }
        for (int p = 0; p < count; ++p)
            for (int v = 0; v < vector_count; ++v) {
                const Size at = here.at + p * g_.channels + c + v * lanes;
                Vector result = sum[p][v];
                if (after_.adds_residual) result += load(after_.residual + at, left);
                if (after_.relu) result = at_least(result, Vector{});
                if (limit_ > 0) result = at_most(result, fill(limit_));
                store(output_ + at,
                      after_.post_ops.empty() ? result : apply_post_ops(result, at, left), left);
            }
    }

    __attribute__((noinline)) Vector apply_post_ops(Vector value, Size place, Size left) const {
        for (const PostOp& post : after_.post_ops)
            value = post.function == Function::residual
                        ? value + load(after_.residual + place, left)
                        : apply(post, value);
        return value;
    }

    Geometry g_;
    const float* weight_;
    Epilogue after_;
    float limit_ = 0;
    Range inner_{0, 0};
    const float* input_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
