// What is to be computed: layers in order, as a model's source describes them.
// Shapes are of one item; an image is (channels, height, width), however it lies in memory.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "post.hpp"

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
    spread,
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
    Posts posts;
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
class Described {
  public:
    Described(Network& net, Value value) : net_(net), value_(value) {}
    operator Value() const { return value_; }

    Described strides(Size high, Size wide) { return set(&Layer::strides, Pair{high, wide}); }
    Described dilations(Size high, Size wide) { return set(&Layer::dilations, Pair{high, wide}); }
    Described groups(Size count) { return set(&Layer::groups, count); }
    Described pads(Size top, Size left, Size bottom, Size right) {
        return set(&Layer::pads, Pads{top, left, bottom, right});
    }
    Described then(Function function, float alpha = 0, float limit = 0);
    // What a knob makes of it.
    Described bytes(float scale, float zero) {
        set(&Layer::bytes, true), set(&Layer::scale, scale);
        return set(&Layer::zero, zero);
    }
    Described scales(std::string name) { return set(&Layer::scales, std::move(name)); }
    Described perforated(Size rows, Size columns, Size offset) {
        return set(&Layer::perforation, std::array<Size, 3>{rows, columns, offset});
    }
    Described pooled() { return set(&Layer::pooled, true); }
    Described sampled() { return set(&Layer::sampled, true); }
    Described by(std::string kernel) { return set(&Layer::kernel, std::move(kernel)); }
    Described whole() { return set(&Layer::whole, true); }
    Described checked() { return set(&Layer::checked, true); }
    Described relu(float slope = 0, float limit = 0) { return then(Function::relu, slope, limit); }
    Described tanh() { return then(Function::tanh); }
    Described add(Value other) {
        set(&Layer::residual, other);
        return then(Function::residual);
    }

  private:
    template <typename Field>
    Described set(Field Layer::* field, Field value);
    Network& net_;
    Value value_;
};

