// The tensor operations of HPVM-C: each adds a line to the recording of the graph.
#pragma once

#include "recording.hpp"

namespace hpvm_shim {

inline std::string number_text(std::initializer_list<int> all) {
    std::string text;
    for (int number : all) text += " " + std::to_string(number);
    return text;
}

// Number of positions of a window along one axis.
inline std::size_t window_count(std::size_t size, int pad, std::size_t window, int stride,
                                const char* user) {
    const long room = static_cast<long>(size) + 2L * pad - static_cast<long>(window);
    if (pad < 0 || stride < 1 || room < 0)
        exit_with_error(std::string(user) + " has a window of " + std::to_string(window) +
                        ", padding " + std::to_string(pad) + " and stride " +
                        std::to_string(stride) + " over " + std::to_string(size) + " values.");
    return static_cast<std::size_t>(room / stride + 1);
}

inline void* convolution(const char* user, const char* op, void* input, void* filter, int vertical,
                         int horizontal, int down, int across, int groups) {
    Recording& here = active_recording(user);
    const std::string from = here.name(input, false, user), weight = here.name(filter, true, user);
    const Shape shape = shape_of(lookup_tensor(input, user)),
                window = shape_of(lookup_tensor(filter, user));
    const std::size_t count = groups > 0 ? static_cast<std::size_t>(groups) : 0;
    if (count == 0 || window.channels * count != shape.channels || window.items % count != 0)
        exit_with_error(std::string(user) + " has filters of " + std::to_string(window.items) +
                        " x " + std::to_string(window.channels) + " channels in " +
                        std::to_string(groups) + " groups for " + std::to_string(shape.channels) +
                        " channels.");
    return here.result(
        op + (" " + from + " " + weight) +
            number_text({vertical, horizontal, down, across, groups}),
        {shape.items, window.items, window_count(shape.height, vertical, window.height, down, user),
         window_count(shape.width, horizontal, window.width, across, user)});
}

inline void* pool(const char* user, const char* op, void* input, int height, int width,
                  int vertical, int horizontal, int down, int across) {
    Recording& here = active_recording(user);
    const std::string from = here.name(input, false, user);
    const Shape shape = shape_of(lookup_tensor(input, user));
    const std::size_t high = checked_size(height), wide = checked_size(width);
    return here.result(
        op + (" " + from) + number_text({height, width, vertical, horizontal, down, across}),
        {shape.items, shape.channels, window_count(shape.height, vertical, high, down, user),
         window_count(shape.width, horizontal, wide, across, user)});
}

inline void* unary(const char* user, const char* op, void* input) {
    Recording& here = active_recording(user);
    const std::string from = here.name(input, false, user);
    return here.result(op + (" " + from), shape_of(lookup_tensor(input, user)));
}

// Whether an input of the graph is a bias: a single item that is added to a batch of several; with
// a batch of one, a tensor of one number per channel.
inline bool is_bias(const TensorImpl& tensor, const Shape& other) {
    if (tensor.value >= 0) return false;
    const Shape shape = shape_of(tensor);
    return shape.items == 1 && (other.items > 1 || (shape.height == 1 && shape.width == 1));
}

inline std::size_t broadcast_size(std::size_t first, std::size_t second) {
    if (first != second && first != 1 && second != 1)
        exit_with_error("__hpvm__tensor_add has " + std::to_string(first) + " and " +
                        std::to_string(second) + " numbers along one axis.");
    return std::max(first, second);
}

inline void* add_tensors(void* first, void* second) {
    const char* user = "__hpvm__tensor_add";
    Recording& here = active_recording(user);
    const Shape a = shape_of(lookup_tensor(first, user)), b = shape_of(lookup_tensor(second, user));
    const std::string left = here.name(first, is_bias(lookup_tensor(first, user), b), user);
    const std::string across = here.name(second, is_bias(lookup_tensor(second, user), a), user);
    return here.result("add " + left + " " + across,
                       {broadcast_size(a.items, b.items), broadcast_size(a.channels, b.channels),
                        broadcast_size(a.height, b.height), broadcast_size(a.width, b.width)});
}

inline void* multiply_matrices(void* input, void* weights) {
    const char* user = "__hpvm__tensor_mul";
    Recording& here = active_recording(user);
    const std::string from = here.name(input, false, user), weight = here.name(weights, true, user);
    const Shape shape = shape_of(lookup_tensor(input, user)),
                matrix = shape_of(lookup_tensor(weights, user));
    const std::size_t into = shape.channels * shape.height * shape.width;
    if (matrix.items != 1 || matrix.channels != 1 || matrix.height != into)
        exit_with_error(std::string(user) + " multiplies " + std::to_string(into) +
                        " numbers by a matrix of " + std::to_string(matrix.height) + " x " +
                        std::to_string(matrix.width) + ".");
    return here.result("mul " + from + " " + weight, {shape.items, matrix.width, 1, 1});
}

inline void* batch_norm(void* input, std::initializer_list<void*> parts, double epsilon) {
    const char* user = "__hpvm__tensor_batchnorm";
    Recording& here = active_recording(user);
    std::string line = "batchnorm " + here.name(input, false, user);
    const Shape shape = shape_of(lookup_tensor(input, user));
    for (void* file_bytes : parts) {
        line += " " + here.name(file_bytes, true, user);
        if (lookup_tensor(file_bytes, user).num_elems != shape.channels)
            exit_with_error(std::string(user) + " has " +
                            std::to_string(lookup_tensor(file_bytes, user).num_elems) +
                            " numbers for " + std::to_string(shape.channels) + " channels.");
    }
    char text[40];
    std::snprintf(text, sizeof text, " %.17g", epsilon);
    return here.result(line + text, shape);
}

}  // namespace hpvm_shim

