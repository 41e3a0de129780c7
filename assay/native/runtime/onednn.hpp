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
struct Slice {
    Geometry g;
    Size input, output, filter;  // where it begins
};

inline Slice rows_of(const Geometry& g, Range rows) {
    const Size reach = (g.window[0] - 1) * g.dilations[0] + 1;
    const Size first = rows.first * g.strides[0] - g.pads[0];
    const Size last = (rows.last - 1) * g.strides[0] - g.pads[0] + reach;
    Slice made{g, std::max<Size>(0, first) * g.width * g.channels, rows.first * g.wide * g.filters,
               0};
    made.g.pads[0] = std::max<Size>(0, -first);
    made.g.pads[2] = std::max<Size>(0, last - g.height);
    made.g.height = std::min(g.height, last) - std::max<Size>(0, first);
    made.g.high = rows.last - rows.first;
    return made;
}

inline Slice slice(const Geometry& g, const Part& part) {
    Slice made{g, 0, 0, 0};
    if (g.images > 1) {
        const Range images = share(g.images, part);
        made.g.images = images.last - images.first;
        made.input = images.first * g.height * g.width * g.channels;
        made.output = images.first * g.high * g.wide * g.filters;
        return made;
    }
    if (g.high > 1) return rows_of(g, share(g.high, part));
    const Range filters = share(g.filters, part);
    made.g.filters = filters.last - filters.first;
    made.filter = made.output = filters.first;
    return made;
}

// As many as are asked for, or one: the whole, where it cannot be cut so.
inline std::vector<Slice> slices(const Geometry& g, int parts) {
    const bool line = g.images == 1 && g.high == 1;
    const bool whole = line && (g.wide > 1 || g.groups > 1);
    const Size most = g.images > 1 ? g.images : g.high > 1 ? g.high : g.filters / 64;
    parts = whole ? 1 : static_cast<int>(std::min<Size>(parts, most));
    std::vector<Slice> found;
    for (int i = 0; i < parts && parts > 1; ++i) found.push_back(slice(g, {i, parts, nullptr}));
    const auto only_padding = [](const Slice& each) { return each.g.height < 1; };
    if (found.empty() || std::any_of(found.begin(), found.end(), only_padding))
        return {{g, 0, 0, 0}};
    return found;
}

class Onednn : public Step {
  public:
    // `key` names the weights among the constants.
    Onednn(const Geometry& g, const float* weight, const std::string& key, Constants& constants,
           Epilogue after, const float* input, float* output, int parts)
        : key_(key), constants_(constants), after_(std::move(after)) {
        // oneDNN's relu makes 0 of what is no number.
        if (after_.relu) after_.rest.insert(after_.rest.begin(), Post{});
        after_.relu = false;
        for (; !after_.rest.empty() && after_.rest.front().function == Function::tanh; ++tanhs_)
            after_.rest.erase(after_.rest.begin());
        omp_set_num_threads(1);  // oneDNN prepares for as many as this says
        for (const Slice& slice : slices(g, parts)) add(slice, weight, input, output);
    }

    const char* name() const override { return "onednn"; }
    Size most_parts() const override { return static_cast<Size>(pieces_.size()); }

    void run(const Part& part) override {
        omp_set_num_threads(1);  // parts are shared out by our team, not by oneDNN's
        Piece& piece = pieces_[static_cast<std::size_t>(part.number)];
        piece.primitive.execute(piece.stream, piece.arguments);
        if (!after_.rest.empty()) apply(after_.rest, piece.output, piece.residual, piece.size);
    }

  private:
    using Memory = dnnl::memory;
    using Description = dnnl::memory::desc;
    using Tag = dnnl::memory::format_tag;
    using Convolution = dnnl::convolution_forward;

    struct Piece {
        dnnl::stream stream;
        dnnl::primitive primitive;
        std::unordered_map<int, Memory> arguments;
        float* output;
        const float* residual;
        Size size;
    };

    struct Reordered {
        Buffer<char> room;
        Memory memory;
    };

    static constexpr auto numbers = dnnl::memory::data_type::f32;

