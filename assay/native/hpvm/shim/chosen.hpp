// The configuration that a program was told to compute by, and the items that its ranges come from.
#pragma once

#include "../../runtime/configuration.hpp"
#include "intrinsics.hpp"

namespace hpvm_shim {

// What a graph is launched by; the exact one needs nothing said.
struct ByConfiguration {
    configuration::Configuration chosen;
    bool given = false;

    bool approximate() const { return given && !chosen.is_exact(); }
    std::string digest() const { return approximate() ? chosen.digest() : ""; }
    std::string name() const { return chosen.name + " of " + chosen.file; }
};
inline ByConfiguration& by_configuration() {
    static auto* found = new ByConfiguration;
    return *found;
}

inline void choose(const char* path) {
    const auto [file, name] = configuration::split(path);
    try {
        by_configuration() = {configuration::read(place_of(file.c_str()), name), true};
    } catch (const configuration::Error& wrong) {
        refuse(wrong.what());
    }
    const ByConfiguration& now = by_configuration();
    std::fprintf(stderr, "%s, for the %s: it runs on the CPU\n", now.name().c_str(),
                 now.chosen.device().c_str());
}

// Numbers that a configuration's ranges and corrections are found from.
struct Items {
    const float* data;
    std::size_t count;  // of floats
};
constexpr std::size_t most_items = 64, most_numbers = std::size_t{1} << 20;

inline std::size_t item_size(const Held& batch) { return batch.num_elems / batch.sizes[0]; }

// The pictures to tune by, where a program has named such a file as HPVM's do.
inline Items tune_items(std::size_t each) {
    const std::string ending = "tune_input.bin";
    for (const auto& [place, file] : mapped_files()) {
        const bool tune = place.size() >= ending.size() &&
                          place.compare(place.size() - ending.size(), ending.size(), ending) == 0;
        if (tune && file.size >= each * sizeof(float) && file.size % (each * sizeof(float)) == 0)
            return {reinterpret_cast<const float*>(file.data), file.size / sizeof(float)};
    }
    return {nullptr, 0};
}

// As many of each input: of the pictures to tune by, or else of the batch that is launched.
inline std::vector<Items> items_of(const Recording& graph) {
    std::size_t all = 0;
    for (const Held* each : graph.data) all += item_size(*each);
    const std::size_t wanted = std::min(most_items, std::max<std::size_t>(1, most_numbers / all));
    if (graph.data.size() == 1)
        if (const Items tune = tune_items(all); tune.data)
            return {{tune.data, all * std::min(wanted, tune.count / all)}};
    std::vector<Items> found;
    for (Held* each : graph.data)
        found.push_back(
            {each->data(), item_size(*each) * std::min(wanted, graph.data[0]->sizes[0])});
    return found;
}

}  // namespace hpvm_shim
