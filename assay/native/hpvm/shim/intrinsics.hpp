// The tensor operations of HPVM-C: each a line of the graph that is being described.
#pragma once

#include "recording.hpp"

namespace hpvm_shim {

inline std::string numbers(std::initializer_list<int> all) {
    std::string text;
    for (int number : all) text += " " + std::to_string(number);
    return text;
}

// How often a window fits.
inline std::size_t slide(std::size_t size, int pad, std::size_t window, int stride,
                         const char* user) {
    const long room = static_cast<long>(size) + 2L * pad - static_cast<long>(window);
    if (pad < 0 || stride < 1 || room < 0)
        refuse(std::string(user) + " has a window of " + std::to_string(window) + ", padding " +
               std::to_string(pad) + " and stride " + std::to_string(stride) + " over " +
               std::to_string(size) + " values.");
    return static_cast<std::size_t>(room / stride + 1);
}

inline void* convolution(const char* user, const char* op, void* input, void* filter, int vertical,
                         int horizontal, int down, int right, int groups) {
    Recording& here = described(user);
    const std::string from = here.name(input, false, user), weight = here.name(filter, true, user);
    const Shape shape = shape_of(held(input, user)), window = shape_of(held(filter, user));
    const std::size_t count = groups > 0 ? static_cast<std::size_t>(groups) : 0;
    if (count == 0 || window.channels * count != shape.channels || window.items % count != 0)
        refuse(std::string(user) + " has filters of " + std::to_string(window.items) + " x " +
               std::to_string(window.channels) + " channels in " + std::to_string(groups) +
               " groups for " + std::to_string(shape.channels) + " channels.");
    return here.result(
        op + (" " + from + " " + weight) + numbers({vertical, horizontal, down, right, groups}),
        {shape.items, window.items, slide(shape.height, vertical, window.height, down, user),
         slide(shape.width, horizontal, window.width, right, user)});
}

inline void* pool(const char* user, const char* op, void* input, int height, int width,
                  int vertical, int horizontal, int down, int right) {
    Recording& here = described(user);
    const std::string from = here.name(input, false, user);
    const Shape shape = shape_of(held(input, user));
    const std::size_t high = size_of(height), wide = size_of(width);
    return here.result(
        op + (" " + from) + numbers({height, width, vertical, horizontal, down, right}),
        {shape.items, shape.channels, slide(shape.height, vertical, high, down, user),
         slide(shape.width, horizontal, wide, right, user)});
}

inline void* same(const char* user, const char* op, void* input) {
    Recording& here = described(user);
    const std::string from = here.name(input, false, user);
    return here.result(op + (" " + from), shape_of(held(input, user)));
}

// A tensor of one item that is handed in beside a batch of more is weights; with a batch of one,
// what has a single number for each channel.
inline bool is_bias(const Held& tensor, const Shape& beside) {
    if (tensor.value >= 0) return false;
    const Shape shape = shape_of(tensor);
    return shape.items == 1 && (beside.items > 1 || (shape.height == 1 && shape.width == 1));
}

inline std::size_t fitted(std::size_t first, std::size_t second) {
    if (first != second && first != 1 && second != 1)
        refuse("__hpvm__tensor_add has " + std::to_string(first) + " and " +
               std::to_string(second) + " numbers along one axis.");
    return std::max(first, second);
}

inline void* sum(void* first, void* second) {
    const char* user = "__hpvm__tensor_add";
    Recording& here = described(user);
    const Shape a = shape_of(held(first, user)), b = shape_of(held(second, user));
    const std::string left = here.name(first, is_bias(held(first, user), b), user);
    const std::string right = here.name(second, is_bias(held(second, user), a), user);
    return here.result("add " + left + " " + right,
                       {fitted(a.items, b.items), fitted(a.channels, b.channels),
                        fitted(a.height, b.height), fitted(a.width, b.width)});
}

inline void* product(void* input, void* weights) {
    const char* user = "__hpvm__tensor_mul";
    Recording& here = described(user);
    const std::string from = here.name(input, false, user), weight = here.name(weights, true, user);
    const Shape shape = shape_of(held(input, user)), matrix = shape_of(held(weights, user));
    const std::size_t into = shape.channels * shape.height * shape.width;
    if (matrix.items != 1 || matrix.channels != 1 || matrix.height != into)
        refuse(std::string(user) + " multiplies " + std::to_string(into) +
               " numbers by a matrix of " + std::to_string(matrix.height) + " x " +
               std::to_string(matrix.width) + ".");
    return here.result("mul " + from + " " + weight, {shape.items, matrix.width, 1, 1});
}

inline void* normalized(void* input, std::initializer_list<void*> parts, double epsilon) {
    const char* user = "__hpvm__tensor_batchnorm";
    Recording& here = described(user);
    std::string line = "batchnorm " + here.name(input, false, user);
    const Shape shape = shape_of(held(input, user));
    for (void* part : parts) {
        line += " " + here.name(part, true, user);
        if (held(part, user).num_elems != shape.channels)
            refuse(std::string(user) + " has " + std::to_string(held(part, user).num_elems) +
                   " numbers for " + std::to_string(shape.channels) + " channels.");
    }
    char text[40];
    std::snprintf(text, sizeof text, " %.17g", epsilon);
    return here.result(line + text, shape);
}

}  // namespace hpvm_shim

