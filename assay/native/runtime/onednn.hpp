// Convolutions and dense layers by oneDNN, over the same channels-last memory as our own.
#pragma once

#include <dnnl.hpp>
#include <unordered_map>

#include "constants.hpp"

// Of the OpenMP library that oneDNN was built with, whichever compiler this is: its header may not
// be there, and another compiler's library would be another one's threads.
extern "C" void omp_set_num_threads(int);

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

inline dnnl::engine& onednn_engine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

// A part of a layer that is a smaller layer: its sums lie together in memory, and so does what it
// reads, but for a few rows that neighbours read too.
struct LayerSlice {
    Geometry g;
    Size input, output, filter;  // where it begins
};

inline LayerSlice slice_rows(const Geometry& g, Range rows) {
    const Size reach = (g.window[0] - 1) * g.dilations[0] + 1;
    const Size first = rows.first * g.strides[0] - g.pads[0];
    const Size last = (rows.last - 1) * g.strides[0] - g.pads[0] + reach;
    LayerSlice result{g, std::max<Size>(0, first) * g.width * g.channels,
                      rows.first * g.wide * g.filters, 0};
    result.g.pads[0] = std::max<Size>(0, -first);
    result.g.pads[2] = std::max<Size>(0, last - g.height);
    result.g.height = std::min(g.height, last) - std::max<Size>(0, first);
    result.g.high = rows.last - rows.first;
    return result;
}

inline LayerSlice slice(const Geometry& g, const Part& part) {
    LayerSlice result{g, 0, 0, 0};
    if (g.images > 1) {
        const Range images = partition(g.images, part);
        result.g.images = images.last - images.first;
        result.input = images.first * g.height * g.width * g.channels;
        result.output = images.first * g.high * g.wide * g.filters;
        return result;
    }
    if (g.high > 1) return slice_rows(g, partition(g.high, part));
    const Range filters = partition(g.filters, part);
    result.g.filters = filters.last - filters.first;
    result.filter = result.output = filters.first;
    return result;
}

// As many as are asked for, or one: the whole, where it cannot be cut so.
inline std::vector<LayerSlice> slices(const Geometry& g, int parts) {
    const bool line = g.images == 1 && g.high == 1;
    const bool is_undivided = line && (g.wide > 1 || g.groups > 1);
    const Size max_parts = g.images > 1 ? g.images : g.high > 1 ? g.high : g.filters / 64;
    parts = is_undivided ? 1 : static_cast<int>(std::min<Size>(parts, max_parts));
    std::vector<LayerSlice> result;
    for (int i = 0; i < parts && parts > 1; ++i) result.push_back(slice(g, {i, parts, nullptr}));
    const auto is_only_padding = [](const LayerSlice& each) { return each.g.height < 1; };
    if (result.empty() || std::any_of(result.begin(), result.end(), is_only_padding))
        return {{g, 0, 0, 0}};
    return result;
}

class Onednn : public Step {
  public:
    // `key` names the weights among the constants.
    Onednn(const Geometry& g, const float* weight, const std::string& key, Constants& constants,
           Epilogue after, const float* input, float* output, int parts)
        : key_(key), constants_(constants), after_(std::move(after)) {
        // oneDNN's relu makes 0 of what is no number.
        if (after_.relu) after_.post_ops.insert(after_.post_ops.begin(), PostOp{});
        after_.relu = false;
        for (; !after_.post_ops.empty() && after_.post_ops.front().function == Function::tanh;
             ++tanh_count_)
            after_.post_ops.erase(after_.post_ops.begin());
        omp_set_num_threads(1);  // oneDNN prepares for as many as this says
        for (const LayerSlice& slice : slices(g, parts)) add(slice, weight, input, output);
    }

    const char* name() const override { return "onednn"; }
    Size max_parts() const override { return static_cast<Size>(primitives_.size()); }

    void run(const Part& part) override {
        omp_set_num_threads(1);  // the thread pool distributes the slices, not oneDNN
        SlicePrimitive& primitive = primitives_[static_cast<std::size_t>(part.number)];
        primitive.primitive.execute(primitive.stream, primitive.arguments);
        if (!after_.post_ops.empty())
            apply(after_.post_ops, primitive.output, primitive.residual, primitive.size);
    }

  private:
    using Memory = dnnl::memory;
    using Description = dnnl::memory::desc;
    using Tag = dnnl::memory::format_tag;
    using Convolution = dnnl::convolution_forward;

    struct SlicePrimitive {
        dnnl::stream stream;
        dnnl::primitive primitive;
        std::unordered_map<int, Memory> arguments;
        float* output;
        const float* residual;
        Size size;
    };

