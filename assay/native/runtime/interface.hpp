// What the entry of a program or library needs of the runtime: plain functions, so that the entry
// can be compiled for any CPU and the runtime for one, or several times for several.
#pragma once

extern "C" {

struct AssayLevel {
    unsigned required_features;  // of the CPU: bits in the order of `features` in entry.cpp
    int (*program)(int count, char** words);
    // Null on an error, which error() returns.
    void* (*open)(const char* weights, long batch, int threads, int allowed, double seconds);
    // 0, or 1 on an error. An array for each input and each output of the model.
    int (*step)(void* session, const float* const* inputs, int channels_last, float* const* outputs,
                long images);
    const char* (*error)();
    const char* (*kernels)(void* session);
    long (*microbatch)(void* session);
    void (*close)(void* session);
};
}
