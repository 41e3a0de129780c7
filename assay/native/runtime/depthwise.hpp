// Depthwise convolutions: each channel has a filter of its own; a vector is a row of channels.
#pragma once

#include "step.hpp"

namespace assay {

// Weights (channels, 1, high, wide) → tap, channel; a little longer than needed, for whole vectors.
inline Buffer<float> by_tap(const Geometry& g, const float* weight) {
    const Size taps = g.window[0] * g.window[1];
    Buffer<float> made(taps * g.channels + lanes);
    for (Size c = 0; c < g.channels; ++c)
        for (Size tap = 0; tap < taps; ++tap)
            made.data()[tap * g.channels + c] = weight[c * taps + tap];
    return made;
}

class Depthwise : public Step {
  public:
    Depthwise(const Geometry& g, const float* weight, Epilogue after, const float* input,
              float* output)
        : g_(g), weight_(weight), after_(std::move(after)), input_(input), output_(output) {}

    static bool fits(const Geometry& g) { return g.groups == g.channels && g.groups == g.filters; }

    const char* name() const override { return "depthwise"; }
    Size most_parts() const override { return g_.images * g_.high; }

    void run(const Part& part) override {
        const Range rows = share(g_.images * g_.high, part);
        for (Size row = rows.first; row < rows.last; ++row)
            for (Size x = 0; x < g_.wide; ++x) pixel(row / g_.high, row % g_.high, x);
    }

  private:
    // The taps from `first` to `last` whose inputs lie in an image of this size.
    static Range taps_inside(Size at, Size window, Size dilation, Size size) {
        const Size first = at < 0 ? (-at + dilation - 1) / dilation : 0;
        const Size last = at >= size ? 0 : (size - 1 - at) / dilation + 1;
        return {first, std::max(first, std::min(window, last))};
    }

    // What one output pixel is made of.
    struct Window {
        Size from;  // in the input: its top left tap, which may lie outside
        Size at;    // in the output
        Range down, across;
    };

    void pixel(Size image, Size y, Size x) {
        const Size top = y * g_.strides[0] - g_.pads[0], left = x * g_.strides[1] - g_.pads[1];
        const Window here{
            ((image * g_.height + top) * g_.width + left) * g_.channels,
            ((image * g_.high + y) * g_.wide + x) * g_.channels,
            taps_inside(top, g_.window[0], g_.dilations[0], g_.height),
            taps_inside(left, g_.window[1], g_.dilations[1], g_.width)};
        Size c = 0;
        for (; c + 4 * lanes <= g_.channels; c += 4 * lanes) channels<4>(here, c);
        for (; c + lanes <= g_.channels; c += lanes) channels<1>(here, c);
        if (c < g_.channels) channels<0>(here, c);
    }

    // So many whole vectors of channels, whose sums stay in registers; 0: the rest of one.
    template <int vectors>
    ASSAY_INLINE void channels(const Window& here, Size c) {
        constexpr int most = vectors ? vectors : 1;
        const Size rest = vectors ? lanes : g_.channels - c;
        Vector sum[most];
        for (int v = 0; v < most; ++v)
            sum[v] = after_.bias ? load(after_.bias + c + v * lanes) : Vector{};
        const Size row = g_.dilations[0] * g_.width * g_.channels;
        const Size step = g_.dilations[1] * g_.channels;
        for (Size ky = here.down.first; ky < here.down.last; ++ky) {
            const float* value = input_ + (here.from + ky * row + here.across.first * step + c);
            const float* factor =
                weight_ + (ky * g_.window[1] + here.across.first) * g_.channels + c;
            for (Size kx = here.across.first; kx < here.across.last; ++kx) {
                for (int v = 0; v < most; ++v)
                    sum[v] += (vectors ? load(value + v * lanes) : load(value, rest)) *
                              load(factor + v * lanes);
                value += step;
                factor += g_.channels;
            }
        }
        for (int v = 0; v < most; ++v) {
            const Size place = here.at + c + v * lanes;
            store(output_ + place, finished(after_, sum[v], place, rest), rest);
        }
    }

    Geometry g_;
    const float* weight_;
    Epilogue after_;
    const float* input_;
    float* output_;
};

}  // namespace assay
