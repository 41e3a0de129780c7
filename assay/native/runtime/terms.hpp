// The weights of a layer in the order a gathered tile reads them, without the terms that no filter
// has: what filter sampling leaves out is neither stored nor multiplied.
#pragma once

#include <map>
#include <numeric>

#include "gather.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

template <typename Weight>
struct Terms {
    Buffer<Weight> weights;     // block of filters, unit, lane, number of the unit
    std::vector<Run> runs;      // offsets in an input whose pixels have the channels of `order`
    std::vector<Size> order;    // of channels, those without a term left out; empty: as they are
    std::vector<float> totals;  // of each filter's weights
    Size units = 0;
};

// Channels that are used, those with the same terms side by side; empty where that changes nothing.
inline std::vector<Size> channel_order(const Geometry& g, const float* weight) {
    const Size taps = g.window[0] * g.window[1];
    std::map<std::vector<bool>, std::vector<Size>> alike;
    for (Size c = 0; c < g.channels; ++c) {
        std::vector<bool> used(static_cast<std::size_t>(taps));
        for (Size filter = 0; filter < g.filters; ++filter)
            for (Size tap = 0; tap < taps; ++tap)
                if (weight[(filter * g.channels + c) * taps + tap] != 0)
                    used[static_cast<std::size_t>(tap)] = true;
        alike[used].push_back(c);
    }
    if (alike.size() == 1) return {};
    std::vector<Size> order;
    for (const auto& [used, channels] : alike)
        if (std::find(used.begin(), used.end(), true) != used.end())
            order.insert(order.end(), channels.begin(), channels.end());
    return order;
}

// `row`: from a row of the padded input to the next, in numbers, for `order.size()` channels.
template <typename In, typename Weight>
Terms<Weight> terms(const Geometry& g, const float* weight, int columns, bool in_order) {
    constexpr Size unit = Numbers<In>::unit;
    Terms<Weight> made;
    if (!in_order) made.order = channel_order(g, weight);
    std::vector<Size> order = made.order;
    if (order.empty()) {
        order.resize(static_cast<std::size_t>(g.channels));
        std::iota(order.begin(), order.end(), Size{0});
    }
    const Size channels = static_cast<Size>(order.size()), taps = g.window[0] * g.window[1];
    const Size row = (g.width + g.pads[1] + g.pads[3]) * channels;
    const bool joined = g.dilations[1] == 1;  // a row of the window lies side by side
    const Size lines = joined ? 1 : g.window[1],
               length = joined ? g.window[1] * channels : channels;
    // The weight at a number of a line, or null where a unit is longer than its line.
    const auto at = [&](Size filter, Size y, Size line, Size number) -> const float* {
        if (number >= length) return nullptr;
        const Size x = joined ? number / channels : line;
        const Size c = order[static_cast<std::size_t>(number % channels)];
        return weight + (filter * g.channels + c) * taps + y * g.window[1] + x;
    };
    const auto used = [&](Size y, Size line, Size first) {
        for (Size filter = 0; filter < g.filters; ++filter)
            for (Size i = first; i < first + unit; ++i)
                if (const float* found = at(filter, y, line, i); found && *found != 0) return true;
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
                const bool here = used(y, line, first);
                const Size offset =
                    y * g.dilations[0] * row + line * g.dilations[1] * channels + first;
                if (here && !open) made.runs.push_back({offset, 0});
                if (here) ++made.runs.back().units, places.push_back({y, line, first});
                open = here;
            }
        }
    made.units = static_cast<Size>(places.size());
    const Size block = columns * lanes, blocks = (g.filters + block - 1) / block;
    made.weights = Buffer<Weight>(blocks * made.units * block * unit);
    made.totals.assign(static_cast<std::size_t>(blocks * block), 0.0f);
    for (Size filter = 0; filter < g.filters; ++filter) {
        double total = 0;
        Weight* to = made.weights.data() + filter / block * made.units * block * unit +
                     filter % block * unit;
        for (const Place& place : places) {
            for (Size i = 0; i < unit; ++i)
                if (const float* found = at(filter, place.y, place.line, place.first + i)) {
                    to[i] = static_cast<Weight>(*found);
                    total += *found;
                }
            to += block * unit;
        }
        made.totals[static_cast<std::size_t>(filter)] = static_cast<float>(total);
    }
    return made;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
