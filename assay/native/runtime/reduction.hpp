// Groups of an item's numbers, each by itself: layer norms, sums, means, maxima along axes.
#pragma once

#include "elementwise.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// The groups of an item along some axes: where each begins, and its numbers from there on, in
// row-major order of the axes.
struct AxisGroups {
    AxisGroups(const Shape& shape, const std::vector<bool>& along) {
        const Shape steps = strides_of(shape);
        for_each_index(shape, [&](const Shape& index) {
            bool first = true, inside = true;
            for (std::size_t axis = 0; axis < shape.size(); ++axis)
                (along[axis] ? first : inside) &= index[axis] == 0;
            if (first) starts.push_back(offset_of(index, steps));
            if (inside) members.push_back(offset_of(index, steps));
        });
        for (std::size_t i = 0; i < members.size(); ++i)
            contiguous &= members[i] == static_cast<Size>(i);
    }
    std::vector<Size> starts, members;
    bool contiguous = true;  // members are neighbours
};

class LayerNorm : public Step {
  public:
    // Null scale: 1; null shift: 0; else as many as a group has, in its order.
    LayerNorm(Size items, const Layer& layer, const float* scale, const float* shift,
              const float* input, float* output)
        : items_(items), groups_(layer.shape, along(layer)), size_(count(layer.shape)),
          epsilon_(layer.epsilon), centered_(layer.centered), scale_(scale), shift_(shift),
          input_(input), output_(output) {}
    const char* name() const override { return "layer-norm"; }
    Size max_parts() const override { return std::max<Size>(items_, items_ * size_ / chunk); }
    void run(const Part& part) override {
        const Size each = static_cast<Size>(groups_.starts.size());
        const Range mine = partition(items_ * each, part);
        for (Size i = mine.first; i < mine.last; ++i) {
            const Size at = i / each * size_ + groups_.starts[static_cast<std::size_t>(i % each)];
            if (groups_.contiguous) normalize_contiguous(input_ + at, output_ + at);
            else normalize_strided(input_ + at, output_ + at);
        }
    }

  private:
    static std::vector<bool> along(const Layer& layer) {
        std::vector<bool> result(layer.shape.size(), false);
        for (Size axis : layer.norm_axes) result[static_cast<std::size_t>(axis)] = true;
        return result;
    }

    Size group_size() const { return static_cast<Size>(groups_.members.size()); }

    static float total(Vector sum) {
        float result = 0;
        for (Size i = 0; i < lanes; ++i) result += sum[i];
        return result;
    }

    // Sums of differences from the mean, not of squares less the mean's: those would cancel.
    void normalize_contiguous(const float* from, float* to) const {
        const Size vectorized = group_size() / lanes * lanes;
        float mean = 0, square = 0;
        if (centered_) {
            Vector sum{};
            for (Size i = 0; i < vectorized; i += lanes) sum += load(from + i);
            mean = total(sum);
            for (Size i = vectorized; i < group_size(); ++i) mean += from[i];
            mean /= static_cast<float>(group_size());
        }
        Vector sum{};
        for (Size i = 0; i < vectorized; i += lanes) {
            const Vector difference = load(from + i) - mean;
            sum += difference * difference;
        }
        square = total(sum);
        for (Size i = vectorized; i < group_size(); ++i)
            square += (from[i] - mean) * (from[i] - mean);
        const float factor = inverse_deviation(square);
        for (Size i = 0; i < group_size(); i += lanes) {
            const Size left = group_size() - i;
            Vector x = (load(from + i, left) - mean) * factor;
            if (scale_) x = x * load(scale_ + i, left);
            if (shift_) x = x + load(shift_ + i, left);
            store(to + i, x, left);
        }
    }

