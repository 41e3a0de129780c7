// Selects a kernel for each layer: by a fixed guess, or by timing each candidate in its network.
#pragma once

#include <chrono>

#include "pipeline.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Settings {
    Size batch = 1;
    int threads = 1;
    Allowed allowed = Allowed::all;
    double seconds = 1;  // for timing kernels; 0: guess
};

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct TunedKernels {
    std::vector<Kernel> kernels;  // for each layer
    double seconds = 0;           // for an image, as timed; 0: not timed
};

class Autotuner {
  public:
    Autotuner(const Network& net, Constants& constants, Size images, Allowed allowed)
        : net_(net), constants_(constants), images_(images) {
        const Plan memory = plan(net);
        const std::vector<Kernel> defaults(net.layers.size(), Kernel::direct);
        std::vector<float> empty_arena(1);
        Lowering lowering(net, memory, constants, images, 1, empty_arena.data(), defaults);
        for (Value value = 0; value < static_cast<Value>(net.layers.size()); ++value) {
            const Layer& layer = net.at(value);
            const bool has_choice = layer.kind == Kind::convolution || layer.kind == Kind::dense;
            candidates_.push_back({Kernel::direct});
            if (has_choice) {
                const KernelArguments arguments = lowering.kernel_arguments(value);
                candidates_.back() = kernel_candidates(arguments, allowed);
            }
            rounds_ = std::max(rounds_, candidates_.back().size());
        }
    }

    std::vector<Kernel> guess() const { return round(0); }
    double rounds() const { return static_cast<double>(rounds_); }

    // Each round runs the whole network with another candidate of every layer, so that each is
    // timed with the cache contents that its neighbours leave. One thread runs it, also for a pool:
    // its CPU time is stable where wall-clock time is not.
    TunedKernels tune(int runs, double seconds) const {
        std::vector<std::vector<double>> times;
        for (std::size_t number = 0; number < rounds_; ++number) {
            Pipeline pipeline(net_, constants_, images_, nullptr, round(number));
            times.push_back(measure_minimum(pipeline, runs, seconds / rounds()));
        }
        TunedKernels result;
        for (std::size_t layer = 0; layer < candidates_.size(); ++layer) {
            std::size_t best = 0;
            for (std::size_t number = 1; number < candidates_[layer].size(); ++number)
                if (times[number][layer] < times[best][layer]) best = number;
            result.kernels.push_back(candidates_[layer][best]);
            result.seconds += times[best][layer] / static_cast<double>(images_);
        }
        return result;
    }

  private:
    std::vector<Kernel> round(std::size_t number) const {
        std::vector<Kernel> kernels;
        for (const auto& candidates : candidates_)
            kernels.push_back(candidates[std::min(number, candidates.size() - 1)]);
        return kernels;
    }

    // The minimum time of each layer: interference by other programs only adds time.
    static std::vector<double> measure_minimum(Pipeline& pipeline, int runs, double seconds) {
        const auto start = Clock::now();
        std::vector<double> best = pipeline.time_layers();
        for (int run = 1; run < runs && (run < 6 || seconds_since(start) < seconds); ++run) {
            const std::vector<double> times = pipeline.time_layers();
            for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], times[i]);
        }
        return best;
    }

    const Network& net_;
    Constants& constants_;
    Size images_;
    std::vector<std::vector<Kernel>> candidates_;
    std::size_t rounds_ = 1;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
