// Convolutions and dense layers by oneDNN, over the same channels-last memory as our own.
#pragma once

#include <dnnl.hpp>

#include <unordered_map>

#include "step.hpp"

namespace assay {

inline dnnl::engine& onednn_engine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}


class Onednn : public Step {
  public:
    using Memory = dnnl::memory;
    using Description = dnnl::memory::desc;
    using Tag = dnnl::memory::format_tag;

    Onednn(const Geometry& g, const float* weight, const Layer& layer, Epilogue after,
           const float* input, float* output)
        : g_(g), after_(std::move(after)), output_(output), stream_(onednn_engine()) {
        dnnl::post_ops posts;
        if (after_.adds) posts.append_binary(dnnl::algorithm::binary_add, image(g_.filters, true));
        if (after_.relu) posts.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
        while (!after_.rest.empty() && after_.rest.front().function == Function::tanh) {
            posts.append_eltwise(dnnl::algorithm::eltwise_tanh, 0, 0);
            after_.rest.erase(after_.rest.begin());
        }
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(posts);
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        prepare(attributes, layer, weight);
        arguments_[DNNL_ARG_SRC] = over(image(g_.channels, false), input);
        arguments_[DNNL_ARG_DST] = over(image(g_.filters, true), output);
        if (after_.bias) arguments_[DNNL_ARG_BIAS] = over(bias(), after_.bias);
        if (after_.adds)
            arguments_[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
                over(image(g_.filters, true), after_.residual);
    }

    const char* name() const override { return "onednn"; }
    bool alone() const override { return true; }  // it shares its work out by itself

    void run(const Worker&) override {
        primitive_.execute(stream_, arguments_);
        if (!after_.rest.empty())
            apply(after_.rest, output_, after_.residual, g_.images * g_.filters * g_.high * g_.wide);
    }

  private:
    static constexpr auto numbers = dnnl::memory::data_type::f32;

    Description image(Size channels, bool out) const {
        const Size high = out ? g_.high : g_.height, wide = out ? g_.wide : g_.width;
        return {{g_.images, channels, high, wide}, numbers, Tag::nhwc};
    }
    Description bias() const {
        return after_.bias ? Description({g_.filters}, numbers, Tag::x) : Description();
    }
    static Memory over(const Description& description, const float* data) {
        return Memory(description, onednn_engine(), const_cast<float*>(data));
    }

    // A dense layer is a convolution of images of one pixel.
    void prepare(const dnnl::primitive_attr& attributes, const Layer& layer, const float* weight) {
        Memory::dims shape{g_.filters, g_.channels / g_.groups, g_.window[0], g_.window[1]};
        Tag tag = Tag::oihw;
        if (g_.groups > 1) {
            shape = {g_.groups, g_.filters / g_.groups, g_.channels / g_.groups, g_.window[0],
                     g_.window[1]};
            tag = Tag::goihw;
        }
        const dnnl::convolution_forward::primitive_desc description(
            onednn_engine(), dnnl::prop_kind::forward_inference,
            dnnl::algorithm::convolution_direct, image(g_.channels, false),
            Description(shape, numbers, Tag::any), bias(), image(g_.filters, true),
            {layer.strides[0], layer.strides[1]},
            {layer.dilations[0] - 1, layer.dilations[1] - 1}, {layer.pads[0], layer.pads[1]},
            {layer.pads[2], layer.pads[3]}, attributes);
        primitive_ = dnnl::convolution_forward(description);
        Memory plain = over(Description(shape, numbers, tag), weight);
        Memory chosen(description.weights_desc(), onednn_engine());
        dnnl::reorder(plain, chosen).execute(stream_, plain, chosen);
        stream_.wait();
        arguments_[DNNL_ARG_WEIGHTS] = chosen;
        arguments_[DNNL_ARG_SCRATCHPAD] = Memory(description.scratchpad_desc(), onednn_engine());
    }

    Geometry g_;
    Epilogue after_;
    float* output_;
    dnnl::stream stream_;
    dnnl::primitive primitive_;
    std::unordered_map<int, Memory> arguments_;
};

}  // namespace assay
