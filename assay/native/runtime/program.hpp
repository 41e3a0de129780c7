// The binary: a data set through the network, how often it was right and how long it took.
#pragma once

#include <sched.h>

#include <cstdio>
#include <fstream>

#include "configured.hpp"
#include "engine.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// Where this program lies: its weights are beside it, wherever both were put.
inline std::string own_folder() {
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) throw Mistake("This program cannot find its own folder in /proc/self/exe.");
    const std::string whole(path, static_cast<std::size_t>(length));
    return whole.substr(0, whole.rfind('/') + 1);
}

// A folder of the model's own beside the program, or that of the program itself.
inline std::string data_folder(const std::string& model) {
    const std::string own = own_folder() + model + ".data/";
    return ::access(own.c_str(), R_OK) == 0 ? own : own_folder();
}

inline int cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Whole or not at all, whatever happens meanwhile.
inline void write_whole(const std::string& path, const void* data, std::size_t size) {
    const std::string temporary = path + "." + std::to_string(::getpid());
    std::ofstream file(temporary, std::ios::binary);
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        throw Mistake(path + " cannot be written.");
    }
}

inline std::string sizes_of(const Shape& shape) {
    std::string sizes;
    for (Size size : shape) sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
    return sizes;
}

inline std::string takes(const Layer& input) {
    const std::string sizes = sizes_of(input.shape);
    const std::string kind = input.whole ? " int32" : " float32";
    if (!input.image) return "items of " + sizes + kind + ", the last axis innermost";
    return "images of " + sizes + " float32: channels, height, width (channels first)";
}

// What one item of the input files is, in words.
inline std::string takes(const Network& net) {
    std::string found;
    for (Value input : net.inputs) found += (found.empty() ? "" : "; and ") + takes(net.at(input));
    return found;
}

// The order in which the files have their images, as the user says; else channels first.
inline Order order_of(const Arguments& asked, const Network& net) {
    if (!asked.layout.empty() && !net.takes_images())
        throw Mistake("--layout is " + asked.layout + ", but this program takes " + takes(net) +
                      ".");
    return asked.layout == "channels-last" ? Order::channels_last : Order::channels_first;
}

// A folder that `assay compile` wrote says what its files hold; it may be another program's.
inline void check_folder(const std::string& folder, const Network& net) {
    std::ifstream file(folder + "layout.txt");
    std::string told;
    if (std::getline(file, told) && told != takes(net))
        throw Mistake(folder + " holds " + told + ", but this program takes " + takes(net) + ".");
}

// The file of a network's first input or output, and those of the others: `out.bin`, `out.bin.2`, …
inline std::string numbered(const std::string& path, std::size_t number) {
    return number == 0 ? path : path + "." + std::to_string(number + 1);
}

// Inputs and labels, as HPVM's files have them: float32 images, and a 32-bit label for each.
class Data {
  public:
    Data(const std::string& folder, const std::string& set, const Network& net)
        : labels_(folder + set + "_labels.bin") {
        for (std::size_t i = 0; i < net.inputs.size(); ++i)
            add(numbered(folder + set + "_input.bin", i), net.at(net.inputs[i]));
        if (labels_.size() != static_cast<std::size_t>(images_) * sizeof(std::uint32_t))
            throw Mistake(labels_.path() + " has " +
                          std::to_string(labels_.size() / sizeof(std::uint32_t)) +
                          " labels, but there are " + std::to_string(images_) + " images.");
    }
    Size images() const { return images_; }
    // Of every input, from an image on.
    std::vector<const float*> inputs(Size first) const {
        std::vector<const float*> found;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            found.push_back((whole_[i].empty() ? reinterpret_cast<const float*>(inputs_[i]->data())
                                               : whole_[i].data()) +
                            first * sizes_[i]);
        return found;
    }
    const std::uint32_t* labels() const {
        return reinterpret_cast<const std::uint32_t*>(labels_.data());
    }

