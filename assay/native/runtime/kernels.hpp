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
    terms
};
enum class Allowed { all, own, onednn };  // by a flag

#ifdef ASSAY_ONEDNN
constexpr bool with_onednn = true;
#else
constexpr bool with_onednn = false;
#endif

// All a kernel is made from.
struct Work {
    const Network& net;
    const Layer& layer;
    Geometry g;
    const float* weight;  // as the definition of the layer has it
    std::string key;      // names these weights among the constants
    Epilogue after;
    const float* input;
    float* output;
    int team;  // threads that will share it
};

// More than half a core's cache holds, and each used for less than a hundred pixels.
inline bool worth_halving(const Geometry& g) {
    return g.weights() > 1 << 17 && g.pixels() < 100 && !Depthwise::fits(g);
}

// `every`: those too that are hardly ever the quickest.
inline std::vector<Kernel> candidates(const Geometry& g, const float* weight, Allowed allowed,
                                      bool every) {
    if (allowed == Allowed::onednn && with_onednn) return {Kernel::onednn};
    std::vector<Kernel> found;
    if (Depthwise::fits(g)) found.push_back(Kernel::depthwise);
    if (Winograd<6, 3>::fits(g, weight))
        found.insert(found.end(), {Kernel::winograd_4x3, Kernel::winograd_2x3});
    if (Winograd<6, 5>::fits(g, weight)) found.push_back(Kernel::winograd_2x5);
    // Many weights for few pixels are waited for: half the bytes is half the wait.
    if (halves && (every || worth_halving(g)) && all_halves(weight, g.weights()))
        found.push_back(Kernel::direct_half);
    if (with_onednn && allowed == Allowed::all) found.push_back(Kernel::onednn);
    if (every || !Depthwise::fits(g)) found.push_back(Kernel::direct);
    if ((every || Strassen::pays(g)) && Strassen::fits(g, weight))
        found.push_back(Kernel::strassen);
    return found;
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
        case Kernel::terms: return "terms";
        default: return "direct";
    }
}

// Those to choose from: the one that the model asks for, or all that are allowed.
inline std::vector<Kernel> options(const Work& work, Allowed allowed) {
    if (approximated(work.layer)) return {Kernel::terms};
    const bool forced = !work.layer.kernel.empty();
    std::vector<Kernel> possible =
        candidates(work.g, work.weight, forced ? Allowed::all : allowed, forced);
    if (work.layer.sampled && allowed != Allowed::onednn)
        possible.insert(std::find(possible.begin(), possible.end(), Kernel::direct), Kernel::terms);
    if (!forced) return possible;
    std::string listed;
    for (Kernel each : possible) {
        if (name_of(each) == work.layer.kernel) return {each};
        listed += (listed.empty() ? "" : ", ") + std::string(name_of(each));
    }
    throw Mistake("The layer with the weights " + work.layer.weight + " cannot be computed by " +
                  work.layer.kernel + ", but by " + listed + ".");
}

template <typename Made>
std::unique_ptr<Step> holding(std::unique_ptr<Step> step, Made constant) {
    step->holds.push_back(std::move(constant));
    return step;
}

template <int size, int window>
std::unique_ptr<Step> winograd(const Work& w, Constants& constants) {
    const auto weight = constants.get<Buffer<float>>(
        w.key + "/winograd" + std::to_string(size) + std::to_string(window),
        [&w] { return transformed<size, window>(w.g, w.weight, columns_for(w.g.filters)); });
    return holding(std::make_unique<Winograd<size, window>>(w.g, weight->data(), w.weight, w.after,
                                                            w.input, w.output),
                   weight);
}

inline std::unique_ptr<Step> strassen(const Work& w, Constants& constants) {
    const auto weight = constants.get<Buffer<float>>(
        w.key + "/strassen", [&w] { return strassen_weights(w.g, w.weight); });
    return holding(
        std::make_unique<Strassen>(w.g, weight->data(), w.weight, w.after, w.input, w.output),
        weight);
}

template <typename Weight, typename Convert>
std::unique_ptr<Step> direct(const Work& w, Constants& constants, Convert convert) {
    const auto weight = constants.get<Buffer<Weight>>(
        w.key + "/packed" + std::to_string(sizeof(Weight)), [&w, convert] {
            return packed<Weight>(w.g, w.weight, least_padded_columns(w.g.filters / w.g.groups),
                                  convert);
        });
    return holding(
        std::make_unique<Direct<Weight>>(w.g, weight->data(), w.after, w.input, w.output), weight);
}

inline Half exact_half(float value) {
    Half half{};
    to_half(value, half);
    return half;
}

inline std::unique_ptr<Step> made(Kernel kernel, const Work& w, Constants& constants) {
    switch (kernel) {
        case Kernel::winograd_4x3: return winograd<6, 3>(w, constants);
        case Kernel::winograd_2x3: return winograd<4, 3>(w, constants);
        case Kernel::winograd_2x5: return winograd<6, 5>(w, constants);
        case Kernel::strassen: return strassen(w, constants);
        case Kernel::terms: {
            const auto how = [&w](Value value) {
                return value < 0 ? Kept{} : kept(w.net.at(value));
            };
            return approximate({w.g, w.layer, w.weight, w.key, w.after, how(w.layer.inputs[0]),
                                how(w.layer.residual), w.input, w.output},
                               constants);
        }
        case Kernel::direct_half: return direct<Half>(w, constants, exact_half);
        case Kernel::depthwise: {
            const auto weight = constants.get<Buffer<float>>(
                w.key + "/by-tap", [&w] { return by_tap(w.g, w.weight); });
            return holding(
                std::make_unique<Depthwise>(w.g, weight->data(), w.after, w.input, w.output),
                weight);
        }
#ifdef ASSAY_ONEDNN
        case Kernel::onednn:
            return std::make_unique<Onednn>(w.g, w.weight, w.key, constants, w.after, w.input,
                                            w.output, w.team);
#endif
        default: return direct<float>(w, constants, [](float value) { return value; });
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
