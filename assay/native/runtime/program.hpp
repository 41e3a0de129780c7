// The command-line program: runs a data set through the network and reports accuracy and time.
#pragma once

#include <sched.h>

#include <cstdio>
#include <fstream>

#include "config_program.hpp"
#include "engine.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// The folder of this program, which contains its weights.
inline std::string program_folder() {
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) throw Error("This program cannot find its own folder in /proc/self/exe.");
    const std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind('/') + 1);
}

// A folder of the model's own beside the program, or that of the program itself.
inline std::string data_folder(const std::string& model) {
    const std::string own = program_folder() + model + ".data/";
    return ::access(own.c_str(), R_OK) == 0 ? own : program_folder();
}

inline int cpu_count() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Atomic: writes a temporary file and renames it.
inline void write_atomically(const std::string& path, const void* data, std::size_t size) {
    const std::string temporary = path + "." + std::to_string(::getpid());
    std::ofstream file(temporary, std::ios::binary);
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        throw Error(path + " cannot be written.");
    }
}

inline std::string shape_text(const Shape& shape) {
    std::string sizes;
    for (Size size : shape) sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
    return sizes;
}

inline std::string input_text(const Layer& input) {
    const std::string sizes = shape_text(input.shape);
    const std::string kind = input.is_int32 ? " int32" : " float32";
    if (!input.is_image) return "items of " + sizes + kind + ", the last axis innermost";
    return "images of " + sizes + " float32: channels, height, width (channels first)";
}

// Describes one item of the input files.
inline std::string input_text(const Network& net) {
    std::string result;
    for (Value input : net.inputs)
        result += (result.empty() ? "" : "; and ") + input_text(net.at(input));
    return result;
}

// The layout of the images in the files: --layout, else channels first.
inline Order file_order(const Arguments& arguments, const Network& net) {
    if (!arguments.layout.empty() && !net.takes_images())
        throw Error("--layout is " + arguments.layout + ", but this program takes " +
                    input_text(net) + ".");
    return arguments.layout == "channels-last" ? Order::channels_last : Order::channels_first;
}

// A folder that `assay compile` wrote says what its files hold; it may be another program's.
inline void check_folder(const std::string& folder, const Network& net) {
    std::ifstream file(folder + "layout.txt");
    std::string described;
    if (std::getline(file, described) && described != input_text(net))
        throw Error(folder + " holds " + described + ", but this program takes " + input_text(net) +
                    ".");
}

// The file of a network's first input or output, and those of the others: `out.bin`, `out.bin.2`, …
inline std::string numbered_path(const std::string& path, std::size_t number) {
    return number == 0 ? path : path + "." + std::to_string(number + 1);
}

// Inputs and labels, as HPVM's files have them: float32 images, and a 32-bit label for each.
class DataSet {
  public:
    DataSet(const std::string& folder, const std::string& set, const Network& net)
        : labels_(folder + set + "_labels.bin") {
        for (std::size_t i = 0; i < net.inputs.size(); ++i)
            add(numbered_path(folder + set + "_input.bin", i), net.at(net.inputs[i]));
        if (labels_.size() != static_cast<std::size_t>(images_) * sizeof(std::uint32_t))
            throw Error(labels_.path() + " has " +
                        std::to_string(labels_.size() / sizeof(std::uint32_t)) +
                        " labels, but there are " + std::to_string(images_) + " images.");
    }
    Size images() const { return images_; }
    // Of every input, from an image on.
    std::vector<const float*> inputs(Size first) const {
        std::vector<const float*> result;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            result.push_back((converted_[i].empty()
                                  ? reinterpret_cast<const float*>(inputs_[i]->data())
                                  : converted_[i].data()) +
                             first * sizes_[i]);
        return result;
    }
    const std::uint32_t* labels() const {
        return reinterpret_cast<const std::uint32_t*>(labels_.data());
    }

  private:
    void add(const std::string& path, const Layer& input) {
        const Size size = count(input.shape);
        inputs_.push_back(std::make_unique<MappedFile>(path));
        sizes_.push_back(size);
        const std::size_t item_size = static_cast<std::size_t>(size) * sizeof(float);
        const std::size_t bytes = inputs_.back()->size();
        if (bytes == 0 || bytes % item_size != 0)
            throw Error(path + " has " + std::to_string(bytes) + " bytes, but images of " +
                        std::to_string(item_size) + " bytes are expected.");
        const Size items = static_cast<Size>(bytes / item_size);
        if (inputs_.size() > 1 && items != images_)
            throw Error(path + " has " + std::to_string(items) + " items, but " +
                        inputs_.front()->path() + " has " + std::to_string(images_) + ".");
        images_ = items;
        converted_.emplace_back();
        if (!input.is_int32) return;
        const auto* numbers = reinterpret_cast<const std::int32_t*>(inputs_.back()->data());
        for (Size i = 0; i < items * size; ++i)
            converted_.back().push_back(static_cast<float>(numbers[i]));
    }

    std::vector<std::unique_ptr<MappedFile>> inputs_;
    std::vector<Size> sizes_;
    std::vector<std::vector<float>> converted_;  // of int32 inputs: converted to float32
    MappedFile labels_;
    Size images_ = 0;
};

struct Evaluation {
    double accuracy = 0;  // per cent
    double seconds = 0;   // of the network, one pass over the images
    std::vector<std::vector<float>> outputs;
};

inline bool is_correct(const float* output, Size classes, std::uint32_t label) {
    return static_cast<Size>(label) ==
           std::max_element(output, output + classes) - output;  // the first of equals
}