    void normalize_strided(const float* from, float* to) const {
        float mean = 0, square = 0;
        if (centered_) {
            for (Size at : groups_.members) mean += from[at];
            mean /= static_cast<float>(group_size());
        }
        for (Size at : groups_.members) square += (from[at] - mean) * (from[at] - mean);
        const float factor = inverse_deviation(square);
        for (Size i = 0; i < group_size(); ++i) {
            const Size at = groups_.members[static_cast<std::size_t>(i)];
            const float scaled = (from[at] - mean) * factor * (scale_ ? scale_[i] : 1.0f);
            to[at] = scaled + (shift_ ? shift_[i] : 0.0f);
        }
    }

    float inverse_deviation(float square) const {
        return 1.0f / std::sqrt(square / static_cast<float>(group_size()) + epsilon_);
    }

    Size items_;
    AxisGroups groups_;
    Size size_;
    float epsilon_;
    bool centered_;
    const float *scale_, *shift_;
    const float* input_;
    float* output_;
};

// Each channel of a pixel, by the squares of the channels around it.
class LocalNorm : public Step {
  public:
    LocalNorm(Size pixels, const Layer& layer, const float* input, float* output)
        : pixels_(pixels), channels_(layer.shape[0]), before_((layer.local_norm.channels - 1) / 2),
          after_(layer.local_norm.channels - 1 - before_), factor_(layer.local_norm.factor),
          power_(layer.local_norm.power), offset_(layer.local_norm.offset), input_(input),
          output_(output) {}
    const char* name() const override { return "local-norm"; }
    Size max_parts() const override { return pixels_; }
    void run(const Part& part) override {
        const Range mine = partition(pixels_, part);
        for (Size pixel = mine.first; pixel < mine.last; ++pixel) {
            const float* from = input_ + pixel * channels_;
            for (Size c = 0; c < channels_; ++c) {
                float sum = 0;
                const Size last = std::min(channels_ - 1, c + after_);
                for (Size i = std::max<Size>(0, c - before_); i <= last; ++i)
                    sum += from[i] * from[i];
                output_[pixel * channels_ + c] =
                    from[c] / std::pow(offset_ + factor_ * sum, power_);
            }
        }
    }

  private:
    Size pixels_, channels_, before_, after_;
    float factor_, power_, offset_;
    const float* input_;
    float* output_;
};

class Reduce : public ItemwiseStep {
  public:
    Reduce(Size items, const Layer& layer, const Shape& from, const float* input, float* output)
        : ItemwiseStep(items), kind_(layer.kind), groups_(from, along(layer.shape, from)),
          input_size_(count(from)), input_(input), output_(output) {
        const Shape steps = strides_of(layer.shape);
        for_each_index(layer.shape,
                       [&](const Shape& index) { offsets_.push_back(offset_of(index, steps)); });
    }
    const char* name() const override { return "reduce"; }

  protected:
    void item(Size number) override {
        float* to = output_ + number * static_cast<Size>(offsets_.size());
        for (std::size_t i = 0; i < offsets_.size(); ++i)
            to[offsets_[i]] = reduce_group(input_ + number * input_size_ + groups_.starts[i]);
    }

  private:
    static std::vector<bool> along(const Shape& to, const Shape& from) {
        std::vector<bool> result;
        for (std::size_t axis = 0; axis < to.size(); ++axis)
            result.push_back(to[axis] == 1 && from[axis] != 1);
        return result;
    }

    float reduce_group(const float* from) const {
        const bool is_max = kind_ == Kind::reduce_max, is_min = kind_ == Kind::reduce_min;
        float result = is_max || is_min ? from[0] : 0.0f;
        for (Size at : groups_.members) {
            const float x = from[at];
            if (is_max) result = x > result || x != x ? x : result;
            else if (is_min) result = x < result || x != x ? x : result;
            else result += x;
        }
        const auto size = static_cast<float>(groups_.members.size());
        return kind_ == Kind::reduce_mean ? result / size : result;
    }

    Kind kind_;
    AxisGroups groups_;
    Size input_size_;
    const float* input_;
    float* output_;
    std::vector<Size> offsets_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
