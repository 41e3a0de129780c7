// Weights in the layouts that kernels read: packed on first use and shared by all kernels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "depthwise.hpp"
#include "direct.hpp"
#include "strassen.hpp"
#include "weights.hpp"
#include "winograd.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

class Constants {
  public:
    explicit Constants(const Weights& weights) : weights_(weights) {}

    const Weights& weights() const { return weights_; }

    // Freed when the last kernel that uses it is.
    template <typename Constant>
    std::shared_ptr<const Constant> get(const std::string& key,
                                        const std::function<Constant()>& make) {
        auto& entry = constants_[key];
        auto constant = std::static_pointer_cast<const Constant>(entry.lock());
        if (!constant) {
            constant = std::make_shared<const Constant>(make());
            entry = constant;
        }
        return constant;
    }

  private:
    const Weights& weights_;
    std::map<std::string, std::weak_ptr<const void>> constants_;
};

// Dense weights after an image that was flattened: from (channel, row, column) order of their
// inputs to the order in which the image lies in memory.
inline Buffer<float> reorder_dense_weights(const float* weight, Size units, const Shape& image) {
    const Size channels = image[0], pixels = image[1] * image[2], inputs = channels * pixels;
    Buffer<float> result(units * inputs);
    for (Size unit = 0; unit < units; ++unit)
        for (Size c = 0; c < channels; ++c)
            for (Size pixel = 0; pixel < pixels; ++pixel)
                result.data()[unit * inputs + pixel * channels + c] =
                    weight[unit * inputs + c * pixels + pixel];
    return result;
}

// The float16 of the same value, where there is one.
inline bool to_float16(float value, Half& half) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const auto exponent = static_cast<int>(bits >> 23 & 0xFFu) - 127;
    const std::uint32_t fraction = bits & 0x7FFFFFu;
    if ((bits & 0x7FFFFFFFu) == 0) return half.bits = sign, true;
    if (exponent > 15 || exponent < -24) return false;
    const int shift = exponent >= -14 ? 13 : -1 - exponent;  // bits that a float16 has not
    const std::uint32_t mantissa = fraction | 0x800000u;
    if (mantissa & ((1u << shift) - 1)) return false;
    const std::uint32_t shifted = mantissa >> shift;  // with its leading one, where normal
    const std::uint32_t biased = exponent >= -14 ? static_cast<std::uint32_t>(exponent + 14) : 0;
    half.bits = static_cast<std::uint16_t>(sign | ((biased << 10) + shifted));
    return true;
}

inline bool all_float16(const float* values, Size count) {
    Half half{};
    for (Size i = 0; i < count; ++i)
        if (!to_float16(values[i], half)) return false;
    return true;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