class Network {
  public:
    Described input(Shape shape) {
        Described made = added(Kind::input, {}, std::move(shape));
        inputs.push_back(made);
        return made;
    }
    // An input that is an image: its data files have channels first.
    Described image(Shape shape) {
        Described made = input(std::move(shape));
        layers.back().image = true;
        return made;
    }
    Described convolution(Value input, Shape shape, Pair window, std::string weight,
                          std::string bias = "") {
        Described made = added(Kind::convolution, {input}, std::move(shape));
        layers.back().window = window;
        return with_weights(made, std::move(weight), std::move(bias));
    }
    Described dense(Value input, Shape shape, std::string weight, std::string bias = "") {
        Described made = added(Kind::dense, {input}, std::move(shape));
        return with_weights(made, std::move(weight), std::move(bias));
    }
    // Each channel times a scale plus a shift: a batch norm that could not be folded.
    Described normalize(Value input, std::string scale, std::string shift) {
        Described made = added(Kind::normalize, {input}, at(input).shape);
        return with_weights(made, std::move(scale), std::move(shift));
    }
    Described pool(Kind kind, Value input, Shape shape, Pair window) {
        Described made = added(kind, {input}, std::move(shape));
        layers.back().window = window;
        return made.strides(window[0], window[1]);
    }
    Described max_pool(Value input, Shape shape, Pair window) {
        return pool(Kind::max_pool, input, std::move(shape), window);
    }
    Described average_pool(Value input, Shape shape, Pair window) {
        return pool(Kind::average_pool, input, std::move(shape), window);
    }
    Described activation(Value input) { return added(Kind::activation, {input}, at(input).shape); }
    Described softmax(Value input, Size axis) {
        Described made = added(Kind::softmax, {input}, at(input).shape);
        layers.back().axis = axis;
        return made;
    }
    Described binary(Kind kind, Value first, Value second, Shape shape) {
        return added(kind, {first, second}, std::move(shape));
    }
    Described concatenate(std::vector<Value> inputs, Shape shape, Size axis) {
        Described made = added(Kind::concatenate, std::move(inputs), std::move(shape));
        layers.back().axis = axis;
        return made;
    }
    Described reshape(Value input, Shape shape) {
        return added(Kind::reshape, {input}, std::move(shape));
    }
    Described transpose(Value input, Shape shape, Shape order) {
        Described made = added(Kind::transpose, {input}, std::move(shape));
        layers.back().order = std::move(order);
        return made;
    }
    Described pad(Value input, Shape shape) { return added(Kind::pad, {input}, std::move(shape)); }
    Described upsample(Value input, Shape shape, Pair scale) {
        Described made = added(Kind::upsample, {input}, std::move(shape));
        layers.back().window = scale;
        return made;
    }
    Described slice(Value input, Shape shape, Shape starts, Shape steps) {
        Described made = added(Kind::slice, {input}, std::move(shape));
        layers.back().starts = std::move(starts);
        layers.back().steps = std::move(steps);
        return made;
    }
    // Zeros between the pixels, so that neighbours are `strides` apart.
    Described spread(Value input, Shape shape, Pair strides) {
        return added(Kind::spread, {input}, std::move(shape)).strides(strides[0], strides[1]);
    }
    Described constant(Shape shape, std::string weight) {
        Described made = added(Kind::constant, {}, std::move(shape));
        return with_weights(made, std::move(weight), "");
    }
    Described layer_norm(Value input, Shape axes, std::string scale, std::string shift,
                         float epsilon, bool centered) {
        Described made = added(Kind::layer_norm, {input}, at(input).shape);
        layers.back().order = std::move(axes);
        layers.back().epsilon = epsilon;
        layers.back().centered = centered;
        return with_weights(made, std::move(scale), std::move(shift));
    }
    // Divided by (offset + factor * squares of `size` channels around) to the power.
    Described local_norm(Value input, Size size, float factor, float power, float offset) {
        Described made = added(Kind::local_norm, {input}, at(input).shape);
        Layer& layer = layers.back();
        layer.groups = size;
        layer.factor = factor, layer.power = power, layer.offset = offset;
        return made;
    }
    // Along the axes that have the size 1 in the result.
    Described reduce(Kind kind, Value input, Shape shape) {
        return added(kind, {input}, std::move(shape));
    }
    Described matmul(Value first, Value second, Shape shape) {
        return added(Kind::matmul, {first, second}, std::move(shape));
    }
    // Rows of a table, by their numbers.
    Described embedding(Value input, Shape shape, std::string weight, Size rows) {
        Described made = added(Kind::embedding, {input}, std::move(shape));
        layers.back().groups = rows;
        return with_weights(made, std::move(weight), "");
    }
    // Rows of a value, by the numbers in another.
    Described gather(Value input, Value indices, Shape shape) {
        return added(Kind::gather, {input, indices}, std::move(shape)).checked();
    }
    // Numbers of a value in any order, by row-major positions in the weights; below 0: a zero.
    Described take(Value input, Shape shape, std::string positions) {
        Described made = added(Kind::take, {input}, std::move(shape));
        return with_weights(made, std::move(positions), "");
    }
    // Kept in another way than its input: as bytes, or as floats.
    Described cast(Value input) { return added(Kind::cast, {input}, at(input).shape); }
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
    Described added(Kind kind, std::vector<Value> inputs, Shape shape) {
        Layer layer;
        layer.kind = kind;
        layer.inputs = std::move(inputs);
        layer.shape = std::move(shape);
        layers.push_back(std::move(layer));
        return Described(*this, static_cast<Value>(layers.size()) - 1);
    }
    Described with_weights(Described made, std::string weight, std::string bias) {
        layers.back().weight = std::move(weight);
        layers.back().bias = std::move(bias);
        return made;
    }
};

// Written for each model, in its own source.
void describe(Network& net);
extern const char* const model_name;  // that of its weights file too

template <typename Field>
Described Described::set(Field Layer::* field, Field value) {
    net_.layers[static_cast<std::size_t>(value_)].*field = value;
    return *this;
}

inline Described Described::then(Function function, float alpha, float limit) {
    net_.layers[static_cast<std::size_t>(value_)].posts.push_back({function, alpha, limit});
    return *this;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