  private:
    void add(const std::string& path, const Layer& input) {
        const Size size = count(input.shape);
        inputs_.push_back(std::make_unique<Mapped>(path));
        sizes_.push_back(size);
        const std::size_t each = static_cast<std::size_t>(size) * sizeof(float);
        const std::size_t bytes = inputs_.back()->size();
        if (bytes == 0 || bytes % each != 0)
            throw Mistake(path + " has " + std::to_string(bytes) + " bytes, but images of " +
                          std::to_string(each) + " bytes are expected.");
        const Size here = static_cast<Size>(bytes / each);
        if (inputs_.size() > 1 && here != images_)
            throw Mistake(path + " has " + std::to_string(here) + " items, but " +
                          inputs_.front()->path() + " has " + std::to_string(images_) + ".");
        images_ = here;
        whole_.emplace_back();
        if (!input.whole) return;
        const auto* numbers = reinterpret_cast<const std::int32_t*>(inputs_.back()->data());
        for (Size i = 0; i < here * size; ++i)
            whole_.back().push_back(static_cast<float>(numbers[i]));
    }

    std::vector<std::unique_ptr<Mapped>> inputs_;
    std::vector<Size> sizes_;
    std::vector<std::vector<float>> whole_;  // of inputs of whole numbers: these as floats
    Mapped labels_;
    Size images_ = 0;
};

struct Report {
    double accuracy = 0;  // per cent
    double seconds = 0;   // of the network, one pass over the images
    std::vector<std::vector<float>> outputs;
};

inline bool right(const float* output, Size classes, std::uint32_t label) {
    return static_cast<Size>(label) ==
           std::max_element(output, output + classes) - output;  // the first of equals
}

inline Report evaluated(Engine& engine, const Data& data, const Arguments& asked) {
    const Order order = order_of(asked, engine.network());
    const Network& net = engine.network();
    const Size classes = count(net.at(net.results[0]).shape), total = data.images();
    Report report;
    for (Value result : net.results)
        report.outputs.emplace_back(static_cast<std::size_t>(total * count(net.at(result).shape)));
    Size hits = 0;
    double batches = 0, sum = 0;
    for (Size first = 0; first < total; first += asked.batch) {
        const Size images = std::min(asked.batch, total - first);
        engine.ready(images);  // a tail is prepared before it is timed
        const std::vector<const float*> inputs = data.inputs(first);
        std::vector<float*> outputs;
        for (std::vector<float>& each : report.outputs)
            outputs.push_back(each.data() + first * static_cast<Size>(each.size()) / total);
        const auto start = Clock::now();
        engine.run(inputs.data(), order, outputs.data(), images);
        report.seconds += since(start);
        const float* output = outputs[0];  // the classes are the first output's
        Size here = 0;
        for (Size i = 0; i < images; ++i)
            here += right(output + i * classes, classes, data.labels()[first + i]);
        hits += here;
        if (images == asked.batch) {  // the older programs dropped the tail
            batches += 1;
            sum += 100.0 * static_cast<double>(here) / static_cast<double>(images);
        }
    }
    report.accuracy = 100.0 * static_cast<double>(hits) / static_cast<double>(total);
    if (asked.mean_of_batches) {
        if (batches == 0)
            throw Mistake("There is no whole batch of " + std::to_string(asked.batch) +
                          " images to take the mean of.");
        report.accuracy = sum / batches;
    }
    return report;
}

