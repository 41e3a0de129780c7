// Records a graph: its nodes, edges and bindings as the root function declares them, and its
// operations by calling each leaf function once with symbolic tensors.
#pragma once

#include <deque>

#include "tensors.hpp"

namespace hpvm_shim {

struct Shape {
    std::size_t items, channels, height, width;
};

inline Shape shape_of(const TensorImpl& tensor) {
    std::vector<std::size_t> sizes = tensor.sizes;
    sizes.resize(4, 1);
    return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

// The operations of a launched graph as text: a line for each input tensor and each operation.
struct Recording {
    std::string text = "hpvm-graph 1\n";
    std::vector<TensorImpl*> constants, data;  // in the order of their lines
    std::vector<TensorImpl*> values;           // symbolic tensors, by number
    std::map<const TensorImpl*, std::string> names;

    std::string name(void* tensor, bool constant, const char* user) {
        TensorImpl& impl = lookup_tensor(tensor, user);
        if (impl.value >= 0) {
            if (constant)
                exit_with_error(
                    std::string(user) +
                    " has weights that a node computes; they have to be inputs of the graph.");
            return "v" + std::to_string(impl.value);
        }
        const auto entry = names.find(&impl);
        const std::string kind = constant ? "const" : "data";
        if (entry != names.end()) {
            if (entry->second.compare(0, kind.size(), kind) != 0)
                exit_with_error(std::string(user) +
                                " uses a tensor as weights and as data; it has to be one of them.");
            return entry->second;
        }
        std::vector<TensorImpl*>& all = constant ? constants : data;
        const std::string name = kind + std::to_string(all.size());
        all.push_back(&impl);
        names[&impl] = name;
        const Shape shape = shape_of(impl);
        text += name + (constant ? " " + std::to_string(shape.items)
                                 : "");  // the batch size is not recorded
        for (std::size_t size : {shape.channels, shape.height, shape.width})
            text += " " + std::to_string(size);
        text += "\n";
        return name;
    }

    void* result(const std::string& line, const Shape& shape) {
        TensorImpl& impl = create_tensor({shape.items, shape.channels, shape.height, shape.width});
        impl.value = static_cast<int>(values.size());
        text += "v" + std::to_string(impl.value) + " = " + line + "\n";
        values.push_back(&impl);
        return static_cast<Tensor*>(&impl);
    }
};

inline Recording*& recording() {
    static Recording* current = nullptr;
    return current;
}

inline Recording& active_recording(const char* intrinsic) {
    if (!recording())
        exit_with_error(std::string(intrinsic) + " was called outside of a node's function.");
    return *recording();
}

struct Node {
    std::size_t inputs;
    Body body;
    std::size_t number;
};

struct Binding {
    const Node* source;  // null: the graph's own input
    std::size_t from;
};

// A call of a function that declares nodes, or of a leaf function, which returns values.
struct Frame {
    std::deque<Node> nodes;
    std::map<std::pair<const Node*, std::size_t>, Binding> bindings;
    std::map<std::size_t, Binding> outputs;
    Words results;
};

inline Frame*& frame() {
    static Frame* current = nullptr;
    return current;
}

inline Frame& active_frame(const char* user) {
    if (!frame()) exit_with_error(std::string(user) + " was called outside of a launched graph.");
    return *frame();
}

Words run(const Body& body, const Words& arguments);

inline Words node_arguments(const Node& node, const Frame& here, const Words& inputs,
                            const std::map<const Node*, Words>& done) {
    Words arguments;
    for (std::size_t input = 0; input < node.inputs; ++input) {
        const std::string name =
            "Input " + std::to_string(input) + " of node " + std::to_string(node.number);
        const auto entry = here.bindings.find({&node, input});
        if (entry == here.bindings.end()) exit_with_error(name + " is not bound.");
        const Words& from = entry->second.source ? done.at(entry->second.source) : inputs;
        if (entry->second.from >= from.size())
            exit_with_error(name + " is bound to output " + std::to_string(entry->second.from) +
                            " of " + std::to_string(from.size()) + ".");
        arguments.push_back(from[entry->second.from]);
    }
    return arguments;
}

inline bool is_ready(const Node& node, const Frame& here,
                     const std::map<const Node*, Words>& done) {
    for (auto at = here.bindings.lower_bound({&node, 0}); at != here.bindings.end(); ++at) {
        if (at->first.first != &node) break;
        if (at->second.source && !done.count(at->second.source)) return false;
    }
    return true;
}

// Runs the nodes in program order, except that each runs after those it reads.
inline Words run_nodes(const Frame& here, const Words& inputs) {
    std::map<const Node*, Words> done;
    while (done.size() < here.nodes.size()) {
        const std::size_t before = done.size();
        for (const Node& node : here.nodes)
            if (!done.count(&node) && is_ready(node, here, done)) {
                Words results = run(node.body, node_arguments(node, here, inputs, done));
                done[&node] = std::move(results);
            }
        if (done.size() == before) exit_with_error("The graph has a cycle.");
    }
    Words results;
    for (const auto& [to, binding] : here.outputs) {
        const Words& from = done.at(binding.source);
        if (to != results.size() || binding.from >= from.size())
            exit_with_error("Output " + std::to_string(to) + " of the graph is not bound.");
        results.push_back(from[binding.from]);
    }
    return results;
}

inline Words run(const Body& body, const Words& arguments) {
    Frame here;
    Frame* const before = frame();
    frame() = &here;
    body(arguments);
    frame() = before;
    return here.nodes.empty() ? here.results : run_nodes(here, arguments);
}

void* create_node(unsigned dimensions, std::size_t inputs, Body body) {
    Frame& here = active_frame("__hpvm__createNodeND");
    if (dimensions != 0)
        exit_with_error("A node has " + std::to_string(dimensions) +
                        " dimensions, but tensor nodes have 0.");
    here.nodes.push_back({inputs, std::move(body), here.nodes.size()});
    return &here.nodes.back();
}

void set_results(Words words) { active_frame("__hpvm__return").results = std::move(words); }

}  // namespace hpvm_shim