using namespace hpvm_shim;  // for the C functions below

extern "C" {

void __hpvm__hint(hpvm::Target) noexcept {}
void* __hpvm__node_id(int) noexcept { return nullptr; }

void __hpvm__bindIn(void* node, unsigned from, unsigned to, unsigned) noexcept {
    active_frame("__hpvm__bindIn").bindings[{static_cast<Node*>(node), to}] = {nullptr, from};
}
void __hpvm__bindOut(void* node, unsigned from, unsigned to, unsigned) noexcept {
    active_frame("__hpvm__bindOut").outputs[to] = {static_cast<Node*>(node), from};
}
void* __hpvm__edge(void* source, void* target, unsigned, unsigned from, unsigned to,
                   unsigned) noexcept {
    active_frame("__hpvm__edge").bindings[{static_cast<Node*>(target), to}] = {
        static_cast<Node*>(source), from};
    return target;
}

void* __hpvm__tensor_add(void* first, void* second) noexcept { return add_tensors(first, second); }
void* __hpvm__tensor_mul(void* input, void* weights) noexcept {
    return multiply_matrices(input, weights);
}
void* __hpvm__tensor_convolution(void* input, void* filter, int vertical, int horizontal, int down,
                                 int across) noexcept {
    return convolution(__func__, "conv", input, filter, vertical, horizontal, down, across, 1);
}
void* __hpvm__tensor_group_convolution(void* input, void* filter, int vertical, int horizontal,
                                       int down, int across, int, int groups) noexcept {
    return convolution(__func__, "group_conv", input, filter, vertical, horizontal, down, across,
                       groups);
}
void* __hpvm__tensor_batchnorm(void* input, void* gamma, void* beta, void* mean, void* variance,
                               double epsilon) noexcept {
    return batch_norm(input, {gamma, beta, mean, variance}, epsilon);
}
void* __hpvm__tensor_pool_max(void* input, int h, int w, int v, int z, int d, int r) noexcept {
    return pool(__func__, "pool_max", input, h, w, v, z, d, r);
}
void* __hpvm__tensor_pool_mean(void* input, int h, int w, int v, int z, int d, int r) noexcept {
    return pool(__func__, "pool_mean", input, h, w, v, z, d, r);
}
void* __hpvm__tensor_relu(void* input) noexcept { return unary(__func__, "relu", input); }
void* __hpvm__tensor_tanh(void* input) noexcept { return unary(__func__, "tanh", input); }
void* __hpvm__tensor_softmax(void* input) noexcept { return unary(__func__, "softmax", input); }
}
