// What is to be computed: layers in order, as a model's source describes them.
// Shapes are of one item; an image is (channels, height, width), however it lies in memory.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "post_ops.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

using Shape = std::vector<Size>;
using Pair = std::array<Size, 2>;  // height, width
using Pads = std::array<Size, 4>;  // top, left, bottom, right
using Value = int;                 // the layer that computes it

enum class Kind {
    input,
    convolution,
    dense,
    normalize,
    max_pool,
    average_pool,
    activation,
    softmax,
    add,
    multiply,
    subtract,
    maximum,
    minimum,
    divide,
    mask,
    where,
    remainder,
    power,
    equal,
    less,
    less_equal,
    concatenate,
    reshape,
    transpose,
    pad,
    upsample,
    slice,
    dilate,
    constant,
    layer_norm,
    reduce_sum,
    reduce_mean,
    reduce_max,
    reduce_min,
    matmul,
    embedding,
    gather,
    take,
    local_norm,
    cast,
};

struct Layer {
    Kind kind = Kind::input;
    std::vector<Value> inputs;
    Shape shape;               // of the result
    std::string weight, bias;  // names in the weights file; "": none
    Pair window{1, 1}, strides{1, 1}, dilations{1, 1};
    Pads pads{0, 0, 0, 0};
    Size groups = 1;
    Size axis = 0;
    Shape order;          // of axes: a transpose's; those that a layer norm is over
    Shape starts, steps;  // of a slice, along each axis
    float epsilon = 0;    // of a layer norm
    float factor = 0, power = 0, offset = 0;  // of a local norm
    bool centered = true;
    PostOps posts;
    Value residual = -1;  // what a Function::residual among the posts adds
    bool image = false;   // an input whose data files have channels first
    std::string kernel;   // that must compute it; "": the quickest
    bool bytes = false;   // the value is kept as bytes: (byte - zero) * scale
    float scale = 1, zero = 0;
    std::string scales;  // of a weight of whole numbers, for each filter; "": 1
    std::array<Size, 3> perforation{1, 1, 0};  // rows, columns, offset
    bool pooled = false;   // the largest of each two by two results is kept alone
    bool sampled = false;  // terms whose weights are all 0 are to be left out
    bool checked = false;  // an index beyond the table is an error
    bool whole = false;    // an input whose data files hold whole numbers of 32 bits
};

inline Size count(const Shape& shape) {
    Size product = 1;
    for (Size size : shape) product *= size;
    return product;
}

class Network;

// A layer just described, open to what is done after it; it reads as its value.
class LayerBuilder {
  public:
    LayerBuilder(Network& net, Value value) : net_(net), value_(value) {}
    operator Value() const { return value_; }

    LayerBuilder strides(Size high, Size wide) { return set(&Layer::strides, Pair{high, wide}); }
    LayerBuilder dilations(Size high, Size wide) {
        return set(&Layer::dilations, Pair{high, wide});
    }
    LayerBuilder groups(Size count) { return set(&Layer::groups, count); }
    LayerBuilder pads(Size top, Size left, Size bottom, Size right) {
        return set(&Layer::pads, Pads{top, left, bottom, right});
    }
    LayerBuilder then(Function function, float alpha = 0, float limit = 0);
    // What a knob makes of it.
    LayerBuilder bytes(float scale, float zero) {
        set(&Layer::bytes, true), set(&Layer::scale, scale);
        return set(&Layer::zero, zero);
    }
    LayerBuilder scales(std::string name) { return set(&Layer::scales, std::move(name)); }
    LayerBuilder perforated(Size rows, Size columns, Size offset) {
        return set(&Layer::perforation, std::array<Size, 3>{rows, columns, offset});
    }
    LayerBuilder pooled() { return set(&Layer::pooled, true); }
    LayerBuilder sampled() { return set(&Layer::sampled, true); }
    LayerBuilder by(std::string kernel) { return set(&Layer::kernel, std::move(kernel)); }
    LayerBuilder whole() { return set(&Layer::whole, true); }
    LayerBuilder checked() { return set(&Layer::checked, true); }
    LayerBuilder relu(float slope = 0, float limit = 0) {
        return then(Function::relu, slope, limit);
    }
    LayerBuilder tanh() { return then(Function::tanh); }
    LayerBuilder add(Value other) {
        set(&Layer::residual, other);
        return then(Function::residual);
    }

