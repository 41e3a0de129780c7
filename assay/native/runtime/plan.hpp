// Where each value lies: an offset in one arena, shared by values that do not live together.
#pragma once

#include <algorithm>

#include "layout.hpp"
#include "network.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// A reshape that changes nothing in memory, or only what a dense layer's weights can make good.
inline bool flattens_for_dense(const Network& net, Value value) {
    const Layer& layer = net.at(value);
    if (layer.kind != Kind::reshape || layer.shape.size() != 1 || net.is_result(value))
        return false;
    if (net.at(layer.inputs[0]).shape.size() != 3) return false;
    for (const Layer& reader : net.layers) {
        const bool reads = std::count(reader.inputs.begin(), reader.inputs.end(), value) > 0;
        if ((reads && reader.kind != Kind::dense) || reader.residual == value) return false;
    }
    return true;
}

inline bool is_alias(const Network& net, Value value) {
    const Layer& layer = net.at(value);
    if (layer.kind != Kind::reshape) return false;
    const bool same = lies_row_major(layer.shape) && lies_row_major(net.at(layer.inputs[0]).shape);
    return same || flattens_for_dense(net, value);
}

struct Plan {
    std::vector<Size> offsets;  // of each layer's value, in floats of one item
    Size size = 0;              // of the arena, in floats of one item
};

// Values in the order they are written, each at the lowest place that is free while it lives.
inline Plan plan(const Network& net) {
    const Size total = static_cast<Size>(net.layers.size());
    std::vector<Size> root(net.layers.size()), last(net.layers.size());
    for (Size i = 0; i < total; ++i) {
        const Layer& layer = net.at(static_cast<Value>(i));
        const auto here = static_cast<std::size_t>(i);
        const bool alias = is_alias(net, static_cast<Value>(i));
        root[here] = alias ? root[static_cast<std::size_t>(layer.inputs[0])] : i;
        last[static_cast<std::size_t>(root[here])] = i;
        for (Value input : layer.inputs)
            last[static_cast<std::size_t>(root[static_cast<std::size_t>(input)])] = i;
        if (layer.residual >= 0)
            last[static_cast<std::size_t>(root[static_cast<std::size_t>(layer.residual)])] = i;
    }
    for (Value result : net.results)
        last[static_cast<std::size_t>(root[static_cast<std::size_t>(result)])] = total;

    Plan result;
    struct Allocation {
        Size first, end, last;
    };
    std::vector<Allocation> allocations;  // by place
    for (Size i = 0; i < total; ++i) {
        const auto here = static_cast<std::size_t>(i);
        if (root[here] != i) {
            result.offsets.push_back(result.offsets[static_cast<std::size_t>(root[here])]);
            continue;
        }
        const Layer& layer = net.layers[here];
        const Size floats =
            layer.quantization.quantized ? (count(layer.shape) + 3) / 4 : count(layer.shape);
        const Size size = (floats + 15) / 16 * 16;
        allocations.erase(std::remove_if(allocations.begin(), allocations.end(),
                                         [i](const Allocation& each) { return each.last < i; }),
                          allocations.end());
        Size offset = 0;
        auto next = allocations.begin();
        for (; next != allocations.end() && next->first < offset + size; ++next) offset = next->end;
        allocations.insert(next, {offset, offset + size, last[here]});
        result.offsets.push_back(offset);
        result.size = std::max(result.size, offset + size);
    }
    return result;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