inline Evaluation evaluate(Engine& engine, const DataSet& data, const Arguments& arguments) {
    const Order order = file_order(arguments, engine.network());
    const Network& net = engine.network();
    const Size classes = count(net.at(net.results[0]).shape), total = data.images();
    Evaluation evaluation;
    for (Value result : net.results)
        evaluation.outputs.emplace_back(
            static_cast<std::size_t>(total * count(net.at(result).shape)));
    Size correct = 0;
    double batches = 0, sum = 0;
    for (Size first = 0; first < total; first += arguments.batch) {
        const Size images = std::min(arguments.batch, total - first);
        engine.prepare(images);  // a tail is prepared before it is timed
        const std::vector<const float*> inputs = data.inputs(first);
        std::vector<float*> outputs;
        for (std::vector<float>& each : evaluation.outputs)
            outputs.push_back(each.data() + first * static_cast<Size>(each.size()) / total);
        const auto start = Clock::now();
        engine.run(inputs.data(), order, outputs.data(), images);
        evaluation.seconds += seconds_since(start);
        const float* output = outputs[0];  // the classes are the first output's
        Size correct_here = 0;
        for (Size i = 0; i < images; ++i)
            correct_here += is_correct(output + i * classes, classes, data.labels()[first + i]);
        correct += correct_here;
        if (images == arguments.batch) {  // the older programs dropped the tail
            batches += 1;
            sum += 100.0 * static_cast<double>(correct_here) / static_cast<double>(images);
        }
    }
    evaluation.accuracy = 100.0 * static_cast<double>(correct) / static_cast<double>(total);
    if (arguments.mean_of_batches) {
        if (batches == 0)
            throw Error("There is no whole batch of " + std::to_string(arguments.batch) +
                        " images to take the mean of.");
        evaluation.accuracy = sum / batches;
    }
    return evaluation;
}

inline void print_evaluation(const Evaluation& evaluation, Engine& engine, const DataSet& data,
                             const Arguments& arguments, int threads) {
    const double seconds_per_image = evaluation.seconds / static_cast<double>(data.images());
    if (!arguments.json) {
        std::printf("%s: %td images, accuracy %.6f %%, %.3f ms an image, %.1f images/s\n",
                    arguments.set.c_str(), data.images(), evaluation.accuracy,
                    seconds_per_image * 1e3, 1 / seconds_per_image);
        return;
    }
    std::string kernels;
    for (const std::string& name : engine.kernels())
        kernels += (kernels.empty() ? "\"" : ", \"") + name + "\"";
    std::printf(
        "{\"schema\": 1, \"kind\": \"native\", \"set\": \"%s\", \"images\": %td, "
        "\"accuracy\": %.6f, \"seconds\": %.9g, \"batch\": %td, \"at_once\": %td, "
        "\"threads\": %d, \"takes\": \"%s\", \"kernels\": [%s]}\n",
        arguments.set.c_str(), data.images(), evaluation.accuracy, evaluation.seconds,
        arguments.batch, engine.microbatch(), threads, input_text(engine.network()).c_str(),
        kernels.c_str());
}

// Where the time of one thread goes.
inline void print_layers(Engine& engine, bool json) {
    const std::vector<Engine::LayerTime> times = engine.time_layers();
    double total = 0;
    for (const Engine::LayerTime& each : times) total += each.seconds;
    if (json)
        std::printf("{\"schema\": 1, \"kind\": \"native-layers\", \"at_once\": %td, \"layers\": [",
                    engine.microbatch());
    const char* joint = "";
    for (const Engine::LayerTime& each : times) {
        const std::string sizes = shape_text(engine.network().at(each.layer).shape);
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
    else std::printf("%.1f us of CPU time for %td at once\n", total * 1e6, engine.microbatch());
}

inline void run_program(int count, char** words) {
    const Arguments arguments = parse_arguments(count, words);
    const std::string model = model_name;
    Network net;
    describe(net);
    if (arguments.help) {
        std::printf("%s%sIt takes %s.\n", words[0], usage, input_text(net).c_str());
        return;
    }
    const std::string folder = arguments.data.empty() ? data_folder(model) : arguments.data + "/";
    const int threads = arguments.threads ? arguments.threads : cpu_count();
    file_order(arguments, net);  // errors are reported before anything is read
    if (!arguments.config.empty() && arguments.config != "fp32")
        configure(arguments, program_folder() + model, model, folder, count, words);
    const std::string weights = program_folder() + model + ".weights";
    if (arguments.layers) {
        Engine engine(weights, {arguments.batch, threads, arguments.allowed, arguments.seconds});
        return print_layers(engine, arguments.json);
    }
    if (arguments.layout.empty()) check_folder(folder, net);
    const DataSet data(folder, arguments.set, net);
    Engine engine(weights, {std::min(arguments.batch, data.images()), threads, arguments.allowed,
                            arguments.seconds});
    Evaluation evaluation;
    for (Size pass = 0; pass < arguments.repeat; ++pass) {
        evaluation = evaluate(engine, data, arguments);
        print_evaluation(evaluation, engine, data, arguments, threads);
    }
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%.6f", evaluation.accuracy);
    write_atomically("final_accuracy", text, static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < evaluation.outputs.size() && !arguments.outputs.empty(); ++i)
        write_atomically(numbered_path(arguments.outputs, i), evaluation.outputs[i].data(),
                         evaluation.outputs[i].size() * sizeof(float));
}

inline int run_main(int count, char** words) {
    const auto print_error = [](const char* what, int status) {
        std::fprintf(stderr, "error: %s\n", what);
        return status;
    };
    try {
        run_program(count, words);
        return 0;
    } catch (const BuildFailed& failure) {
        return failure.status;
    } catch (const Error& error) {
        return print_error(error.what(), 2);
    } catch (const std::bad_alloc&) {
        return print_error("There is not enough memory; a smaller --batch needs less.", 1);
    } catch (const std::exception& error) {
        return print_error(error.what(), 1);
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
