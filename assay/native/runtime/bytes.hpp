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

}  // namespace assay
