// What is done with the sums of a layer over bytes before they are written, and how they are.
#pragma once

#include "bytes.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Keeping {
    const float *scales, *bias;  // of the filters, padded to whole columns
    Epilogue after;
    Kept residual, output;
    const float *byte_scales, *byte_bias;  // from sums to bytes at once, where no more is done

    bool at_once() const {
        return output.bytes && after.rest.empty() && (!after.adds || residual.bytes);
    }

    // Sums of filters from `filter` on, of `count` pixels, which are `apart` from each other: from
    // a place of the output on, where it is bytes at once.
    template <typename Sums>
    ASSAY_INLINE void write_bytes(Size filter, float* to, Size at, Size apart, Size count,
                                  Sums sums) const {
        if (after.adds) write_rows<true>(filter, to, at, apart, count, sums);
        else write_rows<false>(filter, to, at, apart, count, sums);
    }

    // Sums of filters from `filter` on, finished and written.
    ASSAY_INLINE void write(Vector sums, Size filter, float* to, Size at, Size left) const {
        if (!at_once() || after.adds) return finish(scaled(sums, filter), to, at, left);
        Vector value = sums * load(byte_scales + filter) + load(byte_bias + filter);
        if (after.relu) value = at_least(value, fill(output.zero));
        store_row(reinterpret_cast<Byte*>(to) + at, bytes_of(value), left);
    }

    // The same as floats.
    ASSAY_INLINE Vector scaled(Vector sums, Size filter) const {
        return sums * load(scales + filter) + load(bias + filter);
    }

    // Finished and written to a place of the output; `left` of its numbers are there. Not inline:
    // all the functions there are would take the registers of the loop around it.
    __attribute__((noinline)) void finish(Vector value, float* to, Size at, Size left) const {
        if (after.adds) value += added_to(at, left);
        if (after.relu) value = at_least(value, Vector{});
        if (!after.rest.empty()) value = passed(value, at, left);
        if (output.bytes) store_bytes(reinterpret_cast<Byte*>(to) + at, value, left, output);
        else store(to + at, value, left);
    }

  private:
    // All that is the same for every pixel is held here: a byte that is written may be anyone's
    // memory, after which the compiler would read it all again.
    template <bool adds, typename Sums>
    ASSAY_INLINE void write_rows(Size filter, float* to, Size at, Size apart, Size count,
                                 Sums sums) const {
        const Vector scale = load(byte_scales + filter);
        const Vector share = fill(residual.scale * output.inverse);
        const Vector bias = load(byte_bias + filter) - (adds ? residual.zero * share : Vector{});
        const Vector least = fill(after.relu ? output.zero : 0.0f);
        const Size left = apart - at % apart;
        const Byte* other = reinterpret_cast<const Byte*>(after.residual) + (adds ? at : 0);
        Byte* out = reinterpret_cast<Byte*>(to) + at;
        for (Size i = 0; i < count; ++i, out += apart) {
            Vector value = sums(i) * scale + bias;
            if (adds) value += floats_of(row_of(other + i * apart, left)) * share;
            store_row(out, bytes_of(at_least(value, least)), left);
        }
    }

    ASSAY_INLINE Vector added_to(Size at, Size left) const {
        if (!residual.bytes) return load(after.residual + at, left);
        return floats_of(reinterpret_cast<const Byte*>(after.residual) + at, left, residual);
    }

    ASSAY_INLINE Vector passed(Vector value, Size at, Size left) const {
        for (const Post& post : after.rest)
            value = post.function == Function::residual ? value + added_to(at, left)
                                                        : apply(post, value);
        return value;
    }
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
