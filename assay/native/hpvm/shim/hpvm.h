// HPVM-C as ordinary C++: the declarations of HPVM's hpvm.h, so that any compiler compiles a
// program written for it; assay's runtime computes the network.
//
// A root function declares a graph by calls. It is called once, and each of its leaf functions once
// with symbolic tensors, so that the network is known before anything is computed.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace hpvm {
// All of them run on this CPU.
enum Target {
    None,
    CPU_TARGET,
    GPU_TARGET,
    CUDNN_TARGET,
    TENSOR_TARGET,
    PROMISE_TARGET,
    CPU_OR_GPU_TARGET,
    DEVICE = CUDNN_TARGET,
};
}  // namespace hpvm

// Folder of HPVM's weights and data files. A relative path is also looked up in the folder of
// --data, or of ASSAY_HPVM_DATA or MODEL_PARAMS_DIR in the environment.
#ifndef MODEL_PARAMS_DIR
#define MODEL_PARAMS_DIR "model_params"
#endif

namespace hpvm_shim {

using Words = std::vector<std::uintptr_t>;
using Body = std::function<void(const Words&)>;

void* create_node(unsigned dimensions, std::size_t inputs, Body body);
void set_results(Words words);
void* launch(unsigned streaming, void* root, const Words& words, const Body& body, void* results);

// An argument of a function as one machine word, and back.
template <typename T>
std::uintptr_t word(T value) {
    static_assert(sizeof(T) <= sizeof(std::uintptr_t) && std::is_trivially_copyable_v<T>,
                  "tensors, sizes and plain numbers go from node to node");
    std::uintptr_t result = 0;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

template <typename T>
T value(std::uintptr_t word) {
    static_assert(sizeof(T) <= sizeof(std::uintptr_t) && std::is_trivially_copyable_v<T>,
                  "tensors, sizes and plain numbers go from node to node");
    T result;
    std::memcpy(&result, &word, sizeof result);
    return result;
}

template <typename R, typename... P, std::size_t... I>
Body make_body(R (*function)(P...), std::index_sequence<I...>) {
    return [function](const Words& words) {
        (void)words;  // unused by a function without parameters
        function(value<P>(words[I])...);
    };
}

template <typename R, typename... P>
Body make_body(R (*function)(P...)) {
    return make_body(function, std::index_sequence_for<P...>{});
}

}  // namespace hpvm_shim

// Creates a node. The sizes of a replicated node follow the function.
template <typename R, typename... P, typename... Sizes>
void* __hpvm__createNodeND(unsigned dimensions, R (*function)(P...), Sizes...) {
    return hpvm_shim::create_node(dimensions, sizeof...(P), hpvm_shim::make_body(function));
}

template <typename... T>
void __hpvm__return(unsigned, T... values) {
    hpvm_shim::set_results({hpvm_shim::word(values)...});
}

template <typename... T>
void __hpvm__attributes(unsigned, T...) {}

// `arguments` are those of root, packed, followed by the space for its results.
template <typename R, typename... P>
void* __hpvm__launch(unsigned streaming, R (*root)(P...), void* arguments) {
    char* at = static_cast<char*>(arguments);
    hpvm_shim::Words words;
    // Not a fold expression: compilers limit their length, and a network may have more arguments.
    const std::size_t sizes[] = {sizeof(P)..., 0};
    for (std::size_t i = 0; i < sizeof...(P); ++i) {
        std::uintptr_t argument = 0;
        std::memcpy(&argument, at, sizes[i]);
        words.push_back(argument);
        at += sizes[i];
    }
    return hpvm_shim::launch(streaming, reinterpret_cast<void*>(root), words,
                             hpvm_shim::make_body(root), at);
}

extern "C" {
void __hpvm__hint(hpvm::Target) noexcept;
void __hpvm__init() noexcept;
void __hpvm__cleanup() noexcept;
void __hpvm__bindIn(void* node, unsigned from, unsigned to, unsigned streaming) noexcept;
void __hpvm__bindOut(void* node, unsigned from, unsigned to, unsigned streaming) noexcept;
void* __hpvm__edge(void* source, void* target, unsigned all, unsigned from, unsigned to,
                   unsigned streaming) noexcept;
void __hpvm__wait(void* graph) noexcept;
void* __hpvm__node_id(int) noexcept;

void* __hpvm__tensor_add(void*, void*) noexcept;
void* __hpvm__tensor_mul(void*, void*) noexcept;
// Padding and strides: vertical before horizontal.
void* __hpvm__tensor_convolution(void*, void*, int, int, int, int) noexcept;
void* __hpvm__tensor_group_convolution(void*, void*, int, int, int, int, int mode,
                                       int groups) noexcept;
void* __hpvm__tensor_batchnorm(void*, void* gamma, void* beta, void* mean, void* variance,
                               double epsilon) noexcept;
// Window, padding, strides.
void* __hpvm__tensor_pool_max(void*, int, int, int, int, int, int) noexcept;
void* __hpvm__tensor_pool_mean(void*, int, int, int, int, int, int) noexcept;
void* __hpvm__tensor_relu(void*) noexcept;
void* __hpvm__tensor_tanh(void*) noexcept;
void* __hpvm__tensor_softmax(void*) noexcept;

void llvm_hpvm_track_mem(void*, std::size_t) noexcept;
void llvm_hpvm_untrack_mem(void*) noexcept;
void llvm_hpvm_request_mem(void*, std::size_t) noexcept;
}
