// Output stage of indirect convolutions: scales, bias and post-ops, then float32 or requantized
// int8 outputs. The term is from gemmlowp.
#pragma once

#include "quantize.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct OutputStage {
    const float *scales, *bias;  // of the filters, padded to whole columns
    Epilogue epilogue;
    QuantParams residual, output;
    const float *byte_scales, *byte_bias;  // from sums to int8 directly, see requantizes()

    bool requantizes() const {
        return output.quantized && epilogue.post_ops.empty() &&
               (!epilogue.adds_residual || residual.quantized);
    }

    // Sums of filters from `filter` on, of `count` pixels, which are `apart` from each other: from
    // a place of the output on, where it is bytes at once.
    template <typename Sums>
    ASSAY_INLINE void requantize_rows(Size filter, float* to, Size at, Size row_step, Size count,
                                      Sums sums) const {
        if (epilogue.adds_residual) requantize_rows_as<true>(filter, to, at, row_step, count, sums);
        else requantize_rows_as<false>(filter, to, at, row_step, count, sums);
    }

    // Sums of filters from `filter` on, finished and written.
    ASSAY_INLINE void write(Vector sums, Size filter, float* to, Size at, Size left) const {
        if (!requantizes() || epilogue.adds_residual)
            return finish(dequantize(sums, filter), to, at, left);
        Vector value = sums * load(byte_scales + filter) + load(byte_bias + filter);
        if (epilogue.relu) value = at_least(value, fill(output.zero_point));
        store_bytes(reinterpret_cast<Byte*>(to) + at, to_bytes(value), left);
    }

    // The same as floats.
    ASSAY_INLINE Vector dequantize(Vector sums, Size filter) const {
        return sums * load(scales + filter) + load(bias + filter);
    }

    // Finished and written to a place of the output; `left` of its numbers are there. Not inline:
    // all the functions there are would take the registers of the loop around it.
    __attribute__((noinline)) void finish(Vector value, float* to, Size at, Size left) const {
        if (epilogue.adds_residual) value += load_residual(at, left);
        if (epilogue.relu) value = at_least(value, Vector{});
        if (!epilogue.post_ops.empty()) value = apply_post_ops(value, at, left);
        if (output.quantized)
            store_quantized(reinterpret_cast<Byte*>(to) + at, value, left, output);
        else store(to + at, value, left);
    }

  private:
    // All that is the same for every pixel is held here: a byte that is written may be anyone's
    // memory, after which the compiler would read it all again.
    template <bool adds_residual, typename Sums>
    ASSAY_INLINE void requantize_rows_as(Size filter, float* to, Size at, Size row_step, Size count,
                                         Sums sums) const {
        const Vector scale = load(byte_scales + filter);
        const Vector residual_scale = fill(residual.scale * output.inverse);
        const Vector bias = load(byte_bias + filter) -
                            (adds_residual ? residual.zero_point * residual_scale : Vector{});
        const Vector minimum = fill(epilogue.relu ? output.zero_point : 0.0f);
        const Size left = row_step - at % row_step;
        const Byte* residual_row =
            reinterpret_cast<const Byte*>(epilogue.residual) + (adds_residual ? at : 0);
        Byte* out = reinterpret_cast<Byte*>(to) + at;
        for (Size i = 0; i < count; ++i, out += row_step) {
            Vector value = sums(i) * scale + bias;
            if (adds_residual)
                value += to_floats(load_bytes(residual_row + i * row_step, left)) * residual_scale;
            store_bytes(out, to_bytes(at_least(value, minimum)), left);
        }
    }

    ASSAY_INLINE Vector load_residual(Size at, Size left) const {
        if (!residual.quantized) return load(epilogue.residual + at, left);
        return to_floats(reinterpret_cast<const Byte*>(epilogue.residual) + at, left, residual);
    }

    ASSAY_INLINE Vector apply_post_ops(Vector value, Size at, Size left) const {
        for (const PostOp& post : epilogue.post_ops)
            value = post.function == Function::residual ? value + load_residual(at, left)
                                                        : apply(post, value);
        return value;
    }
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
