// Batch norms that could not be folded into a layer, with what follows them, in one pass.
#pragma once

#include <numeric>

#include "elementwise.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// A scale and a shift for each index along axis 0, then functions. That axis is the innermost in
// memory where the item is an image or a vector, else the outermost: see `steps_of`.
class Normalize : public Step {
  public:
    Normalize(Size items, const Shape& shape, const float* scale, const float* shift, PostOps posts,
              const float* input, float* output)
        : channels_(shape[0]), step_(strides_of(shape)[0]), posts_(std::move(posts)), input_(input),
          output_(output) {
        // Innermost: as many pixels as fill whole vectors are one row, with its scales beside each
        // other.
        const Size together = step_ == 1 ? lanes / std::gcd(channels_, lanes) : 1;
        row_ = step_ == 1 ? channels_ * together : step_;
        size_ = items * count(shape);
        for (Size i = 0; i < together; ++i) {
            scale_.insert(scale_.end(), scale, scale + channels_);
            shift_.insert(shift_.end(), shift, shift + channels_);
        }
    }
    const char* name() const override { return "normalize"; }
    Size max_parts() const override { return std::max<Size>(1, size_ / chunk); }

    void run(const Part& part) override {
        const Range rows = partition((size_ + row_ - 1) / row_, part);
        for (Size row = rows.first; row < rows.last; ++row) {
            const Size first = row * row_, length = std::min(row_, size_ - first);
            const auto c = static_cast<std::size_t>(row % channels_);
            for (Size i = 0; i < length; i += lanes) {
                const Size left = length - i;
                const bool is_innermost = step_ == 1;
                const Vector scale = is_innermost ? load(scale_.data() + i, left) : fill(scale_[c]);
                const Vector shift = is_innermost ? load(shift_.data() + i, left) : fill(shift_[c]);
                Vector x = load(input_ + first + i, left) * scale + shift;
                for (const PostOp& post : posts_) x = apply(post, x);
                store(output_ + first + i, x, left);
            }
        }
    }

  private:
    Size channels_, step_, row_ = 1, size_ = 0;
    std::vector<float> scale_, shift_;
    PostOps posts_;
    const float* input_;
    float* output_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
