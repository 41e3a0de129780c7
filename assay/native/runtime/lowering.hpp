// Layers → steps over known memory, for a number of images and a kernel for each layer.
#pragma once

#include "elementwise.hpp"
#include "kernels.hpp"
#include "matmul.hpp"
#include "normalize.hpp"
#include "plan.hpp"
#include "pooling.hpp"
#include "reduction.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

class Lowering {
  public:
    using Steps = std::vector<std::unique_ptr<Step>>;

    // `arena` holds every value, by the plan; `kernels` are for the layers that have a choice.
    Lowering(const Network& net, const Plan& plan, Constants& constants, Size images, int threads,
             float* arena, const std::vector<Kernel>& kernels)
        : net_(net), plan_(plan), constants_(constants), images_(images), threads_(threads),
          arena_(arena), kernels_(kernels) {}

    Steps steps(Value value) {
        const Layer& layer = net_.at(value);
        switch (layer.kind) {
            case Kind::input: return {};
            case Kind::convolution:
            case Kind::dense:
                return single_step(
                    create_kernel(kernels_[index(value)], kernel_arguments(value), constants_));
            case Kind::max_pool:
                if (layer.quantization.quantized)
                    return single_step(std::make_unique<ByteMaxPool>(geometry(net_, layer, images_),
                                                                     input(value), at(value)));
                return single_step(pooling(value));
            case Kind::average_pool: return single_step(pooling(value));
            case Kind::cast:
                return single_step(std::make_unique<Cast>(
                    images_ * count(layer.shape), net_.at(layer.inputs[0]).quantization,
                    layer.quantization, input(value), at(value)));
            case Kind::normalize:
            case Kind::activation: return single_step(elementwise(value));
            case Kind::softmax:
                return single_step(std::make_unique<Softmax>(images_, layer.shape, layer.axis,
                                                             input(value), at(value)));
            case Kind::concatenate: return concatenate(value);
            case Kind::reshape:
            case Kind::transpose:
            case Kind::pad:
            case Kind::slice:
            case Kind::dilate:
            case Kind::take:
            case Kind::upsample:
                return is_alias(net_, value) ? Steps{} : single_step(indexed_copy(value));
            case Kind::layer_norm: return single_step(layer_norm(value));
            case Kind::local_norm:
                return single_step(std::make_unique<LocalNorm>(
                    images_ * layer.shape[1] * layer.shape[2], layer, input(value), at(value)));
            case Kind::reduce_sum:
            case Kind::reduce_mean:
            case Kind::reduce_max:
            case Kind::reduce_min:
                return single_step(std::make_unique<Reduce>(
                    images_, layer, net_.at(layer.inputs[0]).shape, input(value), at(value)));
            case Kind::constant:
                if (!needs_copy_per_item(value)) return {};
                return single_step(std::make_unique<Repeat>(images_, count(layer.shape),
                                                            laid_out(value), at(value)));
            case Kind::embedding:
            case Kind::gather: return single_step(embedding(value));
            case Kind::matmul:
                return single_step(std::make_unique<MatMul>(
                    images_, layer.shape, operand<MatMul::Operand>(value, 0),
                    operand<MatMul::Operand>(value, 1), at(value)));
            default:
                return single_step(
                    std::make_unique<Binary>(images_, layer, operand<Binary::Operand>(value, 0),
                                             operand<Binary::Operand>(value, 1), at(value)));
        }
    }

    // Arguments of the kernel of a convolution or dense layer.
    KernelArguments kernel_arguments(Value value) {
        const Layer& layer = net_.at(value);
        const Geometry g = geometry(net_, layer, images_);
        const float* residual = layer.residual < 0 ? nullptr : at(layer.residual);
        KernelArguments arguments{net_,         layer,        g,
                                  nullptr,      layer.weight, epilogue(layer, residual),
                                  input(value), at(value),    threads_};
        arguments.weight = constants_.weights().get(layer.weight, g.weights());
        if (!layer.bias.empty()) arguments.after.bias = padded_bias(layer.bias, g.filters);
        if (layer.kind == Kind::dense && flattens_for_dense(net_, layer.inputs[0]))
            reorder_weights(arguments, net_.at(net_.at(layer.inputs[0]).inputs[0]).shape);
        return arguments;
    }