using namespace hpvm_shim;  // the rest is C

extern "C" {

void __hpvm__hint(hpvm::Target) noexcept {}
void* __hpvm__node_id(int) noexcept { return nullptr; }

void __hpvm__bindIn(void* node, unsigned from, unsigned to, unsigned) noexcept {
    open_frame("__hpvm__bindIn").bound[{static_cast<Node*>(node), to}] = {nullptr, from};
}
void __hpvm__bindOut(void* node, unsigned from, unsigned to, unsigned) noexcept {
    open_frame("__hpvm__bindOut").outputs[to] = {static_cast<Node*>(node), from};
}
void* __hpvm__edge(void* source, void* target, unsigned, unsigned from, unsigned to,
                   unsigned) noexcept {
    open_frame("__hpvm__edge").bound[{static_cast<Node*>(target), to}] = {
        static_cast<Node*>(source), from};
    return target;
}

void* __hpvm__tensor_add(void* first, void* second) noexcept { return sum(first, second); }
void* __hpvm__tensor_mul(void* input, void* weights) noexcept { return product(input, weights); }
void* __hpvm__tensor_convolution(void* input, void* filter, int vertical, int horizontal, int down,
                                 int right) noexcept {
    return convolution(__func__, "conv", input, filter, vertical, horizontal, down, right, 1);
}
void* __hpvm__tensor_group_convolution(void* input, void* filter, int vertical, int horizontal,
                                       int down, int right, int, int groups) noexcept {
    return convolution(__func__, "group_conv", input, filter, vertical, horizontal, down, right,
                       groups);
}
void* __hpvm__tensor_batchnorm(void* input, void* gamma, void* beta, void* mean, void* variance,
                               double epsilon) noexcept {
    return normalized(input, {gamma, beta, mean, variance}, epsilon);
}
void* __hpvm__tensor_pool_max(void* input, int h, int w, int v, int z, int d, int r) noexcept {
    return pool(__func__, "pool_max", input, h, w, v, z, d, r);
}
void* __hpvm__tensor_pool_mean(void* input, int h, int w, int v, int z, int d, int r) noexcept {
    return pool(__func__, "pool_mean", input, h, w, v, z, d, r);
}
void* __hpvm__tensor_relu(void* input) noexcept { return same(__func__, "relu", input); }
void* __hpvm__tensor_tanh(void* input) noexcept { return same(__func__, "tanh", input); }
void* __hpvm__tensor_softmax(void* input) noexcept { return same(__func__, "softmax", input); }
}
