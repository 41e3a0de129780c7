// Depthwise convolutions over bytes: the taps of a row of the window lie side by side, channel
// after channel, so that one instruction multiplies them all for a vector of channels.
#pragma once

#include "gather.hpp"
#include "keeping.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct TapRows {
    Buffer<Signed> weights;     // row of the window, channel, tap of the row
    std::vector<float> totals;  // of each filter's weights
};

class ByteDepthwise : public Step {
  public:
    static constexpr Size taps = 4;  // of a row of the window, at most

    ByteDepthwise(const Geometry& g, std::shared_ptr<const TapRows> rows, Keeping keeping,
                  Byte zero, const float* input, float* output)
        : g_(g), rows_(std::move(rows)), keeping_(std::move(keeping)), zero_(zero),
          input_(reinterpret_cast<const Byte*>(input)), output_(output),
          channels_(whole(g.channels)), line_(g.wide * channels_ * taps),
          ring_((g.window[0] - 1) * g.dilations[0] + 1) {}

    static bool fits(const Geometry& g) {
        return g.groups == g.channels && g.groups == g.filters && g.window[1] <= taps &&
               g.dilations[1] == 1;
    }

    // Channels as they lie in a row of taps: a whole number of the widest vectors.
    static Size whole(Size channels) { return (channels + 15) / 16 * 16; }

    static TapRows weights(const Geometry& g, const float* weight) {
        const Size all = whole(g.channels), high = g.window[0], wide = g.window[1];
        TapRows made{Buffer<Signed>(high * all * taps), {}};
        for (Size c = 0; c < g.channels; ++c) {
            double total = 0;
            for (Size y = 0; y < high; ++y)
                for (Size x = 0; x < wide; ++x) {
                    const float each = weight[(c * high + y) * wide + x];
                    made.weights.data()[(y * all + c) * taps + x] = static_cast<Signed>(each);
                    total += each;
                }
            made.totals.push_back(static_cast<float>(total));
        }
        return made;
    }

    const char* name() const override { return "int8-depthwise"; }
    Size most_parts() const override { return std::max<Size>(1, g_.images * g_.high / 4); }
    Size scratch() const override { return (ring_ * line_ + bordered() + 3) / 4 + 16; }

    void run(const Part& part) override {
        const Range rows = share(g_.images * g_.high, part);
        auto* ring = reinterpret_cast<Byte*>(part.scratch);
        Size made = 0;  // rows of taps of this image, counted from above its border
        for (Size row = rows.first; row < rows.last; ++row) {
            const Size image = row / g_.high, y = row % g_.high, top = y * g_.strides[0];
            if (row == rows.first || y == 0) made = top;
            for (made = std::max(made, top); made < top + ring_; ++made)
                lay_out(image, made - g_.pads[0], ring + made % ring_ * line_,
                        ring + ring_ * line_);
            compute(row, top, ring);
        }
    }

  private:
    Size bordered() const { return (g_.width + g_.pads[1] + g_.pads[3] + taps) * g_.channels + 64; }

    // A row of the input, the taps of every output pixel of it side by side.
    void lay_out(Size image, Size y, Byte* to, Byte* border) const {
        if (y < 0 || y >= g_.height) return std::memset(to, zero_, bytes(line_)), void();
        const Size before = g_.pads[1] * g_.channels, row = g_.width * g_.channels;
        std::memset(border, zero_, bytes(before));
        std::memcpy(border + before, input_ + (image * g_.height + y) * row, bytes(row));
        std::memset(border + before + row, zero_, bytes((g_.pads[3] + taps) * g_.channels));
        for (Size x = 0; x < g_.wide; ++x, to += channels_ * taps)
            for (Size c = 0; c < channels_; c += 16)
                side_by_side(border + x * g_.strides[1] * g_.channels + c, to + c * taps);
    }

    // Of sixteen channels, four pixels: a channel's four numbers one after the other.
    ASSAY_INLINE void side_by_side(const Byte* from, Byte* to) const {
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
            from.push_back(ring + (top + y * g_.dilations[0]) % ring_ * line_);
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
        for (Size place = c * taps; place < line_; place += channels_ * taps, at += g_.channels) {
            Whole sum{};
            for (Size y = 0; y < count; ++y) {
                Whole value;
                std::memcpy(&value, from[y] + place, sizeof value);
                sum = added(sum, value, row_of(weight + y * channels_ * taps, std::int32_t{}));
            }
            keeping_.write(__builtin_convertvector(sum, Vector), c, output_, at, left);
        }
    }

    static std::size_t bytes(Size count) { return static_cast<std::size_t>(count); }

    Geometry g_;
    std::shared_ptr<const TapRows> rows_;
    Keeping keeping_;
    Byte zero_;
    const Byte* input_;
    float* output_;
    Size channels_, line_, ring_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
