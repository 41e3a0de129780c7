// A network made ready for a number of images and a team of threads; running it allocates nothing.
#pragma once

#include <omp.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "lowering.hpp"

namespace assay {

// How an image is handed over; it is the same array either way round.
enum class Order { channels_first, channels_last };

class Pipeline {
  public:
    Pipeline(const Network& net, Constants& constants, Size images, int team,
             const std::vector<Kernel>& kernels)
        : net_(net), plan_(plan(net)), images_(images), team_(team),
          arena_(plan_.size * images + 4 * lanes) {
        omp_set_num_threads(team);  // oneDNN prepares for as many as this says
        Lowering lowering(net, plan_, constants, images, arena_.data(), kernels);
        Size scratch = 0;
        for (Value value = 0; value < static_cast<Value>(net.layers.size()); ++value)
            for (auto& step : lowering.steps(value)) {
                scratch = std::max(scratch, step->scratch());
                steps_.push_back({value, std::move(step)});
            }
        scratch = (scratch + lanes + 15) / 16 * 16;
        scratch_ = Buffer<float>(scratch * team);
        for (int i = 0; i < team; ++i)
            workers_.push_back({i, team, scratch_.data() + i * scratch});
        input_ = lowering.at(0);
        output_ = lowering.at(net.result);
    }

    Size images() const { return images_; }

    void run(const float* input, Order order, float* output) {
        read(input, order);
        compute();
        write(output);
    }

    // CPU seconds of each layer, for a team of one, in a run over whatever the input holds.
    std::vector<double> timed() {
        std::vector<double> seconds(net_.layers.size(), 0.0);
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const double start = now();
            compute(i, i + 1);
            seconds[static_cast<std::size_t>(steps_[i].layer)] += now() - start;
        }
        return seconds;
    }

    // What does each step, by the names of the kernels.
    std::vector<const char*> names() const {
        std::vector<const char*> found;
        for (const Placed& each : steps_) found.push_back(each.step->name());
        return found;
    }

  private:
    struct Placed {
        Value layer;
        std::unique_ptr<Step> step;
    };

    // The thread's own time only: what other programs take away is not the kernel's.
    static double now() {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }

    void compute() { compute(0, steps_.size()); }

    void compute(std::size_t first, std::size_t last) {
        if (team_ == 1) {
            for (std::size_t i = first; i < last; ++i) steps_[i].step->run(workers_[0]);
            return;
        }
        while (first < last) {
            std::size_t end = first;
            while (end < last && !steps_[end].step->alone()) ++end;
            if (end > first) together(first, end);
            if (end < last) steps_[end++].step->run(workers_[0]);
            first = end;
        }
    }

    // The team goes through these steps side by side, and meets after each.
    void together(std::size_t first, std::size_t last) {
        met_.store(0, std::memory_order_relaxed);
#pragma omp parallel num_threads(team_)
        {
            const int here = omp_get_num_threads();  // fewer than the team, if the system says so
            for (std::size_t i = first; i < last; ++i) {
                for (int number = omp_get_thread_num(); number < team_; number += here)
                    steps_[i].step->run(workers_[static_cast<std::size_t>(number)]);
                meet(static_cast<int>(i - first + 1) * here);
            }
        }
    }

    // Spinning is quicker than sleeping by microseconds, which is what a small layer takes.
    void meet(int all) {
        met_.fetch_add(1, std::memory_order_acq_rel);
        for (int spins = 0; met_.load(std::memory_order_acquire) < all; ++spins)
            if (spins > 2000) std::this_thread::yield();
    }

    void read(const float* from, Order order) {
        const Shape& shape = net_.at(0).shape;
        const Size size = count(shape);
        if (order == Order::channels_last || lies_row_major(shape)) {
            std::copy_n(from, images_ * size, input_);
            return;
        }
        const Size pixels = shape[1] * shape[2];
        for (Size image = 0; image < images_; ++image)
            for (Size c = 0; c < shape[0]; ++c) {
                const float* plane = from + image * size + c * pixels;
                float* to = input_ + image * size + c;
                for (Size pixel = 0; pixel < pixels; ++pixel) to[pixel * shape[0]] = plane[pixel];
            }
    }

    void write(float* to) const {
        const Shape& shape = net_.at(net_.result).shape;
        const Size size = count(shape);
        if (lies_row_major(shape)) {
            std::copy_n(output_, images_ * size, to);
            return;
        }
        const Size pixels = shape[1] * shape[2];
        for (Size image = 0; image < images_; ++image)
            for (Size c = 0; c < shape[0]; ++c)
                for (Size pixel = 0; pixel < pixels; ++pixel)
                    *to++ = output_[image * size + pixel * shape[0] + c];
    }

    const Network& net_;
    Plan plan_;
    Size images_;
    int team_;
    Buffer<float> arena_, scratch_;
    std::vector<Placed> steps_;
    std::vector<Worker> workers_;
    float *input_ = nullptr, *output_ = nullptr;
    std::atomic<int> met_{0};
};

}  // namespace assay
