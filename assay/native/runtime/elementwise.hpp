// Steps that only move or change single numbers: activations, sums, softmax, other orders.
#pragma once

#include <cmath>
#include <numeric>

#include "layout.hpp"
#include "step.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// An item at a time, and never less.
class ItemwiseStep : public Step {
  public:
    explicit ItemwiseStep(Size items) : items_(items) {}
    Size max_parts() const override { return items_; }
    void run(const Part& part) override {
        const Range mine = partition(items_, part);
        for (Size i = mine.first; i < mine.last; ++i) item(i);
    }

  protected:
    virtual void item(Size number) = 0;

  private:
    Size items_;
};

// Numbers that a step of single numbers takes at a time: threads share out items in such parts.
constexpr Size chunk = 4096;

// Functions of every number.
class Activation : public Step {
  public:
    Activation(Size items, const Shape& shape, PostOps posts, const float* input, float* output)
        : size_(items * count(shape)), posts_(std::move(posts)), input_(input), output_(output) {}
    const char* name() const override { return "activation"; }
    Size max_parts() const override { return (size_ + chunk - 1) / chunk; }
    void run(const Part& part) override {
        const Range chunks = partition(max_parts(), part);
        const Size last = std::min(size_, chunks.last * chunk);
        for (Size i = chunks.first * chunk; i < last; i += lanes) {
            Vector x = load(input_ + i, last - i);
            for (const PostOp& post : posts_) x = apply(post, x);
            store(output_ + i, x, last - i);
        }
    }

  private:
    Size size_;
    PostOps posts_;
    const float* input_;
    float* output_;
};

ASSAY_INLINE Vector combine(Kind kind, Vector a, Vector b) {
    switch (kind) {
        case Kind::add: return a + b;
        case Kind::multiply: return a * b;
        case Kind::subtract: return a - b;
        case Kind::divide: return a / b;
        case Kind::mask: return b != b ? a : b;
        case Kind::where: return b != Vector{} ? a : fill(-0.0f);  // -0: adding it changes nothing
        case Kind::remainder:
            for (Size i = 0; i < lanes; ++i) a[i] = std::fmod(a[i], b[i]);
            return a;
        case Kind::equal: return a == b ? fill(1.0f) : Vector{};
        case Kind::less: return a < b ? fill(1.0f) : Vector{};
        case Kind::less_equal: return a <= b ? fill(1.0f) : Vector{};
        case Kind::maximum: return larger(a, b) + (b != b ? b : Vector{});  // none, if one is none
        case Kind::minimum: return (((a < b) | (a != a)) ? a : b) + (b != b ? b : Vector{});
        default:
            for (Size i = 0; i < lanes; ++i) a[i] = std::pow(a[i], b[i]);
            return a;
    }
}

// Two values, number by number; an axis of size 1 is repeated. In memory this is rows along which
// each of the two either goes on or stands still.
class Binary : public Step {
  public:
    struct Operand {
        Shape shape;
        const float* data;
        bool fixed;  // the same for all items
    };

    Binary(Size items, const Layer& layer, Operand a, Operand b, float* output)
        : items_(items), kind_(layer.kind), posts_(layer.post_ops), a_(a.data), b_(b.data),
          output_(output), a_size_(a.fixed ? 0 : count(a.shape)),
          b_size_(b.fixed ? 0 : count(b.shape)), size_(count(layer.shape)) {
        std::vector<Size> from_a(static_cast<std::size_t>(size_)), from_b(from_a);
        const Shape to = strides_of(layer.shape), in_a = repeated(a.shape),
                    in_b = repeated(b.shape);
        for_each_index(layer.shape, [&](const Shape& index) {
            const auto here = static_cast<std::size_t>(offset_of(index, to));
            from_a[here] = offset_of(index, in_a);
            from_b[here] = offset_of(index, in_b);
        });
        const auto [a_step, b_step, most] = longest_rows(from_a, from_b);
        Size length = std::min(most, chunk);
        while (most % length) --length;
        a_step_ = a_step, b_step_ = b_step, length_ = length;
        for (Size at = 0; at < size_; at += length) {
            const auto here = static_cast<std::size_t>(at);
            rows_.push_back({from_a[here], from_b[here]});
        }
    }
    const char* name() const override { return "binary"; }
    Size max_parts() const override { return std::max<Size>(items_, items_ * size_ / chunk); }
    void run(const Part& part) override {
        const Size each = static_cast<Size>(rows_.size());
        const Range mine = partition(items_ * each, part);
        for (Size i = mine.first; i < mine.last; ++i) {
            const Size item = i / each;
            const Row& row = rows_[static_cast<std::size_t>(i % each)];
            combine_row(a_ + item * a_size_ + row.a, b_ + item * b_size_ + row.b,
                        output_ + i * length_);
        }
    }

  private:
    struct Row {
        Size a, b;
    };
    struct Strides {
        Size a, b, length;
    };

