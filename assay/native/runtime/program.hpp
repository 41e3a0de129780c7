// The binary: a data set through the network, how often it was right and how long it took.
#pragma once

#include <sched.h>

#include <cstdio>
#include <fstream>

#include "arguments.hpp"
#include "engine.hpp"
#include "model.hpp"

namespace assay {

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

// What one item of the input files is, in words.
inline std::string takes(const Network& net) {
    std::string sizes;
    for (Size size : net.at(0).shape) sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
    if (!net.takes_images) return "items of " + sizes + " float32, the last axis innermost";
    return "images of " + sizes + " float32: channels, height, width (channels first)";
}

// The order in which the files have their images, as the user says; else channels first.
inline Order order_of(const Arguments& asked, const Network& net) {
    if (!asked.layout.empty() && !net.takes_images)
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

// Inputs and labels, as HPVM's files have them: float32 images, and a 32-bit label for each.
class Data {
  public:
    Data(const std::string& folder, const std::string& set, Size image)
        : inputs_(folder + set + "_input.bin"), labels_(folder + set + "_labels.bin") {
        const std::size_t each = static_cast<std::size_t>(image) * sizeof(float);
        if (inputs_.size() == 0 || inputs_.size() % each != 0)
            throw Mistake(inputs_.path() + " has " + std::to_string(inputs_.size()) +
                          " bytes, but images of " + std::to_string(each) + " bytes are expected.");
        images_ = static_cast<Size>(inputs_.size() / each);
        if (labels_.size() != static_cast<std::size_t>(images_) * sizeof(std::uint32_t))
            throw Mistake(labels_.path() + " has " +
                          std::to_string(labels_.size() / sizeof(std::uint32_t)) +
                          " labels, but there are " + std::to_string(images_) + " images.");
    }
    Size images() const { return images_; }
    const float* input() const { return reinterpret_cast<const float*>(inputs_.data()); }
    const std::uint32_t* labels() const {
        return reinterpret_cast<const std::uint32_t*>(labels_.data());
    }

  private:
    Mapped inputs_, labels_;
    Size images_ = 0;
};

struct Report {
    double accuracy = 0;   // per cent
    double seconds = 0;    // of the network, one pass over the images
    std::vector<float> outputs;
};

inline bool right(const float* output, Size classes, std::uint32_t label) {
    return static_cast<Size>(label) ==
           std::max_element(output, output + classes) - output;  // the first of equals
}

inline Report evaluated(Engine& engine, const Data& data, const Arguments& asked) {
    const Order order = order_of(asked, engine.network());
    const Size classes = engine.outputs(), total = data.images();
    Report report;
    report.outputs.resize(static_cast<std::size_t>(total * classes));
    Size hits = 0;
    double batches = 0, sum = 0;
    for (Size first = 0; first < total; first += asked.batch) {
        const Size count = std::min(asked.batch, total - first);
        engine.ready(count);  // a tail is prepared before it is timed
        float* output = report.outputs.data() + first * classes;
        const auto start = Clock::now();
        engine.run(data.input() + first * engine.inputs(), order, output, count);
        report.seconds += since(start);
        Size here = 0;
        for (Size i = 0; i < count; ++i)
            here += right(output + i * classes, classes, data.labels()[first + i]);
        hits += here;
        if (count == asked.batch) {  // the older programs dropped the tail
            batches += 1;
            sum += 100.0 * static_cast<double>(here) / static_cast<double>(count);
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
    std::printf("{\"schema\": 1, \"kind\": \"native\", \"set\": \"%s\", \"images\": %td, "
                "\"accuracy\": %.6f, \"seconds\": %.9g, \"batch\": %td, \"at_once\": %td, "
                "\"threads\": %d, \"takes\": \"%s\", \"kernels\": [%s]}\n",
                asked.set.c_str(), data.images(), report.accuracy, report.seconds, asked.batch,
                engine.at_once(), threads, takes(engine.network()).c_str(), kernels.c_str());
}

int program(int count, char** words, const std::string& model) try {
    const Arguments asked = arguments(count, words);
    Network net;
    describe(net);
    if (asked.help)
        return std::printf("%s%sIt takes %s.\n", words[0], usage, takes(net).c_str()), 0;
    const std::string folder = asked.data.empty() ? data_folder(model) : asked.data + "/";
    const int threads = asked.threads ? asked.threads : cpus();
    order_of(asked, net);  // a mistake is told before anything is read
    if (asked.layout.empty()) check_folder(folder, net);
    const Data data(folder, asked.set, assay::count(net.at(0).shape));
    Engine engine(own_folder() + model + ".weights",
                  {std::min(asked.batch, data.images()), threads, asked.allowed, asked.seconds});
    Report report;
    for (Size pass = 0; pass < asked.repeat; ++pass) {
        report = evaluated(engine, data, asked);
        tell(report, engine, data, asked, threads);
    }
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%.6f", report.accuracy);
    write_whole("final_accuracy", text, static_cast<std::size_t>(length));
    if (!asked.outputs.empty())
        write_whole(asked.outputs, report.outputs.data(), report.outputs.size() * sizeof(float));
    return 0;
} catch (const Mistake& mistake) {
    std::fprintf(stderr, "error: %s\n", mistake.what());
    return 2;
}

}  // namespace assay
