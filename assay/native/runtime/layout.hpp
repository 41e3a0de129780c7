// How a value lies in memory: an image channels last, all else as its shape says.
#pragma once

#include <numeric>

#include "network.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Elements between neighbours along each axis of an item.
inline Shape strides_of(const Shape& shape) {
    Shape order(shape.size());  // axes from the outermost in memory to the innermost
    std::iota(order.begin(), order.end(), Size{0});
    if (shape.size() == 3) order = {1, 2, 0};
    Shape steps(shape.size());
    Size step = 1;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
        steps[static_cast<std::size_t>(*axis)] = step;
        step *= shape[static_cast<std::size_t>(*axis)];
    }
    return steps;
}

// Calls each(index along every axis) in row-major order.
template <typename Each>
void for_each_index(const Shape& shape, Each each) {
    Shape index(shape.size(), 0);
    for (Size i = 0, total = count(shape); i < total; ++i) {
        each(index);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

inline Size offset_of(const Shape& index, const Shape& steps) {
    return std::inner_product(index.begin(), index.end(), steps.begin(), Size{0});
}

// Channels are the innermost axis but where there are others: the same order in both layouts.
inline bool lies_row_major(const Shape& shape) {
    return shape.size() != 3 || shape[0] == 1 || shape[1] * shape[2] == 1;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
