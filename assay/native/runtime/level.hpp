// The runtime behind plain functions, for one level of the CPU: what the compiler's flags say.
#pragma once

#include "engine.hpp"
#include "interface.hpp"
#include "program.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Session {
    Session(const char* weights, const Settings& settings) : engine(weights, settings) {
        for (const std::string& name : engine.kernels()) kernels += name + " ";
    }
    Engine engine;
    std::string kernels;
};

inline std::string& last_error() {
    thread_local std::string text;
    return text;
}

inline Session& session_of(void* session) { return *static_cast<Session*>(session); }

// No exception leaves the C interface.
template <typename Result, typename Do>
Result catch_errors(Result after_error, Do&& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        last_error() = "There is not enough memory for this batch.";
    } catch (const std::exception& error) {
        last_error() = error.what();
    }
    return after_error;
}

// In the order of `features` in entry.cpp.
constexpr unsigned required_features() {
    unsigned features = 0;
#define ASSAY_NEEDS(bit) features |= 1u << bit
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
    return features;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay

extern "C" const AssayLevel ASSAY_LEVEL_TABLE;

const AssayLevel ASSAY_LEVEL_TABLE = {
    assay::required_features(),
    assay::run_main,
    [](const char* weights, long batch, int threads, int allowed, double seconds) -> void* {
        return assay::catch_errors<void*>(nullptr, [&] {
            const assay::Settings settings{batch, threads, static_cast<assay::Allowed>(allowed),
                                           seconds};
            return new assay::Session(weights, settings);
        });
    },
    [](void* session, const float* const* inputs, int channels_last, float* const* outputs,
       long images) {
        return assay::catch_errors(1, [&] {
            const auto order =
                channels_last ? assay::Order::channels_last : assay::Order::channels_first;
            assay::session_of(session).engine.run(inputs, order, outputs, images);
            return 0;
        });
    },
    [] { return assay::last_error().c_str(); },
    [](void* session) { return assay::session_of(session).kernels.c_str(); },
    [](void* session) -> long { return assay::session_of(session).engine.microbatch(); },
    [](void* session) { delete static_cast<assay::Session*>(session); },
};
