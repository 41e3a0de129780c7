// A step of a running network, with all its pointers and sizes resolved (a primitive in oneDNN).
#pragma once

#include <algorithm>
#include <string>

#include "activation.hpp"
#include "memory.hpp"
#include "network.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Which part of a step is to be done, and floats that it may write as it likes.
struct Part {
    int number = 0;
    int parts = 1;
    float* scratch = nullptr;
};

class Step {
  public:
    virtual ~Step() = default;
    // Called once for every part, by any thread, in any order.
    virtual void run(const Part& part) = 0;
    virtual Size max_parts() const = 0;         // that it is worth cutting it into
    virtual Size scratch() const { return 0; }  // floats, for each part at work
    virtual const char* name() const = 0;
    // The input error since the last call; "": none.
    virtual std::string input_error() { return ""; }

    std::vector<std::shared_ptr<const void>>
        kept_constants;  // constants that have to outlive the step
};

struct Range {
    Size first, last;
};

// The range of a part, where `total` is divided evenly.
inline Range partition(Size total, const Part& part) {
    return {total * part.number / part.parts, total * (part.number + 1) / part.parts};
}

// What a convolution or dense layer computes, over a number of images.
struct Geometry {
    Size images, channels, height, width;  // in
    Size filters, high, wide;              // out
    Pair window, strides, dilations;
    Pads pads;
    Size groups;

    Size pixels() const { return images * high * wide; }  // out
    Size weights() const { return filters * channels / groups * window[0] * window[1]; }
    bool padded() const { return pads[0] || pads[1] || pads[2] || pads[3]; }
    // Every output pixel is a product of one input pixel: rows of a matrix, image borders or not.
    bool pointwise() const {
        return window == Pair{1, 1} && strides == Pair{1, 1} && !padded() && groups == 1;
    }
};

inline Geometry geometry(const Network& net, const Layer& layer, Size images) {
    const Shape& from = net.at(layer.inputs[0]).shape;
    const Shape& to = layer.shape;
    if (layer.kind == Kind::dense)
        return {images * count(to) / to.back(),
                from.back(),
                1,
                1,
                to.back(),
                1,
                1,
                {1, 1},
                {1, 1},
                {1, 1},
                {0, 0, 0, 0},
                1};
    const Size each = layer.max_pool_2x2 ? 2 : 1;
    return {images,       from[0],      from[1],       from[2],         to[0],      to[1] * each,
            to[2] * each, layer.window, layer.strides, layer.dilations, layer.pads, layer.groups};
}

// For kernels that add up weights, or multiply them by some hundreds, on the way.
inline bool far_from_overflow(const float* weight, Size count) {
    return std::all_of(weight, weight + count, [](float each) {
        return std::fabs(each) <= 1e30f;  // and not where it is no number
    });
}

// What is applied to the sums of a convolution or dense layer before they are stored.
struct Epilogue {
    const float* bias = nullptr;  // as long as the filters, padded to whole tiles; null: none
    const float* residual = nullptr;
    bool adds_residual = false;  // the residual, at once
    bool relu = false;           // then this
    PostOps post_ops;            // and then these, in a pass over what was just written
};

ASSAY_INLINE Vector apply_epilogue(const Epilogue& after, Vector sum, Size at, Size left) {
    if (after.adds_residual) sum += load(after.residual + at, left);
    if (after.relu) sum = at_least(sum, Vector{});
    for (const PostOp& post : after.post_ops)
        sum = post.function == Function::residual ? sum + load(after.residual + at, left)
                                                  : apply(post, sum);
    return sum;
}

// Of a relu with a limit that comes first in the pass, which is then left out of it; 0: none does.
// For a kernel that has the numbers in registers still.
inline float take_relu_limit(Epilogue& after) {
    if (after.relu || after.post_ops.empty()) return 0;
    const PostOp first = after.post_ops.front();
    if (first.function != Function::relu || first.alpha != 0) return 0;
    after.post_ops.erase(after.post_ops.begin());
    return first.limit;
}

inline Epilogue epilogue(const Layer& layer, const float* residual) {
    Epilogue result;
    result.residual = residual;
    std::size_t next = 0;
    const PostOps& posts = layer.post_ops;
    if (next < posts.size() && posts[next].function == Function::residual)
        result.adds_residual = true, ++next;
    if (next < posts.size() && posts[next].function == Function::relu && posts[next].alpha == 0 &&
        posts[next].limit == 0)
        result.relu = true, ++next;
    result.post_ops.assign(posts.begin() + static_cast<Size>(next), posts.end());
    return result;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
