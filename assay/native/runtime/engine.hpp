// A network that takes batches. Images are independent: each thread takes some of them through
// all layers, a few at a time, so that what one layer wrote is in its core's cache for the next.
#pragma once

#include <stdexcept>
#include <string>

#include "autotuner.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

class Engine {
  public:
    Engine(const std::string& weights, const Settings& settings)
        : net_(build_network()), weights_(weights), constants_(weights_), settings_(settings),
          pool_(settings.threads) {
        autotune();
        prepare(settings_.batch);
    }

    Engine(const Engine&) = delete;  // pipelines refer to the network and constants in here
    Engine& operator=(const Engine&) = delete;

    const Network& network() const { return net_; }
    Size microbatch() const { return microbatch_; }

    // What computes each layer of a full batch, as "direct", "winograd-4x3", …
    std::vector<std::string> kernels() {
        std::vector<std::string> result;
        for (const char* name : pipeline(microbatch_, 0).kernel_names()) result.push_back(name);
        return result;
    }

    // A layer, what computes it, and the least of its CPU time in some runs, over one thread's
    // images.
    struct LayerTime {
        Value layer;
        std::string kernel;
        double seconds;
    };
    std::vector<LayerTime> time_layers(int runs = 30) {
        Pipeline& pipeline_of_thread = pipeline(microbatch_, 0);
        std::vector<double> minimum = pipeline_of_thread.time_layers();
        for (int run = 1; run < runs; ++run) {
            const std::vector<double> times = pipeline_of_thread.time_layers();
            for (std::size_t i = 0; i < minimum.size(); ++i)
                minimum[i] = std::min(minimum[i], times[i]);
        }
        std::vector<LayerTime> result;
        const std::vector<Value> layers = pipeline_of_thread.layers();
        const std::vector<const char*> kernel_names = pipeline_of_thread.kernel_names();
        for (std::size_t i = 0; i < layers.size(); ++i)
            if (i == 0 || layers[i] != layers[i - 1])
                result.push_back(
                    {layers[i], kernel_names[i], minimum[static_cast<std::size_t>(layers[i])]});
        return result;
    }

    // Creates the pipelines for batches of this size; a batch of another size creates its own.
    void prepare(Size images) {
        if (images == 0) return;
        const Size parts = chunk_count(images), images_per_part = images / parts;
        for (int thread = 0; thread < concurrent_pipelines(); ++thread) {
            pipeline(images_per_part, thread);
            if (images % parts) pipeline(images_per_part + 1, thread);
        }
    }

    // An array for each of the network's inputs and outputs.
    void run(const float* const* inputs, Order order, float* const* outputs, Size images) {
        prepare(images);
        const int parts = chunk_count(images);
        input_error();  // of earlier runs
        const auto each = [&](int part, int thread) {
            const Range mine = partition(images, {part, parts, nullptr});
            pipelines_.at({mine.last - mine.first, thread})
                ->run(inputs, order, outputs, mine.first);
        };
        if (!splits_layers()) {
            pool_.parallel_for(parts, each);
        } else {
            for (int part = 0; part < parts; ++part) each(part, 0);
        }
        if (std::string text = input_error(); !text.empty()) throw std::out_of_range(text);
    }

  private:
    static Network build_network() {
        Network net;
        describe(net);
        return net;
    }

    std::string input_error() {
        std::string text;
        for (auto& [size, each] : pipelines_)
            if (std::string message = each->input_error(); !message.empty()) text = message;
        return text;
    }

    // Threads share each layer where there are too few images to give each its own.
    bool splits_layers() const { return settings_.batch < pool_.threads(); }
    int concurrent_pipelines() const { return splits_layers() ? 1 : pool_.threads(); }

    // As many for each thread, and as many images in each, as can be.
    int chunk_count(Size images) const {
        const Size images_per_round = microbatch_ * concurrent_pipelines();
        return static_cast<int>(std::min(
            images, (images + images_per_round - 1) / images_per_round * concurrent_pipelines()));
    }

    Pipeline& pipeline(Size images, int thread) {
        auto& entry = pipelines_[{images, thread}];
        if (!entry)
            entry = std::make_unique<Pipeline>(net_, constants_, images,
                                               splits_layers() ? &pool_ : nullptr, kernels_);
        return *entry;
    }

    // Selects the microbatch with the least time per image, and its kernels.
    void autotune() {
        const Size max_images = (settings_.batch + pool_.threads() - 1) / pool_.threads();
        microbatch_ = std::min<Size>(max_images, 4);
        kernels_ = Autotuner(net_, constants_, microbatch_, settings_.allowed).guess();
        double best = 0, left = settings_.seconds;
        for (Size images = 1; images <= max_images && left > 0; images *= 4) {
            const Autotuner chooser(net_, constants_, images, settings_.allowed);
            // as many runs of each size, so that none has a better chance of a lucky one
            const int runs = max_images == 1 ? 100 : 6;
            left -= best * static_cast<double>(images * runs) * chooser.rounds();
            if (left < 0) break;
            const TunedKernels tuned = chooser.tune(runs, settings_.seconds);
            if (best > 0 && tuned.seconds > best) continue;
            best = tuned.seconds;
            microbatch_ = images;
            kernels_ = tuned.kernels;
        }
    }

    Network net_;
    Weights weights_;
    Constants constants_;
    Settings settings_;
    ThreadPool pool_;
    Size microbatch_ = 1;
    std::vector<Kernel> kernels_;
    std::map<std::pair<Size, int>, std::unique_ptr<Pipeline>> pipelines_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
