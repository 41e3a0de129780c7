// The start of every program, and the C interface of its library: compiled for any CPU of its kind,
// so that it can tell what the rest was compiled for, and take the best that this CPU has.
#include <cstdio>
#include <string>

#include "interface.hpp"

#define ASSAY_PUBLIC extern "C" __attribute__((visibility("default")))

#ifndef ASSAY_LEVELS  // as many as the runtime was compiled for, from the plainest on
#define ASSAY_LEVELS 1
#endif

extern "C" const AssayLevel assay_level_0;
#if ASSAY_LEVELS > 1
extern "C" const AssayLevel assay_level_1, assay_level_2;
#endif

namespace {

const AssayLevel* const levels[] = {
#if ASSAY_LEVELS > 1
    &assay_level_2,
    &assay_level_1,
#endif
    &assay_level_0,
};

struct Feature {
    const char* name;
    bool supported;
};

#if defined(__x86_64__)
#define ASSAY_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
const Feature* features() {
    __builtin_cpu_init();
    static const Feature result[] = {
        ASSAY_FEATURE("sse3"),     ASSAY_FEATURE("sse4.2"),     ASSAY_FEATURE("avx"),
        ASSAY_FEATURE("avx2"),     ASSAY_FEATURE("fma"),        ASSAY_FEATURE("bmi2"),
        ASSAY_FEATURE("avx512f"),  ASSAY_FEATURE("avx512vl"),   ASSAY_FEATURE("avx512bw"),
        ASSAY_FEATURE("avx512dq"), ASSAY_FEATURE("avx512vbmi"), ASSAY_FEATURE("avx512vnni"),
    };
    return result;
}
constexpr unsigned feature_count = 12;
#else
const Feature* features() { return nullptr; }
constexpr unsigned feature_count = 0;
#endif

// Of what a level needs, what this CPU lacks.
std::string missing_features(const AssayLevel& level) {
    std::string result;
    for (unsigned bit = 0; bit < feature_count; ++bit)
        if ((level.required_features >> bit & 1u) && !features()[bit].supported)
            result += (result.empty() ? "" : ", ") + std::string(features()[bit].name);
    return result;
}

// Null where there is none that this CPU can run.
const AssayLevel* level() {
    for (const AssayLevel* each : levels)
        if (missing_features(*each).empty()) return each;
    return nullptr;
}

std::string& unsupported_message() {
    static std::string text = "This was compiled for a CPU with " +
                              missing_features(assay_level_0) +
                              ", which this one has not; assay compile --portable makes programs "
                              "for any.";
    return text;
}

}  // namespace

ASSAY_PUBLIC void* assay_open(const char* weights, long batch, int threads, int allowed,
                              double seconds) {
    return level() ? level()->open(weights, batch, threads, allowed, seconds) : nullptr;
}

ASSAY_PUBLIC const char* assay_mistake() {
    return level() ? level()->error() : unsupported_message().c_str();
}

ASSAY_PUBLIC int assay_step(void* session, const float* const* inputs, int channels_last,
                            float* const* outputs, long images) {
    return level()->step(session, inputs, channels_last, outputs, images);
}

ASSAY_PUBLIC const char* assay_kernels(void* session) { return level()->kernels(session); }
ASSAY_PUBLIC long assay_at_once(void* session) { return level()->microbatch(session); }
ASSAY_PUBLIC void assay_close(void* session) { level()->close(session); }

int main(int count, char** words) {
    if (level()) return level()->program(count, words);
    std::fprintf(stderr, "error: %s\n", unsupported_message().c_str());
    return 3;
}