    static Shape repeated(const Shape& shape) {
        Shape steps = strides_of(shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (shape[axis] == 1) steps[axis] = 0;
        return steps;
    }

    // The longest rows of one length along which both steps stay what they are.
    static Strides longest_rows(const std::vector<Size>& a, const std::vector<Size>& b) {
        const Size size = static_cast<Size>(a.size());
        const auto at = [](const std::vector<Size>& from, Size i) {
            return from[static_cast<std::size_t>(i)];
        };
        if (size == 1) return {1, 1, 1};
        Strides strides{at(a, 1) - at(a, 0), at(b, 1) - at(b, 0), size};
        if (strides.a < 0 || strides.a > 1 || strides.b < 0 || strides.b > 1) return {1, 1, 1};
        Size run = 1;  // of the row that is being followed
        for (Size i = 1; i < size; ++i) {
            const bool goes_on =
                at(a, i) - at(a, i - 1) == strides.a && at(b, i) - at(b, i - 1) == strides.b;
            if (goes_on && run < strides.length) {
                ++run;
                continue;
            }
            strides.length = std::gcd(strides.length, run);
            run = 1;
        }
        strides.length = std::gcd(strides.length, run);
        return strides.length == 1 ? Strides{1, 1, 1} : strides;
    }

    void combine_row(const float* a, const float* b, float* to) const {
        for (Size i = 0; i < length_; i += lanes) {
            const Size left = length_ - i;
            Vector x = combine(kind_, a_step_ ? load(a + i, left) : fill(*a),
                               b_step_ ? load(b + i, left) : fill(*b));
            for (const PostOp& post : posts_) x = apply(post, x);
            store(to + i, x, left);
        }
    }

    Size items_;
    Kind kind_;
    PostOps posts_;
    const float *a_, *b_;
    float* output_;
    Size a_size_, b_size_, size_, a_step_ = 1, b_step_ = 1, length_ = 1;
    std::vector<Row> rows_;
};

class Softmax : public ItemwiseStep {
  public:
    Softmax(Size items, const Shape& shape, Size axis, const float* input, float* output)
        : ItemwiseStep(items), size_(count(shape)), length_(shape[static_cast<std::size_t>(axis)]),
          step_(strides_of(shape)[static_cast<std::size_t>(axis)]), input_(input), output_(output) {
        const Shape steps = strides_of(shape);
        for_each_index(shape, [&](const Shape& index) {
            if (index[static_cast<std::size_t>(axis)] == 0)
                starts_.push_back(offset_of(index, steps));
        });
    }
    const char* name() const override { return "softmax"; }

  protected:
    void item(Size number) override {
        for (Size start : starts_)
            row(input_ + number * size_ + start, output_ + number * size_ + start);
    }

  private:
    void row(const float* from, float* to) const {
        float largest = from[0], sum = 0;
        for (Size i = 1; i < length_; ++i) largest = std::max(largest, from[i * step_]);
        if (step_ == 1) {
            for (Size i = 0; i < length_; i += lanes)
                store(to + i, exponential<false>(load(from + i, length_ - i) - largest),
                      length_ - i);
            for (Size i = 0; i < length_; ++i) sum += to[i];
        } else {
            for (Size i = 0; i < length_; ++i)
                sum += to[i * step_] = std::exp(from[i * step_] - largest);
        }
        for (Size i = 0; i < length_; ++i) to[i * step_] /= sum;
    }
    Size size_, length_, step_;
    const float* input_;
    float* output_;
    std::vector<Size> starts_;
};

// Every number of the result is one of the input's, or 0: other orders, borders, repetition.
class IndexedCopy : public ItemwiseStep {
  public:
    // `from`: for each place of the result, where it comes from in an item; below 0: a zero.
    IndexedCopy(const char* name, Size items, std::vector<Size> from, Size input_size,
                const float* input, float* output)
        : ItemwiseStep(items), name_(name), from_(std::move(from)), input_size_(input_size),
          input_(input), output_(output) {
        for (Size source : from_) {
            const bool on = !runs_.empty() && source >= 0 && runs_.back().from >= 0 &&
                            source == runs_.back().from + runs_.back().length;
            if (on) ++runs_.back().length;
            else runs_.push_back({source, 1});
        }
        if (runs_.size() * 4 > from_.size()) runs_.clear();  // too short to be worth it
    }
    const char* name() const override { return name_; }

  protected:
    void item(Size number) override {
        const float* from = input_ + number * input_size_;
        float* to = output_ + number * static_cast<Size>(from_.size());
        if (runs_.empty())
            for (Size source : from_) *to++ = source < 0 ? 0.0f : from[source];
        for (const Run& run : runs_)
            if (run.from < 0) *to++ = 0.0f;
            else to = std::copy_n(from + run.from, run.length, to);
    }

  private:
    struct Run {
        Size from, length;
    };
    const char* name_;
    std::vector<Size> from_;
    std::vector<Run> runs_;
    Size input_size_;
    const float* input_;
    float* output_;
};

// One input of a concatenation: rows of `length` numbers, set into longer rows of the result.
class ConcatenateInput : public Step {
  public:
    ConcatenateInput(Size rows, Size length, Size output_step, const float* input, float* output)
        : rows_(rows), length_(length), output_step_(output_step), input_(input), output_(output) {}
    const char* name() const override { return "concatenate"; }
    Size max_parts() const override { return rows_; }
    void run(const Part& part) override {
        const Range mine = partition(rows_, part);
        for (Size row = mine.first; row < mine.last; ++row)
            std::copy_n(input_ + row * length_, length_, output_ + row * output_step_);
    }

  private:
    Size rows_, length_, output_step_;
    const float* input_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