inline void tell(const Report& report, Engine& engine, const Data& data, const Arguments& asked,
                 int threads) {
    const double each = report.seconds / static_cast<double>(data.images());
    if (!asked.json) {
        std::printf("%s: %td images, accuracy %.6f %%, %.3f ms an image, %.1f images/s\n",
                    asked.set.c_str(), data.images(), report.accuracy, each * 1e3, 1 / each);
        return;
    }
    std::string kernels;
    for (const std::string& name : engine.kernels())
        kernels += (kernels.empty() ? "\"" : ", \"") + name + "\"";
    std::printf(
        "{\"schema\": 1, \"kind\": \"native\", \"set\": \"%s\", \"images\": %td, "
        "\"accuracy\": %.6f, \"seconds\": %.9g, \"batch\": %td, \"at_once\": %td, "
        "\"threads\": %d, \"takes\": \"%s\", \"kernels\": [%s]}\n",
        asked.set.c_str(), data.images(), report.accuracy, report.seconds, asked.batch,
        engine.at_once(), threads, takes(engine.network()).c_str(), kernels.c_str());
}

// Where the time of one thread goes.
inline void tell_layers(Engine& engine, bool json) {
    const std::vector<Engine::Timed> found = engine.timed_layers();
    double total = 0;
    for (const Engine::Timed& each : found) total += each.seconds;
    if (json)
        std::printf("{\"schema\": 1, \"kind\": \"native-layers\", \"at_once\": %td, \"layers\": [",
                    engine.at_once());
    const char* joint = "";
    for (const Engine::Timed& each : found) {
        const std::string sizes = sizes_of(engine.network().at(each.layer).shape);
        if (json)
            std::printf(
                "%s{\"layer\": %d, \"kernel\": \"%s\", \"seconds\": %.9g, \"shape\": \"%s\"}",
                joint, each.layer, each.kernel.c_str(), each.seconds, sizes.c_str());
        else
            std::printf("%4d  %-14s %10.1f us %5.1f %%  %s\n", each.layer, each.kernel.c_str(),
                        each.seconds * 1e6, 100 * each.seconds / total, sizes.c_str());
        joint = ", ";
    }
    if (json) std::printf("]}\n");
    else std::printf("%.1f us of CPU time for %td at once\n", total * 1e6, engine.at_once());
}

inline void run_program(int count, char** words) {
    const Arguments asked = arguments(count, words);
    const std::string model = model_name;
    Network net;
    describe(net);
    if (asked.help) {
        std::printf("%s%sIt takes %s.\n", words[0], usage, takes(net).c_str());
        return;
    }
    const std::string folder = asked.data.empty() ? data_folder(model) : asked.data + "/";
    const int threads = asked.threads ? asked.threads : cpus();
    order_of(asked, net);  // a mistake is told before anything is read
    if (!asked.config.empty() && asked.config != "fp32")
        configure(asked, own_folder() + model, model, folder, count, words);
    const std::string weights = own_folder() + model + ".weights";
    if (asked.layers) {
        Engine engine(weights, {asked.batch, threads, asked.allowed, asked.seconds});
        return tell_layers(engine, asked.json);
    }
    if (asked.layout.empty()) check_folder(folder, net);
    const Data data(folder, asked.set, net);
    Engine engine(weights,
                  {std::min(asked.batch, data.images()), threads, asked.allowed, asked.seconds});
    Report report;
    for (Size pass = 0; pass < asked.repeat; ++pass) {
        report = evaluated(engine, data, asked);
        tell(report, engine, data, asked, threads);
    }
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%.6f", report.accuracy);
    write_whole("final_accuracy", text, static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < report.outputs.size() && !asked.outputs.empty(); ++i)
        write_whole(numbered(asked.outputs, i), report.outputs[i].data(),
                    report.outputs[i].size() * sizeof(float));
}

inline int program(int count, char** words) {
    const auto told = [](const char* what, int status) {
        std::fprintf(stderr, "error: %s\n", what);
        return status;
    };
    try {
        run_program(count, words);
        return 0;
    } catch (const Told& told) {
        return told.status;
    } catch (const Mistake& mistake) {
        return told(mistake.what(), 2);
    } catch (const std::bad_alloc&) {
        return told("There is not enough memory; a smaller --batch needs less.", 1);
    } catch (const std::exception& error) {
        return told(error.what(), 1);
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
