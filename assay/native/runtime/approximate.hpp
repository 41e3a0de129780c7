// Layers that a knob changed: int8, perforated, with a fused max pool, or with sampled weights.
#pragma once

#include "constants.hpp"
#include "indirect_convolution.hpp"
#include "int8_depthwise.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Only an indirect convolution computes these.
inline bool is_approximate(const Layer& layer) {
    return !layer.weight_scales.empty() || layer.perforation.is_active() || layer.max_pool_2x2;
}

// Arguments of approximate().
struct ApproximateArguments {
    const Geometry& g;
    const Layer& layer;
    const float* weight;
    std::string key;  // names these weights
    Epilogue after;
    QuantParams input, residual;
    const float* from;
    float* to;
};

// Scales and biases of the sums; the bias includes the correction for the input's zero point.
struct OutputScales {
    Buffer<float> scales, bias;            // to floats
    Buffer<float> byte_scales, byte_bias;  // to the bytes that are written, if they are
};

inline OutputScales output_scales(const ApproximateArguments& arguments,
                                  const std::vector<float>& totals, const Constants& constants) {
    const Size filters = arguments.g.filters, padded = filters + widest * lanes;
    OutputScales result{Buffer<float>(padded), Buffer<float>(padded), Buffer<float>(padded),
                        Buffer<float>(padded)};
    const QuantParams output = arguments.layer.quantization;
    const float* scales = arguments.layer.weight_scales.empty()
                              ? nullptr
                              : constants.weights().get(arguments.layer.weight_scales, filters);
    for (Size i = 0; i < filters; ++i) {
        const double scale = (scales ? double{scales[i]} : 1.0) * double{arguments.input.scale};
        const double zeros =
            double{arguments.input.zero_point} * double{totals[static_cast<std::size_t>(i)]};
        const double bias = arguments.after.bias ? double{arguments.after.bias[i]} : 0.0;
        const double offset = bias - scale * zeros, step = double{output.scale};
        result.scales.data()[i] = static_cast<float>(scale);
        result.bias.data()[i] = static_cast<float>(offset);
        result.byte_scales.data()[i] = static_cast<float>(scale / step);
        result.byte_bias.data()[i] = static_cast<float>(offset / step + double{output.zero_point});
    }
    return result;
}

// One copy for all layers with these weights and this input.
inline std::shared_ptr<const OutputScales> shared_output_scales(
    const ApproximateArguments& arguments, const std::string& key, const std::vector<float>& totals,
    Constants& constants) {
    std::string scale = arguments.layer.bias;
    for (const QuantParams& each : {arguments.input, arguments.layer.quantization})
        for (float number : {each.scale, each.zero_point})
            scale += " " + std::to_string(double{number});
    return constants.get<OutputScales>(key + " factors " + scale,
                                       [&] { return output_scales(arguments, totals, constants); });
}

inline OutputStage output_stage(const ApproximateArguments& arguments, const OutputScales& scales) {
    return {scales.scales.data(),   scales.bias.data(),           arguments.after,
            arguments.residual,     arguments.layer.quantization, scales.byte_scales.data(),
            scales.byte_bias.data()};
}

inline std::unique_ptr<Step> depthwise_step(const ApproximateArguments& arguments,
                                            Constants& constants) {
    const std::string key = arguments.key + " taps";
    const auto weights = constants.get<DepthwiseWeights>(
        key, [&] { return Int8Depthwise::pack_weights(arguments.g, arguments.weight); });
    const auto scales = shared_output_scales(arguments, key, weights->totals, constants);
    auto step = std::make_unique<Int8Depthwise>(
        arguments.g, weights, output_stage(arguments, *scales),
        static_cast<Byte>(arguments.input.zero_point), arguments.from, arguments.to);
    step->kept_constants.push_back(scales);
    return step;
}

template <typename In, typename Weight>
std::unique_ptr<Step> indirect_convolution_step(const ApproximateArguments& arguments,
                                                Constants& constants) {
    const Geometry& g = arguments.g;
    const std::string key =
        arguments.key + " terms" + std::to_string(sizeof(In)) + std::to_string(sizeof(Weight));
    std::string shape;
    for (Size each : {g.width, g.pads[1], g.pads[3]}) shape += "-" + std::to_string(each);
    const auto weights = constants.get<SampledWeights<Weight>>(key + shape, [&] {
        return pack_sampled_weights<In, Weight>(g, arguments.weight, columns_for(g.filters),
                                                sizeof(In) > 1);
    });
    const auto scales = shared_output_scales(arguments, key, weights->totals, constants);
    auto step = std::make_unique<IndirectConvolution<In, Weight>>(
        g, weights, output_stage(arguments, *scales), arguments.layer.perforation,
        arguments.layer.max_pool_2x2, static_cast<In>(arguments.input.zero_point), arguments.from,
        arguments.to);
    step->kept_constants.push_back(scales);
    return step;
}

inline std::unique_ptr<Step> approximate(const ApproximateArguments& arguments,
                                         Constants& constants) {
    if (Int8Depthwise::fits(arguments.g) && arguments.g.groups > 1)
        return depthwise_step(arguments, constants);
    if (arguments.input.quantized)
        return indirect_convolution_step<Byte, Signed>(arguments, constants);
    if (!arguments.layer.weight_scales.empty())
        return indirect_convolution_step<float, Signed>(arguments, constants);
    return indirect_convolution_step<float, float>(arguments, constants);
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
