// What the entry of a program or library needs of the runtime: plain functions, so that the entry
// can be compiled for any CPU and the runtime for one, or several times for several.
#pragma once

extern "C" {

struct AssayLevel {
    unsigned needs;  // of the CPU: bits in the order of `features` in entry.cpp
    int (*program)(int count, char** words);
    // Null after a mistake, which mistake() then tells.
    void* (*open)(const char* weights, long batch, int threads, int allowed, double seconds);
    // 0, or 1 after a mistake. An array for each input and each output of the model.
    int (*step)(void* opened, const float* const* inputs, int channels_last, float* const* outputs,
                long images);
    const char* (*mistake)();
    const char* (*kernels)(void* opened);
    long (*at_once)(void* opened);
    void (*close)(void* opened);
};
}