  private:
    template <typename Field>
    LayerBuilder set(Field Layer::* field, Field value);
    Network& net_;
    Value value_;
};

class Network {
  public:
    LayerBuilder input(Shape shape) {
        LayerBuilder layer = add_layer(Kind::input, {}, std::move(shape));
        inputs.push_back(layer);
        return layer;
    }
    // An input that is an image: its data files have channels first.
    LayerBuilder image(Shape shape) {
        LayerBuilder layer = input(std::move(shape));
        layers.back().image = true;
        return layer;
    }
    LayerBuilder convolution(Value input, Shape shape, Pair window, std::string weight,
                             std::string bias = "") {
        LayerBuilder layer = add_layer(Kind::convolution, {input}, std::move(shape));
        layers.back().window = window;
        return set_weights(layer, std::move(weight), std::move(bias));
    }
    LayerBuilder dense(Value input, Shape shape, std::string weight, std::string bias = "") {
        LayerBuilder layer = add_layer(Kind::dense, {input}, std::move(shape));
        return set_weights(layer, std::move(weight), std::move(bias));
    }
    // Each channel times a scale plus a shift: a batch norm that could not be folded.
    LayerBuilder normalize(Value input, std::string scale, std::string shift) {
        LayerBuilder layer = add_layer(Kind::normalize, {input}, at(input).shape);
        return set_weights(layer, std::move(scale), std::move(shift));
    }
    LayerBuilder pool(Kind kind, Value input, Shape shape, Pair window) {
        LayerBuilder layer = add_layer(kind, {input}, std::move(shape));
        layers.back().window = window;
        return layer.strides(window[0], window[1]);
    }
    LayerBuilder max_pool(Value input, Shape shape, Pair window) {
        return pool(Kind::max_pool, input, std::move(shape), window);
    }
    LayerBuilder average_pool(Value input, Shape shape, Pair window) {
        return pool(Kind::average_pool, input, std::move(shape), window);
    }
    LayerBuilder activation(Value input) {
        return add_layer(Kind::activation, {input}, at(input).shape);
    }
    LayerBuilder softmax(Value input, Size axis) {
        LayerBuilder layer = add_layer(Kind::softmax, {input}, at(input).shape);
        layers.back().axis = axis;
        return layer;
    }
    LayerBuilder binary(Kind kind, Value first, Value second, Shape shape) {
        return add_layer(kind, {first, second}, std::move(shape));
    }
    LayerBuilder concatenate(std::vector<Value> inputs, Shape shape, Size axis) {
        LayerBuilder layer = add_layer(Kind::concatenate, std::move(inputs), std::move(shape));
        layers.back().axis = axis;
        return layer;
    }
    LayerBuilder reshape(Value input, Shape shape) {
        return add_layer(Kind::reshape, {input}, std::move(shape));
    }
    LayerBuilder transpose(Value input, Shape shape, Shape order) {
        LayerBuilder layer = add_layer(Kind::transpose, {input}, std::move(shape));
        layers.back().order = std::move(order);
        return layer;
    }
    LayerBuilder pad(Value input, Shape shape) {
        return add_layer(Kind::pad, {input}, std::move(shape));
    }
    LayerBuilder upsample(Value input, Shape shape, Pair scale) {
        LayerBuilder layer = add_layer(Kind::upsample, {input}, std::move(shape));
        layers.back().window = scale;
        return layer;
    }
    LayerBuilder slice(Value input, Shape shape, Shape starts, Shape steps) {
        LayerBuilder layer = add_layer(Kind::slice, {input}, std::move(shape));
        layers.back().starts = std::move(starts);
        layers.back().steps = std::move(steps);
        return layer;
    }
    // Zeros between the pixels, so that neighbours are `strides` apart.
    LayerBuilder dilate(Value input, Shape shape, Pair strides) {
        return add_layer(Kind::dilate, {input}, std::move(shape)).strides(strides[0], strides[1]);
    }
    LayerBuilder constant(Shape shape, std::string weight) {
        LayerBuilder layer = add_layer(Kind::constant, {}, std::move(shape));
        return set_weights(layer, std::move(weight), "");
    }
    LayerBuilder layer_norm(Value input, Shape axes, std::string scale, std::string shift,
                            float epsilon, bool centered) {
        LayerBuilder layer = add_layer(Kind::layer_norm, {input}, at(input).shape);
        layers.back().order = std::move(axes);
        layers.back().epsilon = epsilon;
        layers.back().centered = centered;
        return set_weights(layer, std::move(scale), std::move(shift));
    }
    // Divided by (offset + factor * squares of `size` channels around) to the power.
    LayerBuilder local_norm(Value input, Size size, float factor, float power, float offset) {
        LayerBuilder layer = add_layer(Kind::local_norm, {input}, at(input).shape);
        Layer& parameters = layers.back();
        parameters.groups = size;
        parameters.factor = factor, parameters.power = power, parameters.offset = offset;
        return layer;
    }
    // Along the axes that have the size 1 in the result.
    LayerBuilder reduce(Kind kind, Value input, Shape shape) {
        return add_layer(kind, {input}, std::move(shape));
    }
    LayerBuilder matmul(Value first, Value second, Shape shape) {
        return add_layer(Kind::matmul, {first, second}, std::move(shape));
    }
    // Rows of a table, by their numbers.
    LayerBuilder embedding(Value input, Shape shape, std::string weight, Size rows) {
        LayerBuilder layer = add_layer(Kind::embedding, {input}, std::move(shape));
        layers.back().groups = rows;
        return set_weights(layer, std::move(weight), "");
    }
    // Rows of a value, by the numbers in another.
    LayerBuilder gather(Value input, Value indices, Shape shape) {
        return add_layer(Kind::gather, {input, indices}, std::move(shape)).checked();
    }
    // Numbers of a value in any order, by row-major positions in the weights; below 0: a zero.
    LayerBuilder take(Value input, Shape shape, std::string positions) {
        LayerBuilder layer = add_layer(Kind::take, {input}, std::move(shape));
        return set_weights(layer, std::move(positions), "");
    }
    // Kept in another way than its input: as bytes, or as floats.
    LayerBuilder cast(Value input) { return add_layer(Kind::cast, {input}, at(input).shape); }
    void output(Value value) { results.push_back(value); }

