// A graph that is launched: described once, then run by its model.
#pragma once

#include <chrono>

#include "models.hpp"

namespace hpvm_shim {

struct Timing {
    bool on = false;
    std::vector<double> seconds;  // of each launch
};
inline Timing& timing() {
    static auto* found = new Timing;
    return *found;
}

// One root function, as it was launched last.
struct Launched {
    std::vector<std::pair<Held*, unsigned long>> constants;  // and the version that was read
    std::vector<std::size_t> data;                           // which of root's words each is
    std::vector<std::vector<std::size_t>> sizes;             // of each, without the batch
    std::vector<Shape> outputs;
    Words words, results;  // results: a word of ours, or the number of an output
    std::vector<int> is_output;
    Model model;
    std::string configuration;  // its digest
    bool known = false;

    bool still(const Words& now) const {
        if (!known || now.size() != words.size() || configuration != by_configuration().digest())
            return false;
        for (std::size_t i = 0; i < now.size(); ++i)
            if (now[i] != words[i] && std::find(data.begin(), data.end(), i) == data.end())
                return false;
        for (const auto& [tensor, version] : constants)
            if (!tensors().count(static_cast<Tensor*>(tensor)) || tensor->version != version)
                return false;
        for (std::size_t i = 0; i < data.size(); ++i)
            if (item(now[data[i]]) != sizes[i]) return false;
        return true;
    }

    static std::vector<std::size_t> item(std::uintptr_t word) {
        const Held& tensor = held(reinterpret_cast<void*>(word), "__hpvm__launch");
        return {tensor.sizes.begin() + 1, tensor.sizes.end()};
    }

    void describe(const Words& given, const Body& body) {
        Recording graph;
        recording() = &graph;
        const bool tracked = std::exchange(tracking(), false);
        results = run(body, given);
        recording() = nullptr;
        tracking() = tracked;
        words = given;
        name_outputs(graph);
        constants.clear(), data.clear(), sizes.clear();
        for (Held* each : graph.constants) constants.push_back({each, each->version});
        for (Held* each : graph.data) {
            const auto at =
                std::find(given.begin(), given.end(), word<void*>(static_cast<Tensor*>(each)));
            if (at == given.end())
                refuse("A tensor that changes is not among what root is handed.");
            data.push_back(static_cast<std::size_t>(at - given.begin()));
            sizes.push_back(item(*at));
        }
        if (data.empty() || outputs.empty()) refuse("The graph has no input or no output.");
        close(model);
        model = opened(graph, static_cast<long>(batch(given)));
        configuration = by_configuration().digest();
        for (Held* each : graph.made) tensors().erase(static_cast<Tensor*>(each));
        known = true;
    }

    void name_outputs(Recording& graph) {
        outputs.clear(), is_output.clear();
        for (std::uintptr_t& each : results) {
            const auto found = tensors().find(reinterpret_cast<void*>(each));
            const bool computed = found != tensors().end() && found->second->value >= 0;
            is_output.push_back(computed);
            if (!computed) continue;
            graph.text += "output v" + std::to_string(found->second->value) + "\n";
            each = outputs.size();
            outputs.push_back(shape_of(*found->second));
        }
    }

    std::size_t batch(const Words& now) const {
        return held(reinterpret_cast<void*>(now[data[0]]), "__hpvm__launch").sizes[0];
    }

    void compute(const Words& now, void* into) {
        const std::size_t images = batch(now);
        std::vector<const float*> inputs;
        for (std::size_t place : data)
            inputs.push_back(held(reinterpret_cast<void*>(now[place]), "__hpvm__launch").data());
        std::vector<Tensor*> made;
        std::vector<float*> places;
        for (const Shape& each : outputs) {
            Held& tensor = make_filled({images, each.channels, each.height, each.width});
            made.push_back(&tensor);
            places.push_back(tensor.data());
        }
        const auto start = std::chrono::steady_clock::now();
        if (model.step(model.engine, inputs.data(), 0, places.data(), static_cast<long>(images)))
            refuse(model.mistake());
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        timing().seconds.push_back(taken.count());
        Words found = results;
        for (std::size_t i = 0; i < found.size(); ++i)
            if (is_output[i]) found[i] = word(made[found[i]]);
        std::memcpy(into, found.data(), found.size() * sizeof found[0]);
    }
};

void* launch(unsigned streaming, void* root, const Words& words, const Body& body, void* results) {
    if (streaming) refuse("A graph is launched for streaming, but tensor graphs take batches.");
    static auto* all = new std::map<void*, Launched>;
    Launched& here = (*all)[root];
    if (!here.still(words)) here.describe(words, body);
    here.compute(words, results);
    return root;
}

}  // namespace hpvm_shim
