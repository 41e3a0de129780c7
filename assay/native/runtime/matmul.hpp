// Products of two values' matrices, rows of a table, and values that are always the same.
#pragma once

#include <atomic>
#include <string>

#include "layout.hpp"
#include "step.hpp"
#include "tile.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Matrices lie as their shapes' layout says; each product is done on copies in the order that the
// tiles read.
class MatMul : public Step {
  public:
    struct Operand {
        Shape shape;
        const float* data;
        bool fixed;  // the same for all items
    };

    MatMul(Size items, const Shape& shape, const Operand& a, const Operand& b, float* output)
        : items_(items), rows_(shape[shape.size() - 2]), wide_(shape.back()),
          depth_(a.shape.back()), a_(a.data), b_(b.data), output_(output),
          a_size_(a.fixed ? 0 : count(a.shape)), b_size_(b.fixed ? 0 : count(b.shape)),
          size_(count(shape)), a_step_(last_two(a.shape)), b_step_(last_two(b.shape)),
          step_(last_two(shape)), columns_(columns_for(wide_)) {
        const Shape outer(shape.begin(), shape.end() - 2);
        for_each_index(outer, [&](const Shape& index) {
            products_.push_back(
                {start(a.shape, index), start(b.shape, index), start(shape, index)});
        });
        blocks_ = (wide_ + columns_ * lanes - 1) / (columns_ * lanes);
    }

    const char* name() const override { return "matmul"; }
    Size max_parts() const override { return items_ * static_cast<Size>(products_.size()); }
    Size scratch() const override { return rows_ * (depth_ + wide_) + depth_ * padded(); }

    void run(const Part& part) override {
        const Size each = static_cast<Size>(products_.size());
        const Range mine = partition(max_parts(), part);
        for (Size i = mine.first; i < mine.last; ++i) {
            const Product& at = products_[static_cast<std::size_t>(i % each)];
            const Size item = i / each;
            multiply(a_ + item * a_size_ + at.a, b_ + item * b_size_ + at.b,
                     output_ + item * size_ + at.to, part.scratch);
        }
    }

  private:
    struct Product {
        Size a, b, to;
    };

    static Pair last_two(const Shape& shape) {
        const Shape steps = strides_of(shape);
        return {steps[steps.size() - 2], steps.back()};
    }

    // Where the matrix of these outer indices begins; an axis of size 1 is repeated.
    static Size start(const Shape& shape, const Shape& outer) {
        const Shape steps = strides_of(shape);
        Size offset = 0;
        for (std::size_t axis = 0; axis < outer.size(); ++axis)
            if (shape[axis] > 1) offset += outer[axis] * steps[axis];
        return offset;
    }

    Size padded() const { return blocks_ * columns_ * lanes; }

    void multiply(const float* a, const float* b, float* to, float* scratch) const {
        static constexpr Size here = 0;
        float *rows = scratch, *product = rows + rows_ * depth_, *packed = product + rows_ * wide_;
        for (Size r = 0; r < rows_; ++r)
            for (Size k = 0; k < depth_; ++k)
                rows[r * depth_ + k] = a[r * a_step_[0] + k * a_step_[1]];
        const Size block = columns_ * lanes;
        for (Size n = 0; n < padded(); ++n)
            for (Size k = 0; k < depth_; ++k)
                packed[(n / block * depth_ + k) * block + n % block] =
                    n < wide_ ? b[k * b_step_[0] + n * b_step_[1]] : 0.0f;
        Tile tile;
        tile.taps = &here;
        tile.depth = tile.input_step = depth_;
        tile.output_step = wide_;
        for (Size n = 0; n < blocks_; ++n)
            for_each_tile(rows_, max_rows(columns_), [&](Size first, Size high) {
                tile_function<float>(columns_, high)(
                    tile, rows + first * depth_, packed + n * depth_ * block, nullptr,
                    product + first * wide_ + n * block, wide_ - n * block);
            });
        for (Size r = 0; r < rows_; ++r)
            for (Size n = 0; n < wide_; ++n)
                to[r * step_[0] + n * step_[1]] = product[r * wide_ + n];
    }

    Size items_, rows_, wide_, depth_;
    const float *a_, *b_;
    float* output_;
    Size a_size_, b_size_, size_;
    Pair a_step_, b_step_, step_;
    int columns_;
    Size blocks_ = 0;
    std::vector<Product> products_;
};

// A row of the table for each number. One beyond the table is the nearest that it has; where
// `checked`, negative ones count from the end, and one beyond the table is an error.
class Embedding : public Step {
  public:
    // `each`: numbers for which there is one table, then comes the next; 0: it is the same for all.
    Embedding(Size numbers, Size rows, Size length, const float* table, const float* input,
              float* output, bool checked, Size each = 0)
        : numbers_(numbers), rows_(rows), length_(length), table_(table), input_(input),
          output_(output), checked_(checked), each_(each) {}
    const char* name() const override { return "embedding"; }
    Size max_parts() const override { return numbers_; }
    void run(const Part& part) override {
        const Range mine = partition(numbers_, part);
        for (Size i = mine.first; i < mine.last; ++i) {
            const auto last = static_cast<float>(rows_ - 1);
            float index = input_[i];
            if (checked_ && index < 0) index += static_cast<float>(rows_);
            if (checked_ && !(index >= 0 && index <= last)) {
                invalid_index_.store(input_[i], std::memory_order_relaxed);
                out_of_range_.store(true, std::memory_order_relaxed);
            }
            const float wanted = index >= 0 ? std::min(index, last) : 0.0f;
            const float* table = table_ + (each_ ? i / each_ * rows_ * length_ : 0);
            std::copy_n(table + static_cast<Size>(wanted) * length_, length_,
                        output_ + i * length_);
        }
    }
    std::string input_error() override {
        if (!out_of_range_.exchange(false)) return "";
        return "The index " + std::to_string(static_cast<long long>(invalid_index_.load())) +
               " is out of range: the table of this layer has " + std::to_string(rows_) + " rows.";
    }

  private:
    Size numbers_, rows_, length_;
    const float *table_, *input_;
    float* output_;
    bool checked_;
    Size each_;
    std::atomic<float> invalid_index_{0};
    std::atomic<bool> out_of_range_{false};
};

// The same numbers for every item.
class Repeat : public Step {
  public:
    Repeat(Size items, Size size, const float* from, float* output)
        : items_(items), size_(size), from_(from), output_(output) {}
    const char* name() const override { return "constant"; }
    Size max_parts() const override { return items_; }
    void run(const Part& part) override {
        const Range mine = partition(items_, part);
        for (Size i = mine.first; i < mine.last; ++i)
            std::copy_n(from_, size_, output_ + i * size_);
    }

  private:
    Size items_, size_;
    const float* from_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
