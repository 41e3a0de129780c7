// The engine behind a C interface, for those who load it as a shared library.
#pragma once

#include "engine.hpp"

namespace assay {

struct Opened {
    Engine engine;
    std::string kernels;
};

inline std::string& last_mistake() {
    static std::string text;
    return text;
}

}  // namespace assay

extern "C" {

// Null after a mistake, which assay_mistake() then tells. `allowed`: 0 all kernels, 1 own, 2 oneDNN.
__attribute__((visibility("default"))) void* assay_open(
    const char* weights, long batch, int threads, int allowed, double seconds) {
    try {
        const assay::Settings settings{batch, threads, static_cast<assay::Allowed>(allowed),
                                       seconds};
        auto* opened = new assay::Opened{assay::Engine(weights, settings), ""};
        for (const std::string& name : opened->engine.kernels()) opened->kernels += name + " ";
        return opened;
    } catch (const std::exception& error) {
        assay::last_mistake() = error.what();
        return nullptr;
    }
}

__attribute__((visibility("default"))) const char* assay_mistake() {
    return assay::last_mistake().c_str();
}

// Input: `images` times the model's shape, channels last where asked; output: as many results.
__attribute__((visibility("default"))) void assay_step(
    void* opened, const float* input, int channels_last, float* output, long images) {
    const auto order = channels_last ? assay::Order::channels_last : assay::Order::channels_first;
    static_cast<assay::Opened*>(opened)->engine.run(input, order, output, images);
}

__attribute__((visibility("default"))) long assay_outputs(void* opened) {
    return static_cast<assay::Opened*>(opened)->engine.outputs();
}

__attribute__((visibility("default"))) long assay_at_once(void* opened) {
    return static_cast<assay::Opened*>(opened)->engine.at_once();
}

__attribute__((visibility("default"))) const char* assay_kernels(void* opened) {
    return static_cast<assay::Opened*>(opened)->kernels.c_str();
}

__attribute__((visibility("default"))) void assay_close(void* opened) {
    delete static_cast<assay::Opened*>(opened);
}

}
