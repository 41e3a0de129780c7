// Steps that only move or change single numbers: activations, sums, softmax, other orders.
#pragma once

#include <cmath>

#include "layout.hpp"
#include "step.hpp"

namespace assay {

// An item at a time, and never less.
class ByItem : public Step {
  public:
    explicit ByItem(Size items) : items_(items) {}
    Size most_parts() const override { return items_; }
    void run(const Part& part) override {
        const Range mine = share(items_, part);
        for (Size i = mine.first; i < mine.last; ++i) item(i);
    }

  protected:
    virtual void item(Size number) = 0;

  private:
    Size items_;
};

// Functions of every number.
class Activation : public ByItem {
  public:
    Activation(Size items, const Shape& shape, Posts posts, const float* input, float* output)
        : ByItem(items), size_(count(shape)), posts_(std::move(posts)), input_(input),
          output_(output) {}
    const char* name() const override { return "activation"; }

  protected:
    void item(Size number) override {
        float* to = output_ + number * size_;
        std::copy_n(input_ + number * size_, size_, to);
        apply(posts_, to, nullptr, size_);
    }

  private:
    Size size_;
    Posts posts_;
    const float* input_;
    float* output_;
};

// A scale and a shift for each index along axis 0, then functions. That axis is the innermost in
// memory where the item is an image or a vector, else the outermost: see `steps_of`.
class Normalize : public ByItem {
  public:
    Normalize(Size items, const Shape& shape, const float* scale, const float* shift, Posts posts,
              const float* input, float* output)
        : ByItem(items), size_(count(shape)), channels_(shape[0]), step_(steps_of(shape)[0]),
          scale_(scale), shift_(shift), posts_(std::move(posts)), input_(input), output_(output) {}
    const char* name() const override { return "normalize"; }

  protected:
    void item(Size number) override {
        const float* from = input_ + number * size_;
        float* to = output_ + number * size_;
        if (step_ == 1)
            for (Size first = 0; first < size_; first += channels_)
                for (Size c = 0; c < channels_; c += lanes) {
                    const Size left = channels_ - c;
                    const Vector scale = load(scale_ + c, left), shift = load(shift_ + c, left);
                    store(to + first + c, load(from + first + c, left) * scale + shift, left);
                }
        else
            for (Size c = 0; c < channels_; ++c)
                for (Size i = c * step_; i < (c + 1) * step_; ++i)
                    to[i] = from[i] * scale_[c] + shift_[c];
        apply(posts_, to, nullptr, size_);
    }

  private:
    Size size_, channels_, step_;
    const float *scale_, *shift_;
    Posts posts_;
    const float* input_;
    float* output_;
};

inline float combined(Kind kind, float a, float b) {
    switch (kind) {
        case Kind::add: return a + b;
        case Kind::multiply: return a * b;
        case Kind::subtract: return a - b;
        case Kind::maximum: return a > b || a != a ? a : b;  // if one is no number, so is the result
        default: return a < b || a != a ? a : b;
    }
}

// Two values, number by number; an axis of size 1 is repeated.
class Binary : public ByItem {
  public:
    Binary(Size items, const Layer& layer, const Shape& first, const Shape& second, const float* a,
           const float* b, float* output)
        : ByItem(items), kind_(layer.kind), posts_(layer.posts), a_(a), b_(b), output_(output),
          a_size_(count(first)), b_size_(count(second)), size_(count(layer.shape)) {
        if (first == second) return;
        const Shape to = steps_of(layer.shape);
        from_a_.resize(static_cast<std::size_t>(size_));
        from_b_.resize(static_cast<std::size_t>(size_));
        for_each_index(layer.shape, [&](const Shape& index) {
            const auto here = static_cast<std::size_t>(place(index, to));
            from_a_[here] = place(index, repeated(first));
            from_b_[here] = place(index, repeated(second));
        });
    }
    const char* name() const override { return "binary"; }

  protected:
    void item(Size number) override {
        const float *a = a_ + number * a_size_, *b = b_ + number * b_size_;
        float* to = output_ + number * size_;
        if (from_a_.empty())
            for (Size i = 0; i < size_; ++i) to[i] = combined(kind_, a[i], b[i]);
        else
            for (Size i = 0; i < size_; ++i) {
                const auto here = static_cast<std::size_t>(i);
                to[i] = combined(kind_, a[from_a_[here]], b[from_b_[here]]);
            }
        apply(posts_, to, nullptr, size_);
    }

  private:
    static Shape repeated(const Shape& shape) {
        Shape steps = steps_of(shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (shape[axis] == 1) steps[axis] = 0;
        return steps;
    }
    Kind kind_;
    Posts posts_;
    const float *a_, *b_;
    float* output_;
    Size a_size_, b_size_, size_;
    std::vector<Size> from_a_, from_b_;
};

class Softmax : public ByItem {
  public:
    Softmax(Size items, const Shape& shape, Size axis, const float* input, float* output)
        : ByItem(items), size_(count(shape)), long_(shape[static_cast<std::size_t>(axis)]),
          step_(steps_of(shape)[static_cast<std::size_t>(axis)]), input_(input), output_(output) {
        const Shape steps = steps_of(shape);
        for_each_index(shape, [&](const Shape& index) {
            if (index[static_cast<std::size_t>(axis)] == 0) starts_.push_back(place(index, steps));
        });
    }
    const char* name() const override { return "softmax"; }

  protected:
    void item(Size number) override {
        for (Size start : starts_) row(input_ + number * size_ + start,
                                       output_ + number * size_ + start);
    }

  private:
    void row(const float* from, float* to) const {
        float largest = from[0], sum = 0;
        for (Size i = 1; i < long_; ++i) largest = std::max(largest, from[i * step_]);
        for (Size i = 0; i < long_; ++i) sum += to[i * step_] = std::exp(from[i * step_] - largest);
        for (Size i = 0; i < long_; ++i) to[i * step_] /= sum;
    }
    Size size_, long_, step_;
    const float* input_;
    float* output_;
    std::vector<Size> starts_;
};

// Every number of the result is one of the input's, or 0: other orders, borders, repetition.
class Gather : public ByItem {
  public:
    // `from`: for each place of the result, where it comes from in an item; below 0: a zero.
    Gather(const char* name, Size items, std::vector<Size> from, Size input_size,
           const float* input, float* output)
        : ByItem(items), name_(name), from_(std::move(from)), input_size_(input_size),
          input_(input), output_(output) {}
    const char* name() const override { return name_; }

  protected:
    void item(Size number) override {
        const float* from = input_ + number * input_size_;
        float* to = output_ + number * static_cast<Size>(from_.size());
        for (Size place : from_) *to++ = place < 0 ? 0.0f : from[place];
    }

  private:
    const char* name_;
    std::vector<Size> from_;
    Size input_size_;
    const float* input_;
    float* output_;
};

// One input of a concatenation: rows of `length` numbers, set into longer rows of the result.
class Place : public Step {
  public:
    Place(Size rows, Size length, Size output_step, const float* input, float* output)
        : rows_(rows), length_(length), output_step_(output_step), input_(input), output_(output) {}
    const char* name() const override { return "concatenate"; }
    Size most_parts() const override { return rows_; }
    void run(const Part& part) override {
        const Range mine = share(rows_, part);
        for (Size row = mine.first; row < mine.last; ++row)
            std::copy_n(input_ + row * length_, length_, output_ + row * output_step_);
    }

  private:
    Size rows_, length_, output_step_;
    const float* input_;
    float* output_;
};

}  // namespace assay
