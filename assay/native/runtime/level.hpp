// The runtime behind plain functions, for one level of the CPU: what the compiler's flags say.
#pragma once

#include "engine.hpp"
#include "interface.hpp"
#include "program.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Opened {
    Opened(const char* weights, const Settings& settings) : engine(weights, settings) {
        for (const std::string& name : engine.kernels()) kernels += name + " ";
    }
    Engine engine;
    std::string kernels;
};

inline std::string& last_mistake() {
    thread_local std::string text;
    return text;
}

inline Opened& of(void* opened) { return *static_cast<Opened*>(opened); }

// Nothing is thrown at who called by way of C.
template <typename Result, typename Do>
Result caught(Result after_mistake, Do&& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        last_mistake() = "There is not enough memory for this batch.";
    } catch (const std::exception& error) {
        last_mistake() = error.what();
    }
    return after_mistake;
}

// In the order of `features` in entry.cpp.
constexpr unsigned needed() {
    unsigned found = 0;
#define ASSAY_NEEDS(bit) found |= 1u << bit
#ifdef __SSE3__
    ASSAY_NEEDS(0);
#endif
#ifdef __SSE4_2__
    ASSAY_NEEDS(1);
#endif
#ifdef __AVX__
    ASSAY_NEEDS(2);
#endif
#ifdef __AVX2__
    ASSAY_NEEDS(3);
#endif
#ifdef __FMA__
    ASSAY_NEEDS(4);
#endif
#ifdef __BMI2__
    ASSAY_NEEDS(5);
#endif
#ifdef __AVX512F__
    ASSAY_NEEDS(6);
#endif
#ifdef __AVX512VL__
    ASSAY_NEEDS(7);
#endif
#ifdef __AVX512BW__
    ASSAY_NEEDS(8);
#endif
#ifdef __AVX512DQ__
    ASSAY_NEEDS(9);
#endif
#ifdef __AVX512VBMI__
    ASSAY_NEEDS(10);
#endif
#ifdef __AVX512VNNI__
    ASSAY_NEEDS(11);
#endif
#undef ASSAY_NEEDS
    return found;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay

extern "C" const AssayLevel ASSAY_LEVEL_TABLE;

const AssayLevel ASSAY_LEVEL_TABLE = {
    assay::needed(),
    assay::program,
    [](const char* weights, long batch, int threads, int allowed, double seconds) -> void* {
        return assay::caught<void*>(nullptr, [&] {
            const assay::Settings settings{batch, threads, static_cast<assay::Allowed>(allowed),
                                           seconds};
            return new assay::Opened(weights, settings);
        });
    },
    [](void* opened, const float* const* inputs, int channels_last, float* const* outputs,
       long images) {
        return assay::caught(1, [&] {
            const auto order =
                channels_last ? assay::Order::channels_last : assay::Order::channels_first;
            assay::of(opened).engine.run(inputs, order, outputs, images);
            return 0;
        });
    },
    [] { return assay::last_mistake().c_str(); },
    [](void* opened) { return assay::of(opened).kernels.c_str(); },
    [](void* opened) -> long { return assay::of(opened).engine.at_once(); },
    [](void* opened) { delete static_cast<assay::Opened*>(opened); },
};
