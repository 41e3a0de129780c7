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

// How a value is stored: as float32, or as bytes, where a byte b is (b - zero_point) * scale.
struct QuantParams {
    bool quantized = false;
    float scale = 1, zero_point = 0, inverse = 1;  // inverse: 1 / scale
};

// Outputs that are interpolated instead of computed: of the rows and of the columns, each from
// `offset` on whose distance is a multiple of this number; 1: none.
struct Perforation {
    Size rows = 1, columns = 1, offset = 0;

    bool is_active() const { return rows > 1 || columns > 1; }
};

// The output is input / (offset + factor * sum of squares of `channels` neighbours) ^ power.
struct LocalNormParams {
    Size channels = 1;
    float factor = 0, power = 0, offset = 0;
};

// Each field has one meaning, for the kinds in the comment before it. A string is a name in the
// weights file; "" is none.
struct Layer {
    // all kinds
    Kind kind = Kind::input;
    std::vector<Value> inputs;
    Shape shape;  // of the output
    PostOps post_ops;
    Value residual = -1;  // operand of Function::residual in post_ops
    QuantParams quantization;
    // input
    bool is_image = false;  // its data files are channels first
    bool is_int32 = false;  // its data files are int32
    // convolution, dense
    std::string weight, bias;
    std::string weight_scales;  // of int8 weights, for each filter
    std::string kernel;         // forced; "": selected by the autotuner
    Perforation perforation;
    bool max_pool_2x2 = false;     // a max pool is fused into the output stage
    bool sampled_weights = false;  // terms whose weights are all 0 are skipped
    // convolution
    Pair dilations{1, 1};
    Size groups = 1;
    // convolution, max_pool, average_pool
    Pair window{1, 1}, strides{1, 1};
    // convolution, max_pool, average_pool, pad
    Pads pads{0, 0, 0, 0};
    // normalize, layer_norm
    std::string norm_scale, norm_shift;
    // layer_norm
    Shape norm_axes;
    float epsilon = 0;
    bool centered = true;  // false: root mean square norm
    // local_norm
    LocalNormParams local_norm;
    // softmax, concatenate
    Size axis = 0;
    // transpose: axis of the input for each axis of the output
    Shape permutation;
    // upsample: repetitions of each row and column
    Pair upsample_factors{1, 1};
    // dilate: distance of the input's rows and columns in the output
    Pair spacing{1, 1};
    // slice, for each axis
    Shape starts, steps;
    // constant
    std::string values;
    // embedding
    std::string table;
    Size table_rows = 0;
    // embedding, gather
    bool checks_indices = false;  // an index outside of the table is an error
    // take: row-major positions in the input; below 0: a zero
    std::string positions;
};

inline Size count(const Shape& shape) {
    Size product = 1;
    for (Size size : shape) product *= size;
    return product;
}

class Network;

// Sets the fields of a layer that was just added; converts to its value.
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
    LayerBuilder quantize(float scale, float zero_point) {
        return set(&Layer::quantization, QuantParams{true, scale, zero_point, 1 / scale});
    }
    LayerBuilder weight_scales(std::string name) {
        return set(&Layer::weight_scales, std::move(name));
    }
    LayerBuilder perforation(Size rows, Size columns, Size offset) {
        return set(&Layer::perforation, Perforation{rows, columns, offset});
    }
    LayerBuilder max_pool_2x2() { return set(&Layer::max_pool_2x2, true); }
    LayerBuilder sampled_weights() { return set(&Layer::sampled_weights, true); }
    LayerBuilder kernel(std::string name) { return set(&Layer::kernel, std::move(name)); }
    LayerBuilder int32() { return set(&Layer::is_int32, true); }
    LayerBuilder check_indices() { return set(&Layer::checks_indices, true); }
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
        layers.back().is_image = true;
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
        return set_norm(layer, std::move(scale), std::move(shift));
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
    LayerBuilder transpose(Value input, Shape shape, Shape permutation) {
        LayerBuilder layer = add_layer(Kind::transpose, {input}, std::move(shape));
        layers.back().permutation = std::move(permutation);
        return layer;
    }
    LayerBuilder pad(Value input, Shape shape) {
        return add_layer(Kind::pad, {input}, std::move(shape));
    }
    LayerBuilder upsample(Value input, Shape shape, Pair factors) {
        LayerBuilder layer = add_layer(Kind::upsample, {input}, std::move(shape));
        layers.back().upsample_factors = factors;
        return layer;
    }
    LayerBuilder slice(Value input, Shape shape, Shape starts, Shape steps) {
        LayerBuilder layer = add_layer(Kind::slice, {input}, std::move(shape));
        layers.back().starts = std::move(starts);
        layers.back().steps = std::move(steps);
        return layer;
    }
    // Zeros between the pixels, so that neighbours are `spacing` apart.
    LayerBuilder dilate(Value input, Shape shape, Pair spacing) {
        LayerBuilder layer = add_layer(Kind::dilate, {input}, std::move(shape));
        layers.back().spacing = spacing;
        return layer;
    }
    LayerBuilder constant(Shape shape, std::string values) {
        LayerBuilder layer = add_layer(Kind::constant, {}, std::move(shape));
        layers.back().values = std::move(values);
        return layer;
    }
    LayerBuilder layer_norm(Value input, Shape axes, std::string scale, std::string shift,
                            float epsilon, bool centered) {
        LayerBuilder layer = add_layer(Kind::layer_norm, {input}, at(input).shape);
        layers.back().norm_axes = std::move(axes);
        layers.back().epsilon = epsilon;
        layers.back().centered = centered;
        return set_norm(layer, std::move(scale), std::move(shift));
    }
    LayerBuilder local_norm(Value input, Size channels, float factor, float power, float offset) {
        LayerBuilder layer = add_layer(Kind::local_norm, {input}, at(input).shape);
        layers.back().local_norm = {channels, factor, power, offset};
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
    LayerBuilder embedding(Value input, Shape shape, std::string table, Size rows) {
        LayerBuilder layer = add_layer(Kind::embedding, {input}, std::move(shape));
        layers.back().table = std::move(table);
        layers.back().table_rows = rows;
        return layer;
    }
    // Rows of a value, by the numbers in another.
    LayerBuilder gather(Value input, Value indices, Shape shape) {
        return add_layer(Kind::gather, {input, indices}, std::move(shape)).check_indices();
    }
    // Values of the input in any order, by positions in the weights file.
    LayerBuilder take(Value input, Shape shape, std::string positions) {
        LayerBuilder layer = add_layer(Kind::take, {input}, std::move(shape));
        layers.back().positions = std::move(positions);
        return layer;
    }
    // Quantized or dequantized, as its quantization and that of its input say.
    LayerBuilder cast(Value input) { return add_layer(Kind::cast, {input}, at(input).shape); }
    void output(Value value) { results.push_back(value); }

    const Layer& at(Value value) const { return layers[static_cast<std::size_t>(value)]; }

    bool is_result(Value value) const {
        return std::find(results.begin(), results.end(), value) != results.end();
    }
    bool takes_images() const {
        return std::any_of(inputs.begin(), inputs.end(),
                           [this](Value each) { return at(each).is_image; });
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
    LayerBuilder set_norm(LayerBuilder layer, std::string scale, std::string shift) {
        layers.back().norm_scale = std::move(scale);
        layers.back().norm_shift = std::move(shift);
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
    net_.layers[static_cast<std::size_t>(value_)].post_ops.push_back({function, alpha, limit});
    return *this;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
