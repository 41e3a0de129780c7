// Weights packed for indirect tiles, without the terms that no filter has: what filter sampling
// skips is neither stored nor multiplied.
#pragma once

#include <map>
#include <numeric>

#include "indirect_tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

template <typename Weight>
struct SampledWeights {
    Buffer<Weight> weights;     // block of filters, unit, lane, number of the unit
    std::vector<Run> runs;      // offsets in an input whose pixels have the channels of `order`
    std::vector<Size> order;    // of channels, those without a term left out; empty: as they are
    std::vector<float> totals;  // of each filter's weights
    Size units = 0;
};

// Channels that are used, those with the same terms side by side; empty where that changes nothing.
inline std::vector<Size> channel_order(const Geometry& g, const float* weight) {
    const Size taps = g.window[0] * g.window[1];
    std::map<std::vector<bool>, std::vector<Size>> channels_by_taps;
    for (Size c = 0; c < g.channels; ++c) {
        std::vector<bool> used(static_cast<std::size_t>(taps));
        for (Size filter = 0; filter < g.filters; ++filter)
            for (Size tap = 0; tap < taps; ++tap)
                if (weight[(filter * g.channels + c) * taps + tap] != 0)
                    used[static_cast<std::size_t>(tap)] = true;
        channels_by_taps[used].push_back(c);
    }
    if (channels_by_taps.size() == 1) return {};
    std::vector<Size> order;
    for (const auto& [used, channels] : channels_by_taps)
        if (std::find(used.begin(), used.end(), true) != used.end())
            order.insert(order.end(), channels.begin(), channels.end());
    return order;
}

// `row`: from a row of the padded input to the next, in numbers, for `order.size()` channels.
template <typename In, typename Weight>
SampledWeights<Weight> pack_sampled_weights(const Geometry& g, const float* weight, int columns,
                                            bool in_order) {
    constexpr Size unit = ElementTraits<In>::unit;
    SampledWeights<Weight> result;
    if (!in_order) result.order = channel_order(g, weight);
    std::vector<Size> order = result.order;
    if (order.empty()) {
        order.resize(static_cast<std::size_t>(g.channels));
        std::iota(order.begin(), order.end(), Size{0});
    }
    const Size channels = static_cast<Size>(order.size()), taps = g.window[0] * g.window[1];
    const Size row = (g.width + g.pads[1] + g.pads[3]) * channels;
    const bool row_is_contiguous = g.dilations[1] == 1;  // a row of the window lies side by side
    const Size lines = row_is_contiguous ? 1 : g.window[1],
               length = row_is_contiguous ? g.window[1] * channels : channels;
    // The weight at a number of a line, or null where a unit is longer than its line.
    const auto find_weight = [&](Size filter, Size y, Size line, Size number) -> const float* {
        if (number >= length) return nullptr;
        const Size x = row_is_contiguous ? number / channels : line;
        const Size c = order[static_cast<std::size_t>(number % channels)];
        return weight + (filter * g.channels + c) * taps + y * g.window[1] + x;
    };
    const auto used = [&](Size y, Size line, Size first) {
        for (Size filter = 0; filter < g.filters; ++filter)
            for (Size i = first; i < first + unit; ++i)
                if (const float* weight_at = find_weight(filter, y, line, i);
                    weight_at && *weight_at != 0)
                    return true;
        return false;
    };
    struct Place {
        Size y, line, first;
    };
    std::vector<Place> places;
    for (Size y = 0; y < g.window[0]; ++y)
        for (Size line = 0; line < lines; ++line) {
            bool open = false;
            for (Size first = 0; first < length; first += unit) {
                const bool is_used = used(y, line, first);
                const Size offset =
                    y * g.dilations[0] * row + line * g.dilations[1] * channels + first;
                if (is_used && !open) result.runs.push_back({offset, 0});
                if (is_used) ++result.runs.back().units, places.push_back({y, line, first});
                open = is_used;
            }
        }
    result.units = static_cast<Size>(places.size());
    const Size block = columns * lanes, blocks = (g.filters + block - 1) / block;
    result.weights = Buffer<Weight>(blocks * result.units * block * unit);
    result.totals.assign(static_cast<std::size_t>(blocks * block), 0.0f);
    for (Size filter = 0; filter < g.filters; ++filter) {
        double total = 0;
        Weight* to = result.weights.data() + filter / block * result.units * block * unit +
                     filter % block * unit;
        for (const Place& place : places) {
            for (Size i = 0; i < unit; ++i)
                if (const float* weight_at =
                        find_weight(filter, place.y, place.line, place.first + i)) {
                    to[i] = static_cast<Weight>(*weight_at);
                    total += *weight_at;
                }
            to += block * unit;
        }
        result.totals[static_cast<std::size_t>(filter)] = static_cast<float>(total);
    }
    return result;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