    const Layer& at(Value value) const { return layers[static_cast<std::size_t>(value)]; }

    bool is_result(Value value) const {
        return std::find(results.begin(), results.end(), value) != results.end();
    }
    bool takes_images() const {
        return std::any_of(inputs.begin(), inputs.end(),
                           [this](Value each) { return at(each).image; });
    }

    std::vector<Layer> layers;
    std::vector<Value> inputs, results;  // in the order of the model's

  private:
    LayerBuilder add_layer(Kind kind, std::vector<Value> inputs, Shape shape) {
        Layer fields;
        fields.kind = kind;
        fields.inputs = std::move(inputs);
        fields.shape = std::move(shape);
        layers.push_back(std::move(fields));
        return LayerBuilder(*this, static_cast<Value>(layers.size()) - 1);
    }
    LayerBuilder set_weights(LayerBuilder layer, std::string weight, std::string bias) {
        layers.back().weight = std::move(weight);
        layers.back().bias = std::move(bias);
        return layer;
    }
};

// Written for each model, in its own source.
void describe(Network& net);
extern const char* const model_name;  // that of its weights file too

template <typename Field>
LayerBuilder LayerBuilder::set(Field Layer::* field, Field value) {
    net_.layers[static_cast<std::size_t>(value_)].*field = value;
    return *this;
}

inline LayerBuilder LayerBuilder::then(Function function, float alpha, float limit) {
    net_.layers[static_cast<std::size_t>(value_)].posts.push_back({function, alpha, limit});
    return *this;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
