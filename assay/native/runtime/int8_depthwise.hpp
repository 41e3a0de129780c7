// Depthwise convolutions over bytes: the taps of a row of the window lie side by side, channel
// after channel, so that one instruction multiplies them all for a vector of channels.
#pragma once

#include "indirect_tile.hpp"
#include "output_stage.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct DepthwiseWeights {
    Buffer<Signed> weights;     // row of the window, channel, tap of the row
    std::vector<float> totals;  // of each filter's weights
};

class Int8Depthwise : public Step {
  public:
    static constexpr Size taps = 4;  // of a row of the window, at most

    Int8Depthwise(const Geometry& g, std::shared_ptr<const DepthwiseWeights> rows,
                  OutputStage output_stage, Byte zero, const float* input, float* output)
        : g_(g), rows_(std::move(rows)), output_stage_(std::move(output_stage)), zero_point_(zero),
          input_(reinterpret_cast<const Byte*>(input)), output_(output),
          channels_(padded_channels(g.channels)), row_size_(g.wide * channels_ * taps),
          ring_((g.window[0] - 1) * g.dilations[0] + 1) {}

    static bool fits(const Geometry& g) {
        return g.groups == g.channels && g.groups == g.filters && g.window[1] <= taps &&
               g.dilations[1] == 1;
    }

    // Channels of a row of taps, padded to the widest vector.
    static Size padded_channels(Size channels) { return (channels + 15) / 16 * 16; }

    static DepthwiseWeights pack_weights(const Geometry& g, const float* weight) {
        const Size all = padded_channels(g.channels), high = g.window[0], wide = g.window[1];
        DepthwiseWeights result{Buffer<Signed>(high * all * taps), {}};
        for (Size c = 0; c < g.channels; ++c) {
            double total = 0;
            for (Size y = 0; y < high; ++y)
                for (Size x = 0; x < wide; ++x) {
                    const float each = weight[(c * high + y) * wide + x];
                    result.weights.data()[(y * all + c) * taps + x] = static_cast<Signed>(each);
                    total += each;
                }
            result.totals.push_back(static_cast<float>(total));
        }
        return result;
    }

    const char* name() const override { return "int8-depthwise"; }
    Size max_parts() const override { return std::max<Size>(1, g_.images * g_.high / 4); }
    Size scratch() const override { return (ring_ * row_size_ + border_size() + 3) / 4 + 16; }

    void run(const Part& part) override {
        const Range rows = partition(g_.images * g_.high, part);
        auto* ring = reinterpret_cast<Byte*>(part.scratch);
        Size next_row = 0;  // row of taps of this image, counted from its top border
        for (Size row = rows.first; row < rows.last; ++row) {
            const Size image = row / g_.high, y = row % g_.high, top = y * g_.strides[0];
            if (row == rows.first || y == 0) next_row = top;
            for (next_row = std::max(next_row, top); next_row < top + ring_; ++next_row)
                expand_row(image, next_row - g_.pads[0], ring + next_row % ring_ * row_size_,
                           ring + ring_ * row_size_);
            compute(row, top, ring);
        }
    }

  private:
    Size border_size() const {
        return (g_.width + g_.pads[1] + g_.pads[3] + taps) * g_.channels + 64;
    }

    // im2row of one input row: the taps of each output pixel are neighbours.
    void expand_row(Size image, Size y, Byte* to, Byte* border) const {
        if (y < 0 || y >= g_.height) return std::memset(to, zero_point_, bytes(row_size_)), void();
        const Size before = g_.pads[1] * g_.channels, row = g_.width * g_.channels;
        std::memset(border, zero_point_, bytes(before));
        std::memcpy(border + before, input_ + (image * g_.height + y) * row, bytes(row));
        std::memset(border + before + row, zero_point_, bytes((g_.pads[3] + taps) * g_.channels));
        for (Size x = 0; x < g_.wide; ++x, to += channels_ * taps)
            for (Size c = 0; c < channels_; c += 16)
                interleave(border + x * g_.strides[1] * g_.channels + c, to + c * taps);
    }

    // Of sixteen channels, four pixels: a channel's four numbers one after the other.
    ASSAY_INLINE void interleave(const Byte* from, Byte* to) const {
#if defined(__AVX512BW__)
        const auto pixel = [&](Size x) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + x * g_.channels));
        };
        const __m512i by_four =
            _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        const __m512i by_one = _mm512_set4_epi32(0x0F0B0703, 0x0E0A0602, 0x0D090501, 0x0C080400);
        __m512i all = _mm512_zextsi128_si512(pixel(0));
        all = _mm512_maskz_inserti32x4(0xFFFF, all, pixel(1), 1);
        all = _mm512_maskz_inserti32x4(0xFFFF, all, pixel(2), 2);
        all = _mm512_maskz_inserti32x4(0xFFFF, all, pixel(3), 3);
        all = _mm512_maskz_permutexvar_epi32(0xFFFF, by_four, all);
        _mm512_storeu_si512(to, _mm512_shuffle_epi8(all, by_one));
#else
        for (Size c = 0; c < 16; ++c)
            for (Size x = 0; x < taps; ++x) to[c * taps + x] = from[x * g_.channels + c];
#endif
    }

    void compute(Size row, Size top, const Byte* ring) const {
        std::vector<const Byte*> from;  // a row of taps for each row of the window
        for (Size y = 0; y < g_.window[0]; ++y)
            from.push_back(ring + (top + y * g_.dilations[0]) % ring_ * row_size_);
        for (Size c = 0; c < g_.channels; c += lanes) {
            if (g_.window[0] == 3) pixels<3>(row, c, from.data());
            else pixels<0>(row, c, from.data());
        }
    }

    // All pixels of an output row, of a vector of channels; 0: a window of any height.
    template <int high>
    ASSAY_INLINE void pixels(Size row, Size c, const Byte* const* from) const {
        const Size count = high ? high : g_.window[0], left = g_.channels - c;
        const Signed* weight = rows_->weights.data() + c * taps;
        Size at = row * g_.wide * g_.channels + c;
        for (Size tap = c * taps; tap < row_size_; tap += channels_ * taps, at += g_.channels) {
            IntVector sum{};
            for (Size y = 0; y < count; ++y) {
                IntVector value;
                std::memcpy(&value, from[y] + tap, sizeof value);
                sum = multiply_add(sum, value,
                                   load_weights(weight + y * channels_ * taps, std::int32_t{}));
            }
            output_stage_.write(__builtin_convertvector(sum, Vector), c, output_, at, left);
        }
    }

    static std::size_t bytes(Size count) { return static_cast<std::size_t>(count); }

    Geometry g_;
    std::shared_ptr<const DepthwiseWeights> rows_;
    OutputStage output_stage_;
    Byte zero_point_;
    const Byte* input_;
    float* output_;
    Size channels_, row_size_, ring_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
