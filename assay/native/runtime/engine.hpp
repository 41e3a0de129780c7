// A network that takes batches. Images are independent: each thread takes some of them through
// all layers, a few at a time, so that what one layer wrote is in its core's cache for the next.
#pragma once

#include <stdexcept>
#include <string>

#include "choice.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

class Engine {
  public:
    Engine(const std::string& weights, const Settings& settings)
        : net_(described()), weights_(weights), constants_(weights_), settings_(settings),
          team_(settings.threads) {
        choose();
        ready(settings_.batch);
    }

    Engine(const Engine&) = delete;  // pipelines refer to the network and constants in here
    Engine& operator=(const Engine&) = delete;

    const Network& network() const { return net_; }
    Size at_once() const { return at_once_; }

    // What computes each layer of a full batch, as "direct", "winograd-4x3", …
    std::vector<std::string> kernels() {
        std::vector<std::string> found;
        for (const char* name : lane(at_once_, 0).names()) found.push_back(name);
        return found;
    }

    // A layer, what computes it, and the least of its CPU time in some runs, over one thread's
    // images.
    struct Timed {
        Value layer;
        std::string kernel;
        double seconds;
    };
    std::vector<Timed> timed_layers(int runs = 30) {
        Pipeline& here = lane(at_once_, 0);
        std::vector<double> least = here.timed();
        for (int run = 1; run < runs; ++run) {
            const std::vector<double> took = here.timed();
            for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], took[i]);
        }
        std::vector<Timed> found;
        const std::vector<Value> layers = here.layers();
        const std::vector<const char*> names = here.names();
        for (std::size_t i = 0; i < layers.size(); ++i)
            if (i == 0 || layers[i] != layers[i - 1])
                found.push_back({layers[i], names[i], least[static_cast<std::size_t>(layers[i])]});
        return found;
    }

    // Pipelines for batches of so many images; the first batch of another size makes its own.
    void ready(Size images) {
        if (images == 0) return;
        const Size parts = chunks(images), least = images / parts;
        for (int member = 0; member < lanes_at_once(); ++member) {
            lane(least, member);
            if (images % parts) lane(least + 1, member);
        }
    }

    // An array for each of the network's inputs and outputs.
    void run(const float* const* inputs, Order order, float* const* outputs, Size images) {
        ready(images);
        const int parts = chunks(images);
        mistake();  // of earlier runs
        const auto each = [&](int part, int member) {
            const Range mine = share(images, {part, parts, nullptr});
            lanes_.at({mine.last - mine.first, member})->run(inputs, order, outputs, mine.first);
        };
        if (!together()) {
            team_.share_out(parts, each);
        } else {
            for (int part = 0; part < parts; ++part) each(part, 0);
        }
        if (std::string text = mistake(); !text.empty()) throw std::out_of_range(text);
    }

  private:
    static Network described() {
        Network net;
        describe(net);
        return net;
    }

    std::string mistake() {
        std::string text;
        for (auto& [size, pipeline] : lanes_)
            if (std::string here = pipeline->mistake(); !here.empty()) text = here;
        return text;
    }

    // Threads share each layer where there are too few images to give each its own.
    bool together() const { return settings_.batch < team_.members(); }
    int lanes_at_once() const { return together() ? 1 : team_.members(); }

    // As many for each thread, and as many images in each, as can be.
    int chunks(Size images) const {
        const Size round = at_once_ * lanes_at_once();
        return static_cast<int>(std::min(images, (images + round - 1) / round * lanes_at_once()));
    }

    Pipeline& lane(Size images, int member) {
        auto& place = lanes_[{images, member}];
        if (!place)
            place = std::make_unique<Pipeline>(net_, constants_, images,
                                               together() ? &team_ : nullptr, kernels_);
        return *place;
    }

    // The number of images taken at once that takes least time for each, and its kernels.
    void choose() {
        const Size most = (settings_.batch + team_.members() - 1) / team_.members();
        at_once_ = std::min<Size>(most, 4);
        kernels_ = Chooser(net_, constants_, at_once_, settings_.allowed).guess();
        double best = 0, left = settings_.seconds;
        for (Size images = 1; images <= most && left > 0; images *= 4) {
            const Chooser chooser(net_, constants_, images, settings_.allowed);
            // as many runs of each size, so that none has a better chance of a lucky one
            const int runs = most == 1 ? 100 : 6;
            left -= best * static_cast<double>(images * runs) * chooser.rounds();
            if (left < 0) break;
            const Chosen chosen = chooser.measure(runs, settings_.seconds);
            if (best > 0 && chosen.seconds > best) continue;
            best = chosen.seconds;
            at_once_ = images;
            kernels_ = chosen.kernels;
        }
    }

    Network net_;
    Weights weights_;
    Constants constants_;
    Settings settings_;
    Team team_;
    Size at_once_ = 1;
    std::vector<Kernel> kernels_;
    std::map<std::pair<Size, int>, std::unique_ptr<Pipeline>> lanes_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
