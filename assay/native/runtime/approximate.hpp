// Layers that a knob changed: over bytes, perforated, pooled at once, or without some terms.
#pragma once

#include "byte_depthwise.hpp"
#include "constants.hpp"
#include "gathered.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Only a gathering kernel computes these.
inline bool approximated(const Layer& layer) {
    return !layer.scales.empty() || layer.perforation != Layer{}.perforation || layer.pooled;
}

// What approximate() takes beside a kernel's work.
struct Given {
    const Geometry& g;
    const Layer& layer;
    const float* weight;
    std::string key;  // names these weights
    Epilogue after;
    Kept input, residual;
    const float* from;
    float* to;
};

// Factors of the sums and what is added to them; a byte's zero is taken off with the bias.
struct Factors {
    Buffer<float> scales, bias;            // to floats
    Buffer<float> byte_scales, byte_bias;  // to the bytes that are written, if they are
};

inline Factors factors(const Given& given, const std::vector<float>& totals,
                       const Constants& constants) {
    const Size filters = given.g.filters, padded = filters + widest * lanes;
    Factors made{Buffer<float>(padded), Buffer<float>(padded), Buffer<float>(padded),
                 Buffer<float>(padded)};
    const Kept output = kept(given.layer);
    const float* scales =
        given.layer.scales.empty() ? nullptr : constants.weights().get(given.layer.scales, filters);
    for (Size i = 0; i < filters; ++i) {
        const double scale = (scales ? double{scales[i]} : 1.0) * double{given.input.scale};
        const double zeros = double{given.input.zero} * double{totals[static_cast<std::size_t>(i)]};
        const double bias = given.after.bias ? double{given.after.bias[i]} : 0.0;
        const double less = bias - scale * zeros, step = double{output.scale};
        made.scales.data()[i] = static_cast<float>(scale);
        made.bias.data()[i] = static_cast<float>(less);
        made.byte_scales.data()[i] = static_cast<float>(scale / step);
        made.byte_bias.data()[i] = static_cast<float>(less / step + double{output.zero});
    }
    return made;
}

// The same for any layer of these weights and this input.
inline std::shared_ptr<const Factors> shared_factors(const Given& given, const std::string& key,
                                                     const std::vector<float>& totals,
                                                     Constants& constants) {
    std::string scale = given.layer.bias;
    for (const Kept& each : {given.input, kept(given.layer)})
        for (float number : {each.scale, each.zero}) scale += " " + std::to_string(double{number});
    return constants.get<Factors>(key + " factors " + scale,
                                  [&] { return factors(given, totals, constants); });
}

inline Keeping keeping(const Given& given, const Factors& numbers) {
    return {numbers.scales.data(),   numbers.bias.data(), given.after,
            given.residual,          kept(given.layer),   numbers.byte_scales.data(),
            numbers.byte_bias.data()};
}

inline std::unique_ptr<Step> depthwise_step(const Given& given, Constants& constants) {
    const std::string key = given.key + " taps";
    const auto held =
        constants.get<TapRows>(key, [&] { return ByteDepthwise::weights(given.g, given.weight); });
    const auto numbers = shared_factors(given, key, held->totals, constants);
    auto made =
        std::make_unique<ByteDepthwise>(given.g, held, keeping(given, *numbers),
                                        static_cast<Byte>(given.input.zero), given.from, given.to);
    made->holds.push_back(numbers);
    return made;
}

template <typename In, typename Weight>
std::unique_ptr<Step> gathered_step(const Given& given, Constants& constants) {
    const Geometry& g = given.g;
    const std::string key =
        given.key + " terms" + std::to_string(sizeof(In)) + std::to_string(sizeof(Weight));
    std::string shape;
    for (Size each : {g.width, g.pads[1], g.pads[3]}) shape += "-" + std::to_string(each);
    const auto held = constants.get<Terms<Weight>>(key + shape, [&] {
        return terms<In, Weight>(g, given.weight, columns_for(g.filters), sizeof(In) > 1);
    });
    const auto numbers = shared_factors(given, key, held->totals, constants);
    const auto& cut = given.layer.perforation;
    auto made = std::make_unique<Gathered<In, Weight>>(
        g, held, keeping(given, *numbers), Perforation{cut[0], cut[1], cut[2]}, given.layer.pooled,
        static_cast<In>(given.input.zero), given.from, given.to);
    made->holds.push_back(numbers);
    return made;
}

inline std::unique_ptr<Step> approximate(const Given& given, Constants& constants) {
    if (ByteDepthwise::fits(given.g) && given.g.groups > 1) return depthwise_step(given, constants);
    if (given.input.bytes) return gathered_step<Byte, Signed>(given, constants);
    if (!given.layer.scales.empty()) return gathered_step<float, Signed>(given, constants);
    return gathered_step<float, float>(given, constants);
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