    static Description inputs(const Geometry& g) {
        return {{g.images, g.channels, g.height, g.width}, numbers, Tag::nhwc};
    }
    static Description outputs(const Geometry& g) {
        return {{g.images, g.filters, g.high, g.wide}, numbers, Tag::nhwc};
    }
    static Description weights(const Geometry& g, bool any) {
        if (g.groups == 1)
            return {{g.filters, g.channels, g.window[0], g.window[1]},
                    numbers,
                    any ? Tag::any : Tag::oihw};
        return {{g.groups, g.filters / g.groups, g.channels / g.groups, g.window[0], g.window[1]},
                numbers,
                any ? Tag::any : Tag::goihw};
    }
    static Memory over(const Description& description, const float* data) {
        return Memory(description, onednn_engine(), const_cast<float*>(data));
    }

    void add(const Slice& slice, const float* weight, const float* input, float* output) {
        const Geometry& g = slice.g;
        const float* bias = after_.bias ? after_.bias + slice.filter : nullptr;
        const float* residual = after_.residual ? after_.residual + slice.output : nullptr;
        const Description biases = bias ? Description({g.filters}, numbers, Tag::x) : Description();
        const Convolution::primitive_desc chosen(
            onednn_engine(), dnnl::prop_kind::forward_inference,
            dnnl::algorithm::convolution_direct, inputs(g), weights(g, true), biases, outputs(g),
            {g.strides[0], g.strides[1]}, {g.dilations[0] - 1, g.dilations[1] - 1},
            {g.pads[0], g.pads[1]}, {g.pads[2], g.pads[3]}, attributes(g));
        Piece made{dnnl::stream(onednn_engine()),
                   Convolution(chosen),
                   {},
                   output + slice.output,
                   residual,
                   g.images * g.high * g.wide * g.filters};
        made.arguments[DNNL_ARG_SRC] = over(inputs(g), input + slice.input);
        made.arguments[DNNL_ARG_DST] = over(outputs(g), made.output);
        made.arguments[DNNL_ARG_SCRATCHPAD] = Memory(chosen.scratchpad_desc(), onednn_engine());
        made.arguments[DNNL_ARG_WEIGHTS] =
            reordered(chosen.weights_desc(), weight, slice, made.stream);
        if (bias) made.arguments[DNNL_ARG_BIAS] = over(biases, bias);
        if (after_.adds)
            made.arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
                over(outputs(g), residual);
        pieces_.push_back(std::move(made));
    }

    dnnl::primitive_attr attributes(const Geometry& g) const {
        dnnl::post_ops posts;
        if (after_.adds) posts.append_binary(dnnl::algorithm::binary_add, outputs(g));
        for (int i = 0; i < tanhs_; ++i) posts.append_eltwise(dnnl::algorithm::eltwise_tanh, 0, 0);
        dnnl::primitive_attr made;
        made.set_post_ops(posts);
        made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return made;
    }

    // The slice's weights as a primitive wants them: one copy for all who want them so, whatever
    // their thread, batch or part.
    Memory reordered(const Description& wanted, const float* weight, const Slice& slice,
                     dnnl::stream& stream) {
        const auto made = constants_.get<Reordered>(
            key_ + " onednn " + std::to_string(slice.filter) + text_of(wanted), [&] {
                const Geometry& g = slice.g;
                Memory plain = over(weights(g, false),
                                    weight + slice.filter * g.channels * g.window[0] * g.window[1]);
                Buffer<char> room(static_cast<Size>(wanted.get_size()));
                Memory fresh(wanted, onednn_engine(), room.data());
                dnnl::reorder(plain, fresh).execute(stream, plain, fresh);
                stream.wait();
                return Reordered{room, fresh};
            });
        holds.push_back(made);
        return made->memory;
    }

    // All that tells one order of the same weights from another.
    static std::string text_of(const Description& description) {
        std::string found;
        for (const auto& part :
             {description.get_dims(), description.get_padded_dims(), description.get_strides(),
              description.get_inner_blks(), description.get_inner_idxs()}) {
            found += " |";
            for (auto number : part) found += " " + std::to_string(number);
        }
        return found;
    }

    std::string key_;
    Constants& constants_;
    Epilogue after_;
    int tanhs_ = 0;  // of the functions after, those that the primitives do
    std::vector<Piece> pieces_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
