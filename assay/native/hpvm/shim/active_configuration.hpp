// The configuration that a program runs with, and the items that calibrate it.
#pragma once

#include "../../runtime/configuration.hpp"
#include "intrinsics.hpp"

namespace hpvm_shim {

// Without one, graphs are computed exactly.
struct ActiveConfiguration {
    configuration::Configuration configuration;
    bool is_set = false;

    bool approximate() const { return is_set && !configuration.is_exact(); }
    std::string digest() const { return approximate() ? configuration.digest() : ""; }
    std::string name() const { return configuration.name + " of " + configuration.file; }
};
inline ActiveConfiguration& active_configuration() {
    static auto* current = new ActiveConfiguration;
    return *current;
}

inline void set_configuration(const char* path) {
    const auto [file, name] = configuration::split(path);
    try {
        active_configuration() = {configuration::read(find_file(file.c_str()), name), true};
    } catch (const configuration::Error& error) {
        exit_with_error(error.what());
    }
    const ActiveConfiguration& active = active_configuration();
    std::fprintf(stderr, "%s, for the %s: it runs on the CPU\n", active.name().c_str(),
                 active.configuration.device().c_str());
}

// Calibration data: ranges and corrections are computed from it.
struct Items {
    const float* data;
    std::size_t count;  // of floats
};
constexpr std::size_t max_items = 64, max_numbers = std::size_t{1} << 20;

inline std::size_t item_size(const TensorImpl& batch) { return batch.num_elems / batch.sizes[0]; }

// The tuning images, if the program reads a file of HPVM's name for them.
inline Items tune_items(std::size_t each) {
    const std::string ending = "tune_input.bin";
    for (const auto& [path, file] : mapped_files()) {
        const bool tune = path.size() >= ending.size() &&
                          path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
        if (tune && file.size >= each * sizeof(float) && file.size % (each * sizeof(float)) == 0)
            return {reinterpret_cast<const float*>(file.data), file.size / sizeof(float)};
    }
    return {nullptr, 0};
}

// Items of each input: of the tuning images, else of the launched batch.
inline std::vector<Items> calibration_items(const Recording& graph) {
    std::size_t numbers = 0;
    for (const TensorImpl* each : graph.data) numbers += item_size(*each);
    const std::size_t count = std::min(max_items, std::max<std::size_t>(1, max_numbers / numbers));
    if (graph.data.size() == 1)
        if (const Items tune = tune_items(numbers); tune.data)
            return {{tune.data, numbers * std::min(count, tune.count / numbers)}};
    std::vector<Items> result;
    for (TensorImpl* each : graph.data)
        result.push_back(
            {each->data(), item_size(*each) * std::min(count, graph.data[0]->sizes[0])});
    return result;
}

}  // namespace hpvm_shim
