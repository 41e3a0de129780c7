// A network that takes batches. Images are independent: each thread takes some of them through
// all layers, a few at a time, so that what one layer wrote is in its core's cache for the next.
#pragma once

#include "choice.hpp"

namespace assay {

class Engine {
  public:
    Engine(const std::string& weights, const Settings& settings)
        : net_(described()), weights_(weights), constants_(weights_), settings_(settings) {
        omp_set_dynamic(0);
        choose();
        ready(settings_.batch);
    }

    Engine(const Engine&) = delete;  // pipelines refer to the network and constants in here
    Engine& operator=(const Engine&) = delete;

    Size inputs() const { return count(net_.at(0).shape); }
    Size outputs() const { return count(net_.at(net_.result).shape); }
    const Network& network() const { return net_; }
    Size at_once() const { return at_once_; }

    // What computes each layer of a full batch, as "direct", "winograd-4x3", …
    std::vector<std::string> kernels() {
        std::vector<std::string> found;
        for (const char* name : lane(at_once_, 0).names()) found.push_back(name);
        return found;
    }

    // Pipelines for batches of so many images; the first batch of another size makes its own.
    void ready(Size images) {
        for (int thread = 0; thread < (team() > 1 ? 1 : settings_.threads); ++thread)
            in_chunks(images, thread, [&](Size, Size count) { lane(count, thread); });
    }

    void run(const float* input, Order order, float* output, Size images) {
        ready(images);
        if (team() > 1 || settings_.threads == 1) return part(input, order, output, images, 0);
#pragma omp parallel num_threads(settings_.threads)
        for (int i = omp_get_thread_num(); i < settings_.threads; i += omp_get_num_threads())
            part(input, order, output, images, i);
    }

  private:
    static Network described() {
        Network net;
        describe(net);
        return net;
    }

    // Threads that share a layer: all, where there are too few images to give each its own.
    int team() const { return settings_.batch < settings_.threads ? settings_.threads : 1; }

    void part(const float* input, Order order, float* output, Size images, int thread) {
        in_chunks(images, thread, [&](Size first, Size count) {
            found(count, thread)->run(input + first * inputs(), order, output + first * outputs());
        });
    }

    template <typename Each>
    void in_chunks(Size images, int thread, Each each) const {
        const int threads = team() > 1 ? 1 : settings_.threads;
        Range mine = share(images, {thread, threads, nullptr});
        for (; mine.first < mine.last; mine.first += at_once_)
            each(mine.first, std::min(at_once_, mine.last - mine.first));
    }

    Pipeline* found(Size images, int thread) {
        return lanes_.at({images, thread}).get();
    }

    Pipeline& lane(Size images, int thread) {
        auto& place = lanes_[{images, thread}];
        if (!place)
            place = std::make_unique<Pipeline>(net_, constants_, images, team(), kernels_);
        return *place;
    }

    // The number of images taken at once that takes least time for each, and its kernels.
    void choose() {
        const Size most = (settings_.batch + settings_.threads - 1) / settings_.threads;
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
    Size at_once_ = 1;
    std::vector<Kernel> kernels_;
    std::map<std::pair<Size, int>, std::unique_ptr<Pipeline>> lanes_;
};

}  // namespace assay
