// The ways in which a convolution or dense layer can be computed here, best guess first.
#pragma once

#include "approximate.hpp"
#include "constants.hpp"
#ifdef ASSAY_ONEDNN
#include "onednn.hpp"
#endif

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

enum class Kernel {
    direct,
    direct_half,
    depthwise,
    winograd_4x3,
    winograd_2x3,
    winograd_2x5,
    strassen,
    onednn,
    indirect
};
enum class Allowed { all, own, onednn };  // by a flag

#ifdef ASSAY_ONEDNN
constexpr bool with_onednn = true;
#else
constexpr bool with_onednn = false;
#endif

// Arguments of a kernel.
struct KernelArguments {
    const Network& net;
    const Layer& layer;
    Geometry g;
    const float* weight;  // as the definition of the layer has it
    std::string key;      // names these weights among the constants
    Epilogue after;
    const float* input;
    float* output;
    int threads;  // threads that will share it
};

// More than half a core's cache holds, and each used for less than a hundred pixels.
inline bool benefits_from_float16(const Geometry& g) {
    return g.weights() > 1 << 17 && g.pixels() < 100 && !Depthwise::fits(g);
}

// `include_slow`: also kernels that are rarely the fastest.
inline std::vector<Kernel> fitting_kernels(const Geometry& g, const float* weight, Allowed allowed,
                                           bool include_slow) {
    if (allowed == Allowed::onednn && with_onednn) return {Kernel::onednn};
    std::vector<Kernel> kernels;
    if (Depthwise::fits(g)) kernels.push_back(Kernel::depthwise);
    if (Winograd<6, 3>::fits(g, weight))
        kernels.insert(kernels.end(), {Kernel::winograd_4x3, Kernel::winograd_2x3});
    if (Winograd<6, 5>::fits(g, weight)) kernels.push_back(Kernel::winograd_2x5);
    // Many weights for few pixels are waited for: half the bytes is half the wait.
    if (has_float16 && (include_slow || benefits_from_float16(g)) &&
        all_float16(weight, g.weights()))
        kernels.push_back(Kernel::direct_half);
    if (with_onednn && allowed == Allowed::all) kernels.push_back(Kernel::onednn);
    if (include_slow || !Depthwise::fits(g)) kernels.push_back(Kernel::direct);
    if ((include_slow || Strassen::pays(g)) && Strassen::fits(g, weight))
        kernels.push_back(Kernel::strassen);
    return kernels;
}

inline const char* name_of(Kernel kernel) {
    switch (kernel) {
        case Kernel::direct_half: return "direct-half";
        case Kernel::depthwise: return "depthwise";
        case Kernel::winograd_4x3: return "winograd-4x3";
        case Kernel::winograd_2x3: return "winograd-2x3";
        case Kernel::winograd_2x5: return "winograd-2x5";
        case Kernel::onednn: return "onednn";
        case Kernel::strassen: return "strassen";
        case Kernel::indirect: return "terms";
        default: return "direct";
    }
}

// Candidates for the autotuner: the forced kernel, or all allowed ones.
inline std::vector<Kernel> kernel_candidates(const KernelArguments& arguments, Allowed allowed) {
    if (is_approximate(arguments.layer)) return {Kernel::indirect};
    const bool is_forced = !arguments.layer.kernel.empty();
    std::vector<Kernel> candidates = fitting_kernels(arguments.g, arguments.weight,
                                                     is_forced ? Allowed::all : allowed, is_forced);
    if (arguments.layer.sampled_weights && allowed != Allowed::onednn)
        candidates.insert(std::find(candidates.begin(), candidates.end(), Kernel::direct),
                          Kernel::indirect);
    if (!is_forced) return candidates;
    std::string listed;
    for (Kernel each : candidates) {
        if (name_of(each) == arguments.layer.kernel) return {each};
        listed += (listed.empty() ? "" : ", ") + std::string(name_of(each));
    }
    throw Error("The layer with the weights " + arguments.layer.weight + " cannot be computed by " +
                arguments.layer.kernel + ", but by " + listed + ".");
}

template <typename Constant>
std::unique_ptr<Step> with_constant(std::unique_ptr<Step> step, Constant constant) {
    step->kept_constants.push_back(std::move(constant));
    return step;
}

template <int size, int window>
std::unique_ptr<Step> winograd(const KernelArguments& w, Constants& constants) {
    const auto weight = constants.get<Buffer<float>>(
        w.key + "/winograd" + std::to_string(size) + std::to_string(window),
        [&w] { return transform_weights<size, window>(w.g, w.weight, columns_for(w.g.filters)); });
    return with_constant(std::make_unique<Winograd<size, window>>(w.g, weight->data(), w.weight,
                                                                  w.after, w.input, w.output),
                         weight);
}

inline std::unique_ptr<Step> strassen(const KernelArguments& w, Constants& constants) {
    const auto weight = constants.get<Buffer<float>>(
        w.key + "/strassen", [&w] { return strassen_weights(w.g, w.weight); });
    return with_constant(
        std::make_unique<Strassen>(w.g, weight->data(), w.weight, w.after, w.input, w.output),
        weight);
}

template <typename Weight, typename Convert>
std::unique_ptr<Step> direct(const KernelArguments& w, Constants& constants, Convert convert) {
    const auto weight = constants.get<Buffer<Weight>>(
        w.key + "/packed" + std::to_string(sizeof(Weight)), [&w, convert] {
            return pack_weights<Weight>(w.g, w.weight,
                                        least_padded_columns(w.g.filters / w.g.groups), convert);
        });
    return with_constant(
        std::make_unique<Direct<Weight>>(w.g, weight->data(), w.after, w.input, w.output), weight);
}

inline Half to_exact_float16(float value) {
    Half half{};
    to_float16(value, half);
    return half;
}

inline std::unique_ptr<Step> create_kernel(Kernel kernel, const KernelArguments& w,
                                           Constants& constants) {
    switch (kernel) {
        case Kernel::winograd_4x3: return winograd<6, 3>(w, constants);
        case Kernel::winograd_2x3: return winograd<4, 3>(w, constants);
        case Kernel::winograd_2x5: return winograd<6, 5>(w, constants);
        case Kernel::strassen: return strassen(w, constants);
        case Kernel::indirect: {
            const auto params_of = [&w](Value value) {
                return value < 0 ? QuantParams{} : w.net.at(value).quantization;
            };
            return approximate(
                {w.g, w.layer, w.weight, w.key, w.after, params_of(w.layer.inputs[0]),
                 params_of(w.layer.residual), w.input, w.output},
                constants);
        }
        case Kernel::direct_half: return direct<Half>(w, constants, to_exact_float16);
        case Kernel::depthwise: {
            const auto weight = constants.get<Buffer<float>>(
                w.key + "/by-tap", [&w] { return pack_depthwise_weights(w.g, w.weight); });
            return with_constant(
                std::make_unique<Depthwise>(w.g, weight->data(), w.after, w.input, w.output),
                weight);
        }
#ifdef ASSAY_ONEDNN
        case Kernel::onednn:
            return std::make_unique<Onednn>(w.g, w.weight, w.key, constants, w.after, w.input,
                                            w.output, w.threads);
#endif
        default: return direct<float>(w, constants, [](float value) { return value; });
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
