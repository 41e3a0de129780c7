// Numbers kept as bytes: a byte b is (b - zero) * scale, so that a chain of layers moves a quarter of
// the memory and multiplies four numbers at a time. What is no number becomes 0 in a byte.
#pragma once

#include "step.hpp"

namespace assay {

using Byte = std::uint8_t;
using Signed = std::int8_t;
typedef Byte ByteRow __attribute__((vector_size(lanes)));
typedef Signed SignedRow __attribute__((vector_size(lanes)));

// How a value lies in memory: as floats, or as bytes of this scale.
struct Kept {
    bool bytes = false;
    float scale = 1, zero = 0, inverse = 1;
};

inline Kept kept(const Layer& layer) {
    return {layer.bytes, layer.scale, layer.zero, 1 / layer.scale};
}

ASSAY_INLINE Vector floats_of(const Byte* from, Size count, const Kept& as) {
    ByteRow row{};
    if (count >= lanes) std::memcpy(&row, from, sizeof row);
    else std::memcpy(&row, from, static_cast<std::size_t>(count));
    return (__builtin_convertvector(row, Vector) - as.zero) * as.scale;
}

ASSAY_INLINE void store_bytes(Byte* to, Vector value, Size count, const Kept& as) {
    const Vector near = at_most(at_least(value * as.inverse + as.zero, Vector{}), fill(255.0f));
    // The last bits of a float of this size are whole numbers: it rounds as it is added.
    const Vector rounded = near + 8388608.0f;
    const ByteRow row = __builtin_convertvector(reinterpret_cast<const Whole&>(rounded), ByteRow);
    if (count >= lanes) std::memcpy(to, &row, sizeof row);
    else std::memcpy(to, &row, static_cast<std::size_t>(count));
}

// Floats as bytes, or bytes as floats.
class Cast : public Step {
  public:
    Cast(Size count, Kept from, Kept to, const float* input, float* output)
        : count_(count), from_(from), to_(to), input_(input), output_(output) {}

    const char* name() const override { return "cast"; }
    Size most_parts() const override { return std::max<Size>(1, count_ / 4096); }

    void run(const Part& part) override {
        const Range mine = share(count_, part);
        const auto* bytes = reinterpret_cast<const Byte*>(input_);
        for (Size i = mine.first; i < mine.last; i += lanes) {
            const Size left = mine.last - i;
            const Vector value =
                from_.bytes ? floats_of(bytes + i, left, from_) : load(input_ + i, left);
            if (to_.bytes)
                store_bytes(reinterpret_cast<Byte*>(output_) + i, value, left, to_);
            else
                store(output_ + i, value, left);
        }
    }

  private:
    Size count_;
    Kept from_, to_;
    const float* input_;
    float* output_;
};

// The largest byte of each window: that of the largest number, as scales are above 0.
class ByteMaxPool : public Step {
  public:
    ByteMaxPool(const Geometry& g, const float* input, float* output)
        : g_(g), input_(reinterpret_cast<const Byte*>(input)),
          output_(reinterpret_cast<Byte*>(output)) {}

    const char* name() const override { return "max-pool-int8"; }
    Size most_parts() const override { return g_.images * g_.high; }

    void run(const Part& part) override {
        const Range rows = share(g_.images * g_.high, part);
        for (Size row = rows.first; row < rows.last; ++row)
            for (Size x = 0; x < g_.wide; ++x) pixel(row / g_.high, row % g_.high, x);
    }

  private:
    void pixel(Size image, Size y, Size x) {
        const Size top = y * g_.strides[0] - g_.pads[0], left = x * g_.strides[1] - g_.pads[1];
        Byte* to = output_ + ((image * g_.high + y) * g_.wide + x) * g_.channels;
        bool first = true;
        for (Size v = std::max<Size>(0, top); v < std::min(g_.height, top + g_.window[0]); ++v)
            for (Size h = std::max<Size>(0, left); h < std::min(g_.width, left + g_.window[1]); ++h) {
                const Byte* from = input_ + ((image * g_.height + v) * g_.width + h) * g_.channels;
                if (first) std::copy_n(from, g_.channels, to);
                else raise(from, to);
                first = false;
            }
    }

    void raise(const Byte* __restrict from, Byte* __restrict to) const {
        for (Size c = 0; c < g_.channels; ++c) to[c] = to[c] < from[c] ? from[c] : to[c];
    }

    Geometry g_;
    const Byte* input_;
    Byte* output_;
};

}  // namespace assay
