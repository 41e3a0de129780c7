// Which kernel for each layer: by guess, or by timing every candidate where it will run.
#pragma once

#include <chrono>

#include "pipeline.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Settings {
    Size batch = 1;
    int threads = 1;
    Allowed allowed = Allowed::all;
    double seconds = 1;  // for choosing kernels; 0: guess
};

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Chosen {
    std::vector<Kernel> kernels;  // for each layer
    double seconds = 0;           // for an image, as timed; 0: not timed
};

class Chooser {
  public:
    Chooser(const Network& net, Constants& constants, Size images, Allowed allowed)
        : net_(net), constants_(constants), images_(images) {
        const Plan where = plan(net);
        const std::vector<Kernel> none(net.layers.size(), Kernel::direct);
        std::vector<float> nowhere(1);
        Lowering lowering(net, where, constants, images, 1, nowhere.data(), none);
        for (Value value = 0; value < static_cast<Value>(net.layers.size()); ++value) {
            const Layer& layer = net.at(value);
            const bool open = layer.kind == Kind::convolution || layer.kind == Kind::dense;
            options_.push_back({Kernel::direct});
            if (open) {
                const Work work = lowering.work(value);
                options_.back() = options(work, allowed);
            }
            rounds_ = std::max(rounds_, options_.back().size());
        }
    }

    std::vector<Kernel> guess() const { return round(0); }
    double rounds() const { return static_cast<double>(rounds_); }

    // Each round runs the whole network with another candidate of every layer, so that each is
    // timed with the caches as its neighbours leave them. One thread does it, also for a team: its
    // CPU time is steady where a clock is not.
    Chosen measure(int runs, double seconds) const {
        std::vector<std::vector<double>> took;
        for (std::size_t number = 0; number < rounds_; ++number) {
            Pipeline pipeline(net_, constants_, images_, nullptr, round(number));
            took.push_back(fastest(pipeline, runs, seconds / rounds()));
        }
        Chosen found;
        for (std::size_t layer = 0; layer < options_.size(); ++layer) {
            std::size_t best = 0;
            for (std::size_t number = 1; number < options_[layer].size(); ++number)
                if (took[number][layer] < took[best][layer]) best = number;
            found.kernels.push_back(options_[layer][best]);
            found.seconds += took[best][layer] / static_cast<double>(images_);
        }
        return found;
    }

  private:
    std::vector<Kernel> round(std::size_t number) const {
        std::vector<Kernel> found;
        for (const auto& options : options_)
            found.push_back(options[std::min(number, options.size() - 1)]);
        return found;
    }

    // The least time of each layer; other programs only ever make one longer.
    static std::vector<double> fastest(Pipeline& pipeline, int runs, double seconds) {
        const auto start = Clock::now();
        std::vector<double> best = pipeline.timed();
        for (int run = 1; run < runs && (run < 6 || since(start) < seconds); ++run) {
            const std::vector<double> took = pipeline.timed();
            for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], took[i]);
        }
        return best;
    }

    const Network& net_;
    Constants& constants_;
    Size images_;
    std::vector<std::vector<Kernel>> options_;
    std::size_t rounds_ = 1;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
