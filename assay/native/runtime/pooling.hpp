// The largest or the mean of a window. Padding is never counted, as in Keras.
#pragma once

#include <limits>

#include "step.hpp"

namespace assay {

class Pooling : public Step {
  public:
    Pooling(const Geometry& g, bool largest, Posts posts, const float* input, float* output)
        : g_(g), largest_(largest), posts_(std::move(posts)), input_(input), output_(output) {}

    const char* name() const override { return largest_ ? "max-pool" : "average-pool"; }
    Size most_parts() const override { return g_.images * g_.high; }

    void run(const Part& part) override {
        const Range rows = share(g_.images * g_.high, part);
        for (Size row = rows.first; row < rows.last; ++row)
            for (Size x = 0; x < g_.wide; ++x) pixel(row / g_.high, row % g_.high, x);
    }

  private:
    void pixel(Size image, Size y, Size x) {
        const Size top = y * g_.strides[0] - g_.pads[0], left = x * g_.strides[1] - g_.pads[1];
        const Range down{std::max<Size>(0, top), std::min(g_.height, top + g_.window[0])};
        const Range across{std::max<Size>(0, left), std::min(g_.width, left + g_.window[1])};
        const float* from = input_ + image * g_.height * g_.width * g_.channels;
        float* to = output_ + ((image * g_.high + y) * g_.wide + x) * g_.channels;
        const Size inside = (down.last - down.first) * (across.last - across.first);
        const float share = 1.0f / static_cast<float>(inside);
        for (Size c = 0; c < g_.channels; c += lanes) {
            const Size left_over = g_.channels - c;
            Vector found = fill(largest_ ? -std::numeric_limits<float>::infinity() : 0.0f);
            for (Size iy = down.first; iy < down.last; ++iy)
                for (Size ix = across.first; ix < across.last; ++ix) {
                    const Vector value =
                        load(from + (iy * g_.width + ix) * g_.channels + c, left_over);
                    found = largest_ ? larger(found, value) : found + value;
                }
            if (!largest_) found = found * share;
            for (const Post& post : posts_) found = apply(post, found);
            store(to + c, found, left_over);
        }
    }

    Geometry g_;
    bool largest_;
    Posts posts_;
    const float* input_;
    float* output_;
};

}  // namespace assay
