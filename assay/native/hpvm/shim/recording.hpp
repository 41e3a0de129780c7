// A graph as root describes it: nodes, edges and what is bound; and its operations, found by
// calling each leaf once with tensors that stand for values.
#pragma once

#include <deque>

#include "tensors.hpp"

namespace hpvm_shim {

struct Shape {
    std::size_t items, channels, height, width;
};

inline Shape shape_of(const Held& tensor) {
    std::vector<std::size_t> sizes = tensor.sizes;
    sizes.resize(4, 1);
    return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

// What the launched graph computes, as text: a line for each tensor handed in and each operation.
struct Recording {
    std::string text = "hpvm-graph 1\n";
    std::vector<Held*> constants, data;  // in the order of their lines
    std::vector<Held*> made;             // stand for values, by number
    std::map<const Held*, std::string> names;

    std::string name(void* tensor, bool constant, const char* user) {
        Held& found = held(tensor, user);
        if (found.value >= 0) {
            if (constant) refuse(std::string(user) + " takes weights that are computed by a node.");
            return "v" + std::to_string(found.value);
        }
        const auto known = names.find(&found);
        const std::string kind = constant ? "const" : "data";
        if (known != names.end()) {
            if (known->second.compare(0, kind.size(), kind) != 0)
                refuse(std::string(user) + " takes a tensor that is weights in another place.");
            return known->second;
        }
        std::vector<Held*>& all = constant ? constants : data;
        const std::string name = kind + std::to_string(all.size());
        all.push_back(&found);
        names[&found] = name;
        const Shape shape = shape_of(found);
        text += name + (constant ? " " + std::to_string(shape.items) : "");  // a batch is free
        for (std::size_t size : {shape.channels, shape.height, shape.width})
            text += " " + std::to_string(size);
        text += "\n";
        return name;
    }

    void* result(const std::string& line, const Shape& shape) {
        Held& found = make({shape.items, shape.channels, shape.height, shape.width});
        found.value = static_cast<int>(made.size());
        text += "v" + std::to_string(found.value) + " = " + line + "\n";
        made.push_back(&found);
        return static_cast<Tensor*>(&found);
    }
};

inline Recording*& recording() {
    static Recording* found = nullptr;
    return found;
}

inline Recording& described(const char* intrinsic) {
    if (!recording()) refuse(std::string(intrinsic) + " was called outside of a node's function.");
    return *recording();
}

struct Node {
    std::size_t inputs;
    Body body;
    std::size_t number;
};

struct Bound {
    const Node* source;  // null: the graph's own input
    std::size_t from;
};

// One call of a function that describes nodes, or that is a leaf and returns something.
struct Frame {
    std::deque<Node> nodes;
    std::map<std::pair<const Node*, std::size_t>, Bound> bound;
    std::map<std::size_t, Bound> outputs;
    Words returned;
};

inline Frame*& frame() {
    static Frame* found = nullptr;
    return found;
}

inline Frame& open_frame(const char* user) {
    if (!frame()) refuse(std::string(user) + " was called outside of a graph that is launched.");
    return *frame();
}

Words run(const Body& body, const Words& arguments);

inline Words arguments_of(const Node& node, const Frame& here, const Words& given,
                          const std::map<const Node*, Words>& done) {
    Words found;
    for (std::size_t input = 0; input < node.inputs; ++input) {
        const std::string which =
            "Input " + std::to_string(input) + " of node " + std::to_string(node.number);
        const auto bound = here.bound.find({&node, input});
        if (bound == here.bound.end()) refuse(which + " is bound to nothing.");
        const Words& from = bound->second.source ? done.at(bound->second.source) : given;
        if (bound->second.from >= from.size())
            refuse(which + " is bound to output " + std::to_string(bound->second.from) + " of " +
                   std::to_string(from.size()) + ".");
        found.push_back(from[bound->second.from]);
    }
    return found;
}

inline bool ready(const Node& node, const Frame& here, const std::map<const Node*, Words>& done) {
    for (auto at = here.bound.lower_bound({&node, 0}); at != here.bound.end(); ++at) {
        if (at->first.first != &node) break;
        if (at->second.source && !done.count(at->second.source)) return false;
    }
    return true;
}

// Nodes in the order of the program, but never before what they read.
inline Words run_nodes(const Frame& here, const Words& given) {
    std::map<const Node*, Words> done;
    while (done.size() < here.nodes.size()) {
        const std::size_t before = done.size();
        for (const Node& node : here.nodes)
            if (!done.count(&node) && ready(node, here, done)) {
                Words results = run(node.body, arguments_of(node, here, given, done));
                done[&node] = std::move(results);
            }
        if (done.size() == before) refuse("The graph's edges lead in a circle.");
    }
    Words results;
    for (const auto& [to, bound] : here.outputs) {
        const Words& from = done.at(bound.source);
        if (to != results.size() || bound.from >= from.size())
            refuse("Output " + std::to_string(to) + " of the graph is bound to nothing.");
        results.push_back(from[bound.from]);
    }
    return results;
}

inline Words run(const Body& body, const Words& arguments) {
    Frame here;
    Frame* const before = frame();
    frame() = &here;
    body(arguments);
    frame() = before;
    return here.nodes.empty() ? here.returned : run_nodes(here, arguments);
}

void* create(unsigned dimensions, std::size_t inputs, Body body) {
    Frame& here = open_frame("__hpvm__createNodeND");
    if (dimensions != 0)
        refuse("A node is made with " + std::to_string(dimensions) +
               " dimensions, but tensor nodes have none.");
    here.nodes.push_back({inputs, std::move(body), here.nodes.size()});
    return &here.nodes.back();
}

void returned(Words words) { open_frame("__hpvm__return").returned = std::move(words); }

}  // namespace hpvm_shim
