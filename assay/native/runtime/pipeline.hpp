// A network prepared for a number of images and threads; running it allocates nothing.
#pragma once

#include <time.h>

#include "lowering.hpp"
#include "thread_pool.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// How an image is handed over; it is the same array either way round.
enum class Order { channels_first, channels_last };

class Pipeline {
  public:
    // Steps are split among the threads of the pool, or not split where it is null.
    Pipeline(const Network& net, Constants& constants, Size images, ThreadPool* pool,
             const std::vector<Kernel>& kernels)
        : net_(net), plan_(plan(net)), images_(images), pool_(pool),
          arena_(plan_.size * images + 4 * lanes) {
        const int threads = pool ? pool->threads() : 1;
        Lowering lowering(net, plan_, constants, images, threads, arena_.data(), kernels);
        Size scratch = 0;
        for (Value value = 0; value < static_cast<Value>(net.layers.size()); ++value)
            for (auto& step : lowering.steps(value)) {
                if (net.at(value).checks_indices) checked_.push_back(step.get());
                scratch = std::max(scratch, step->scratch());
                const Size parts = std::min<Size>(threads, step->max_parts());
                steps_.push_back({value, static_cast<int>(parts), std::move(step)});
            }
        scratch_per_thread_ = (scratch + lanes + 15) / 16 * 16;
        scratch_ = Buffer<float>(scratch_per_thread_ * threads);
        for (Value input : net.inputs) inputs_.push_back(lowering.at(input));
        for (Value result : net.results) outputs_.push_back(lowering.at(result));
    }

    Size images() const { return images_; }

    // Of each input and output, the images from `first` on.
    void run(const float* const* inputs, Order order, float* const* outputs, Size first) {
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const Layer& layer = net_.at(net_.inputs[i]);
            read(inputs[i] + first * count(layer.shape), layer, order, inputs_[i]);
        }
        for (ScheduledStep& each : steps_) compute(each);
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            const Shape& shape = net_.at(net_.results[i]).shape;
            write(outputs_[i], shape, outputs[i] + first * count(shape));
        }
    }

    // The input error since the last call; "": none.
    std::string input_error() {
        for (Step* step : checked_)
            if (std::string text = step->input_error(); !text.empty()) return text;
        return "";
    }

    // CPU seconds of each layer in this thread, in a run over whatever the input holds.
    std::vector<double> time_layers() {
        std::vector<double> seconds(net_.layers.size(), 0.0);
        for (ScheduledStep& each : steps_) {
            const double start = thread_cpu_seconds();
            compute(each);
            seconds[static_cast<std::size_t>(each.layer)] += thread_cpu_seconds() - start;
        }
        return seconds;
    }

    // Which layer each step belongs to.
    std::vector<Value> layers() const {
        std::vector<Value> result;
        for (const ScheduledStep& each : steps_) result.push_back(each.layer);
        return result;
    }

    // What does each step, by the names of the kernels.
    std::vector<const char*> kernel_names() const {
        std::vector<const char*> result;
        for (const ScheduledStep& each : steps_) result.push_back(each.step->name());
        return result;
    }

  private:
    struct ScheduledStep {
        Value layer;
        int parts;
        std::unique_ptr<Step> step;
    };

    // The thread's own time only: what other programs take away is not the kernel's.
    static double thread_cpu_seconds() {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }

    void compute(ScheduledStep& each) {
        Step& step = *each.step;
        if (each.parts == 1) return step.run({0, 1, scratch_.data()});
        pool_->parallel_for(each.parts, [&](int part, int thread) {
            step.run({part, each.parts, scratch_.data() + thread * scratch_per_thread_});
        });
    }

    // What is no image comes as its shape says, whatever the order of images.
    void read(const float* from, const Layer& layer, Order order, float* into) const {
        const Shape& shape = layer.shape;
        const Size size = count(shape);
        if ((layer.is_image && order == Order::channels_last) || lies_row_major(shape)) {
            std::copy_n(from, images_ * size, into);
            return;
        }
        const Size pixels = shape[1] * shape[2];
        for (Size image = 0; image < images_; ++image)
            for (Size c = 0; c < shape[0]; ++c) {
                const float* plane = from + image * size + c * pixels;
                float* to = into + image * size + c;
                for (Size pixel = 0; pixel < pixels; ++pixel) to[pixel * shape[0]] = plane[pixel];
            }
    }

    void write(const float* from, const Shape& shape, float* to) const {
        const Size size = count(shape);
        if (lies_row_major(shape)) {
            std::copy_n(from, images_ * size, to);
            return;
        }
        const Size pixels = shape[1] * shape[2];
        for (Size image = 0; image < images_; ++image)
            for (Size c = 0; c < shape[0]; ++c)
                for (Size pixel = 0; pixel < pixels; ++pixel)
                    *to++ = from[image * size + pixel * shape[0] + c];
    }

    const Network& net_;
    Plan plan_;
    Size images_;
    ThreadPool* pool_;
    Buffer<float> arena_, scratch_;
    std::vector<ScheduledStep> steps_;
    std::vector<Step*> checked_;  // those that check inputs
    Size scratch_per_thread_ = 0;
    std::vector<float*> inputs_, outputs_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
