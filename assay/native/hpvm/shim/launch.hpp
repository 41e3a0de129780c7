// Launches of a graph: the first records it and opens its model, which computes all of them.
#pragma once

#include <chrono>

#include "models.hpp"

namespace hpvm_shim {

struct Timing {
    bool on = false;
    std::vector<double> seconds;  // of each launch
};
inline Timing& timing() {
    static auto* current = new Timing;
    return *current;
}

// The graph of a root function, as of its last launch.
struct RootGraph {
    std::vector<std::pair<TensorImpl*, unsigned long>> constants;  // and the version that was read
    std::vector<std::size_t> data;                // index of each in the words of root
    std::vector<std::vector<std::size_t>> sizes;  // of an item of each
    std::vector<Shape> outputs;
    Words words, results;  // a result is a word, or the number of an output
    std::vector<int> is_output;
    Model model;
    std::string configuration;  // its digest
    bool recorded = false;

    bool matches(const Words& arguments) const {
        if (!recorded || arguments.size() != words.size() ||
            configuration != active_configuration().digest())
            return false;
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i] != words[i] && std::find(data.begin(), data.end(), i) == data.end())
                return false;
        for (const auto& [tensor, version] : constants)
            if (!tensors().count(static_cast<Tensor*>(tensor)) || tensor->version != version)
                return false;
        for (std::size_t i = 0; i < data.size(); ++i)
            if (item_sizes(arguments[data[i]]) != sizes[i]) return false;
        return true;
    }

    static std::vector<std::size_t> item_sizes(std::uintptr_t word) {
        const TensorImpl& tensor = lookup_tensor(reinterpret_cast<void*>(word), "__hpvm__launch");
        return {tensor.sizes.begin() + 1, tensor.sizes.end()};
    }

    void record(const Words& arguments, const Body& body) {
        Recording graph;
        recording() = &graph;
        const bool was_tracking = std::exchange(tracking(), false);
        results = run(body, arguments);
        recording() = nullptr;
        tracking() = was_tracking;
        words = arguments;
        record_outputs(graph);
        constants.clear(), data.clear(), sizes.clear();
        for (TensorImpl* each : graph.constants) constants.push_back({each, each->version});
        for (TensorImpl* each : graph.data) {
            const auto at = std::find(arguments.begin(), arguments.end(),
                                      word<void*>(static_cast<Tensor*>(each)));
            if (at == arguments.end())
                exit_with_error(
                    "A tensor that the graph reads as data is not an argument of its root.");
            data.push_back(static_cast<std::size_t>(at - arguments.begin()));
            sizes.push_back(item_sizes(*at));
        }
        if (data.empty() || outputs.empty())
            exit_with_error("The graph has no input or no output.");
        close(model);
        model = open_model(graph, static_cast<long>(batch_size(arguments)));
        configuration = active_configuration().digest();
        for (TensorImpl* each : graph.values) tensors().erase(static_cast<Tensor*>(each));
        recorded = true;
    }

    void record_outputs(Recording& graph) {
        outputs.clear(), is_output.clear();
        for (std::uintptr_t& each : results) {
            const auto entry = tensors().find(reinterpret_cast<void*>(each));
            const bool computed = entry != tensors().end() && entry->second->value >= 0;
            is_output.push_back(computed);
            if (!computed) continue;
            graph.text += "output v" + std::to_string(entry->second->value) + "\n";
            each = outputs.size();
            outputs.push_back(shape_of(*entry->second));
        }
    }

    std::size_t batch_size(const Words& arguments) const {
        return lookup_tensor(reinterpret_cast<void*>(arguments[data[0]]), "__hpvm__launch")
            .sizes[0];
    }

    void compute(const Words& arguments, void* into) {
        const std::size_t images = batch_size(arguments);
        std::vector<const float*> inputs;
        for (std::size_t i : data)
            inputs.push_back(
                lookup_tensor(reinterpret_cast<void*>(arguments[i]), "__hpvm__launch").data());
        std::vector<Tensor*> result_tensors;
        std::vector<float*> arrays;
        for (const Shape& each : outputs) {
            TensorImpl& tensor = allocate_tensor({images, each.channels, each.height, each.width});
            result_tensors.push_back(&tensor);
            arrays.push_back(tensor.data());
        }
        const auto start = std::chrono::steady_clock::now();
        if (model.step(model.engine, inputs.data(), 0, arrays.data(), static_cast<long>(images)))
            exit_with_error(model.error());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        timing().seconds.push_back(seconds.count());
        if (const std::string times = environment("ASSAY_TIMES"); !times.empty())
            std::ofstream(times, std::ios::app) << seconds.count() << '\n';
        Words returned = results;
        for (std::size_t i = 0; i < returned.size(); ++i)
            if (is_output[i]) returned[i] = word(result_tensors[returned[i]]);
        std::memcpy(into, returned.data(), returned.size() * sizeof returned[0]);
    }
};

void* launch(unsigned streaming, void* root, const Words& words, const Body& body, void* results) {
    if (streaming)
        exit_with_error("A graph is launched for streaming, but tensor graphs compute batches.");
    static auto* all = new std::map<void*, RootGraph>;
    RootGraph& here = (*all)[root];
    if (!here.matches(words)) here.record(words, body);
    here.compute(words, results);
    return root;
}

}  // namespace hpvm_shim