    float* at(Value value) const { return arena_ + plan_.offsets[index(value)] * images_; }

  private:
    static std::size_t index(Value value) { return static_cast<std::size_t>(value); }

    float* input(Value value, std::size_t which = 0) const {
        return at(net_.at(value).inputs[which]);
    }

    Steps single_step(std::unique_ptr<Step> step) {
        Steps result;
        for (auto& constant : kept_constants_) step->kept_constants.push_back(constant);
        kept_constants_.clear();
        result.push_back(std::move(step));
        return result;
    }

    // Tiles read whole columns: the bias is as long as they are, with zeros at its end.
    const float* padded_bias(const std::string& name, Size filters) {
        const auto bias = constants_.get<Buffer<float>>(name + "/padded", [&] {
            Buffer<float> padded(filters + widest * lanes);
            std::copy_n(constants_.weights().get(name, filters), filters, padded.data());
            return padded;
        });
        kept_constants_.push_back(bias);
        return bias->data();
    }

    // These are other weights from here on, with a key of their own: the layer may be shared with
    // inputs that lie otherwise. The names of constants have no space.
    void reorder_weights(KernelArguments& arguments, const Shape& image) {
        arguments.key += " after";
        for (Size size : image) arguments.key += "-" + std::to_string(size);
        const auto weights = constants_.get<Buffer<float>>(arguments.key, [&] {
            return reorder_dense_weights(arguments.weight, arguments.g.filters, image);
        });
        kept_constants_.push_back(weights);
        arguments.weight = weights->data();
    }

    // Not only where two values are combined, which can do with one copy for all items.
    bool needs_copy_per_item(Value value) const {
        const auto combines = [](Kind kind) {
            return kind == Kind::matmul || (kind >= Kind::add && kind <= Kind::power);
        };
        for (const Layer& layer : net_.layers) {
            const bool reads = std::count(layer.inputs.begin(), layer.inputs.end(), value) > 0;
            if ((reads && !combines(layer.kind)) || layer.residual == value) return true;
        }
        return net_.is_result(value);
    }

    // A constant is read in place.
    template <typename Operand>
    Operand operand(Value value, std::size_t which) {
        const Value from = net_.at(value).inputs[which];
        const bool fixed = net_.at(from).kind == Kind::constant;
        return {net_.at(from).shape, fixed ? laid_out(from) : at(from), fixed};
    }

    // The numbers of a constant in the order of its layout.
    const float* laid_out(Value value) {
        const Layer& layer = net_.at(value);
        const Size size = count(layer.shape);
        const float* plain = constants_.weights().get(layer.values, size);
        if (lies_row_major(layer.shape)) return plain;
        std::string key = layer.values + " laid";
        for (Size each : layer.shape) key += "-" + std::to_string(each);
        const auto constant = constants_.get<Buffer<float>>(key, [&] {
            Buffer<float> result(size);
            const Shape steps = strides_of(layer.shape);
            Size number = 0;
            for_each_index(layer.shape, [&](const Shape& index) {
                result.data()[offset_of(index, steps)] = plain[number++];
            });
            return result;
        });
        kept_constants_.push_back(constant);
        return constant->data();
    }

    std::unique_ptr<Step> layer_norm(Value value) const {
        const Layer& layer = net_.at(value);
        Size size = 1;
        for (Size axis : layer.norm_axes) size *= layer.shape[static_cast<std::size_t>(axis)];
        const auto constant = [&](const std::string& name) {
            return name.empty() ? nullptr : constants_.weights().get(name, size);
        };
        return std::make_unique<LayerNorm>(images_, layer, constant(layer.norm_scale),
                                           constant(layer.norm_shift), input(value), at(value));
    }

    std::unique_ptr<Step> embedding(Value value) const {
        const Layer& layer = net_.at(value);
        const Size length = layer.shape.back(), numbers = images_ * count(layer.shape) / length;
        if (layer.kind == Kind::gather)
            return std::make_unique<Embedding>(numbers, net_.at(layer.inputs[0]).shape[0], length,
                                               input(value), input(value, 1), at(value), true,
                                               layer.shape[0]);
        const Size rows = layer.table_rows;
        return std::make_unique<Embedding>(numbers, rows, length,
                                           constants_.weights().get(layer.table, rows * length),
                                           input(value), at(value), layer.checks_indices);
    }