    struct ReorderedWeights {
        Buffer<char> buffer;
        Memory memory;
    };

    static constexpr auto float32 = dnnl::memory::data_type::f32;

    static Description inputs(const Geometry& g) {
        return {{g.images, g.channels, g.height, g.width}, float32, Tag::nhwc};
    }
    static Description outputs(const Geometry& g) {
        return {{g.images, g.filters, g.high, g.wide}, float32, Tag::nhwc};
    }
    static Description weights(const Geometry& g, bool any) {
        if (g.groups == 1)
            return {{g.filters, g.channels, g.window[0], g.window[1]},
                    float32,
                    any ? Tag::any : Tag::oihw};
        return {{g.groups, g.filters / g.groups, g.channels / g.groups, g.window[0], g.window[1]},
                float32,
                any ? Tag::any : Tag::goihw};
    }
    static Memory wrap(const Description& description, const float* data) {
        return Memory(description, onednn_engine(), const_cast<float*>(data));
    }

    void add(const LayerSlice& slice, const float* weight, const float* input, float* output) {
        const Geometry& g = slice.g;
        const float* bias = after_.bias ? after_.bias + slice.filter : nullptr;
        const float* residual = after_.residual ? after_.residual + slice.output : nullptr;
        const Description biases = bias ? Description({g.filters}, float32, Tag::x) : Description();
        const Convolution::primitive_desc description(
            onednn_engine(), dnnl::prop_kind::forward_inference,
            dnnl::algorithm::convolution_direct, inputs(g), weights(g, true), biases, outputs(g),
            {g.strides[0], g.strides[1]}, {g.dilations[0] - 1, g.dilations[1] - 1},
            {g.pads[0], g.pads[1]}, {g.pads[2], g.pads[3]}, attributes(g));
        SlicePrimitive result{dnnl::stream(onednn_engine()),
                              Convolution(description),
                              {},
                              output + slice.output,
                              residual,
                              g.images * g.high * g.wide * g.filters};
        result.arguments[DNNL_ARG_SRC] = wrap(inputs(g), input + slice.input);
        result.arguments[DNNL_ARG_DST] = wrap(outputs(g), result.output);
        result.arguments[DNNL_ARG_SCRATCHPAD] =
            Memory(description.scratchpad_desc(), onednn_engine());
        result.arguments[DNNL_ARG_WEIGHTS] =
            reorder_weights(description.weights_desc(), weight, slice, result.stream);
        if (bias) result.arguments[DNNL_ARG_BIAS] = wrap(biases, bias);
        if (after_.adds_residual)
            result.arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
                wrap(outputs(g), residual);
        primitives_.push_back(std::move(result));
    }

    dnnl::primitive_attr attributes(const Geometry& g) const {
        dnnl::post_ops post_ops;
        if (after_.adds_residual) post_ops.append_binary(dnnl::algorithm::binary_add, outputs(g));
        for (int i = 0; i < tanh_count_; ++i)
            post_ops.append_eltwise(dnnl::algorithm::eltwise_tanh, 0, 0);
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(post_ops);
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return attributes;
    }

    // The slice's weights as a primitive wants them: one copy for all who want them so, whatever
    // their thread, batch or part.
    Memory reorder_weights(const Description& wanted, const float* weight, const LayerSlice& slice,
                           dnnl::stream& stream) {
        const auto reordered = constants_.get<ReorderedWeights>(
            key_ + " onednn " + std::to_string(slice.filter) + layout_text(wanted), [&] {
                const Geometry& g = slice.g;
                Memory plain = wrap(weights(g, false),
                                    weight + slice.filter * g.channels * g.window[0] * g.window[1]);
                Buffer<char> buffer(static_cast<Size>(wanted.get_size()));
                Memory fresh(wanted, onednn_engine(), buffer.data());
                dnnl::reorder(plain, fresh).execute(stream, plain, fresh);
                stream.wait();
                return ReorderedWeights{buffer, fresh};
            });
        kept_constants.push_back(reordered);
        return reordered->memory;
    }

    // All that tells one order of the same weights from another.
    static std::string layout_text(const Description& description) {
        std::string result;
        for (const auto& part :
             {description.get_dims(), description.get_padded_dims(), description.get_strides(),
              description.get_inner_blks(), description.get_inner_idxs()}) {
            result += " |";
            for (auto number : part) result += " " + std::to_string(number);
        }
        return result;
    }

    std::string key_;
    Constants& constants_;
    Epilogue after_;
    int tanh_count_ = 0;  // of the functions after, those that the primitives do
    std::vector<SlicePrimitive> primitives_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