    std::unique_ptr<Step> pooling(Value value) const {
        const Layer& layer = net_.at(value);
        return std::make_unique<Pooling>(geometry(net_, layer, images_),
                                         layer.kind == Kind::max_pool, layer.post_ops, input(value),
                                         at(value));
    }

    std::unique_ptr<Step> elementwise(Value value) const {
        const Layer& layer = net_.at(value);
        if (layer.kind == Kind::activation)
            return std::make_unique<Activation>(images_, layer.shape, layer.post_ops, input(value),
                                                at(value));
        const Size channels = layer.shape[0];
        return std::make_unique<Normalize>(images_, layer.shape,
                                           constants_.weights().get(layer.norm_scale, channels),
                                           constants_.weights().get(layer.norm_shift, channels),
                                           layer.post_ops, input(value), at(value));
    }

    Steps concatenate(Value value) const {
        const Layer& layer = net_.at(value);
        const Size step = strides_of(layer.shape)[static_cast<std::size_t>(layer.axis)];
        const Size length = layer.shape[static_cast<std::size_t>(layer.axis)] * step;
        const Size rows = images_ * count(layer.shape) / length;
        Steps result;
        Size offset = 0;
        for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
            const Shape& from = net_.at(layer.inputs[i]).shape;
            const Size part = from[static_cast<std::size_t>(layer.axis)] * step;
            result.push_back(std::make_unique<ConcatenateInput>(rows, part, length, input(value, i),
                                                                at(value) + offset));
            offset += part;
        }
        return result;
    }

    std::unique_ptr<Step> indexed_copy(Value value) const {
        const Layer& layer = net_.at(value);
        const Shape& from = net_.at(layer.inputs[0]).shape;
        std::vector<Size> sources(static_cast<std::size_t>(count(layer.shape)));
        const Shape to = strides_of(layer.shape);
        const bool is_take = layer.kind == Kind::take;
        const float* positions =
            is_take ? constants_.weights().get(layer.positions, count(layer.shape)) : nullptr;
        Size number = 0;
        for_each_index(layer.shape, [&](const Shape& index) {
            const Size wanted = is_take ? static_cast<Size>(positions[number]) : number;
            sources[static_cast<std::size_t>(offset_of(index, to))] =
                wanted < 0 ? -1 : source(layer, from, index, wanted);
            ++number;
        });
        return std::make_unique<IndexedCopy>("reorder", images_, std::move(sources), count(from),
                                             input(value), at(value));
    }

    // Where the number at `index` of the result, the so-manieth in row-major order, comes from.
    static Size source(const Layer& layer, const Shape& from, const Shape& index, Size number) {
        const Shape steps = strides_of(from);
        Shape there = index;
        if (layer.kind == Kind::transpose) {
            for (std::size_t axis = 0; axis < index.size(); ++axis)
                there[static_cast<std::size_t>(layer.permutation[axis])] = index[axis];
        } else if (layer.kind == Kind::upsample) {
            there = {index[0], index[1] / layer.upsample_factors[0],
                     index[2] / layer.upsample_factors[1]};
        } else if (layer.kind == Kind::slice) {
            for (std::size_t axis = 0; axis < index.size(); ++axis)
                there[axis] = layer.starts[axis] + index[axis] * layer.steps[axis];
        } else if (layer.kind == Kind::dilate) {
            if (index[1] % layer.spacing[0] || index[2] % layer.spacing[1]) return -1;
            there = {index[0], index[1] / layer.spacing[0], index[2] / layer.spacing[1]};
        } else if (layer.kind == Kind::pad) {
            there = {index[0], index[1] - layer.pads[0], index[2] - layer.pads[1]};
            if (there[1] < 0 || there[2] < 0 || there[1] >= from[1] || there[2] >= from[2])
                return -1;
        } else {
            there.assign(from.size(), 0);
            for (std::size_t axis = from.size(); axis-- > 0; number /= from[axis])
                there[axis] = number % from[axis];
        }
        return offset_of(there, steps);
    }

    const Network& net_;
    const Plan& plan_;
    Constants& constants_;
    Size images_;
    int threads_;
    float* arena_;
    const std::vector<Kernel>& kernels_;
    std::vector<std::shared_ptr<const void>> kept_constants_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
