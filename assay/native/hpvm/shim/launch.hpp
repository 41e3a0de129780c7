// A graph that is launched: described once, built by assay or found beside the program, then run.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>

#include "intrinsics.hpp"

extern char** environ;

namespace hpvm_shim {

// Of the text and the weights: another model has another, wherever its files lie.
class Digest {
  public:
    void add(const void* data, std::size_t bytes) {
        const char* at = static_cast<const char*>(data);
        for (; bytes >= 8; bytes -= 8, at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, 8);
            mix(word);
        }
        for (; bytes > 0; --bytes, ++at) mix(static_cast<unsigned char>(*at));
    }
    std::string text() const {
        char found[40];
        std::snprintf(found, sizeof found, "%016llx%016llx", static_cast<unsigned long long>(first_),
                      static_cast<unsigned long long>(second_));
        return found;
    }

  private:
    void mix(std::uint64_t word) {
        first_ = (first_ ^ word) * 0x9E3779B97F4A7C15u;
        first_ ^= first_ >> 29;
        second_ = (second_ + word) * 0xC2B2AE3D27D4EB4Fu;
        second_ ^= second_ >> 31;
    }
    std::uint64_t first_ = 0x243F6A8885A308D3u, second_ = 0x13198A2E03707344u;
};

inline std::string own_folder() {
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) refuse("This program cannot find its own folder in /proc/self/exe.");
    const std::string whole(path, static_cast<std::size_t>(length));
    return whole.substr(0, whole.rfind('/') + 1);
}

// The library of a model, as assay builds it.
struct Model {
    void* (*open)(const char*, long, int, int, double) = nullptr;
    const char* (*mistake)() = nullptr;
    int (*step)(void*, const float* const*, int, float* const*, long) = nullptr;
    void* engine = nullptr;
};

// How a user steers what the program itself does not know of.
inline int threads() {
    const std::string asked = environment("ASSAY_THREADS");
    if (!asked.empty()) return std::max(1, std::atoi(asked.c_str()));
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}
inline int allowed_kernels() {
    const std::string asked = environment("ASSAY_KERNELS");
    return asked == "portable" ? 1 : asked == "onednn" ? 2 : 0;
}
inline double choosing_seconds() {
    const std::string asked = environment("ASSAY_CHOOSE");
    return asked.empty() ? 0.5 : std::max(0.0, std::atof(asked.c_str()));
}

inline void write_description(const std::string& folder, const Recording& graph) {
    write_whole(folder + "/graph.txt", graph.text);
    std::ofstream file(folder + "/constants.bin", std::ios::binary);
    for (Held* each : graph.constants)
        file.write(reinterpret_cast<const char*>(each->data()),
                   static_cast<std::streamsize>(each->size_in_bytes));
    file.close();
    if (!file) refuse(folder + " has no room for the weights.");
}

// `ASSAY_HPVM_BUILD FOLDER TARGET` makes the files of a model from its description.
inline void build(const std::string& command, const Recording& graph, const std::string& target) {
    std::string folder = environment("TMPDIR");
    folder = (folder.empty() ? std::string("/tmp") : folder) + "/assay-hpvm-XXXXXX";
    if (!::mkdtemp(folder.data())) refuse(folder + " cannot be made.");
    write_description(folder, graph);
    std::vector<std::string> words;
    std::istringstream all(command);  // one word a line, so that a path may have spaces
    for (std::string word; std::getline(all, word);) words.push_back(word);
    words.push_back(folder);
    words.push_back(target);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    int status = 1;
    if (::posix_spawn(&child, pointers[0], nullptr, nullptr, pointers.data(), environ) == 0)
        ::waitpid(child, &status, 0);
    for (const char* name : {"/graph.txt", "/constants.bin"}) std::remove((folder + name).c_str());
    ::rmdir(folder.c_str());
    if (status != 0) std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);  // it has said why
}

// Models that were built for this program lie beside it; others where ASSAY_HPVM_MODELS says.
inline std::string model_folder(const Recording& graph) {
    Digest digest;
    digest.add(graph.text.data(), graph.text.size());
    for (Held* each : graph.constants) digest.add(each->data(), each->size_in_bytes);
    const std::string own = own_folder() + "hpvm_models/" + digest.text();
    std::string other = environment("ASSAY_HPVM_MODELS");
    other = other.empty() ? own : other + "/" + digest.text();
    for (const std::string& folder : {own, other})
        if (::access((folder + "/root.so").c_str(), R_OK) == 0) return folder;
    const std::string command = environment("ASSAY_HPVM_BUILD");
    if (command.empty())
        refuse("This program was not built for these weights: its graph or its weights have changed. "
               "Build it again, or start it by: assay hpvm run PROGRAM.cc --data FOLDER");
    build(command, graph, other);
    if (::access((other + "/root.so").c_str(), R_OK) != 0) refuse(other + " was not built.");
    return other;
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function) refuse(std::string("The model's library has no ") + name + ".");
}

inline Model opened(const Recording& graph, long batch) {
    const std::string folder = model_folder(graph);
    if (environment("ASSAY_HPVM_STOP") == "built") std::_Exit(0);
    void* library = ::dlopen((folder + "/root.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) refuse(std::string("The model cannot be loaded: ") + ::dlerror());
    Model model;
    find(library, "assay_open", model.open);
    find(library, "assay_mistake", model.mistake);
    find(library, "assay_step", model.step);
    model.engine = model.open((folder + "/root.weights").c_str(), batch, threads(),
                              allowed_kernels(), choosing_seconds());
    if (!model.engine) refuse(model.mistake());
    return model;
}

struct Timing {
    bool on = false;
    std::vector<double> seconds;  // of each launch
};
inline Timing& timing() {
    static auto* found = new Timing;
    return *found;
}

// One root function, as it was launched last.
struct Launched {
    std::vector<std::pair<Held*, unsigned long>> constants;  // and the version that was read
    std::vector<std::size_t> data;                           // which of root's words each is
    std::vector<std::vector<std::size_t>> sizes;             // of each, without the batch
    std::vector<Shape> outputs;
    Words words, results;  // results: a word of ours, or the number of an output
    std::vector<int> is_output;
    Model model;
    bool known = false;

    bool still(const Words& now) const {
        if (!known || now.size() != words.size()) return false;
        for (std::size_t i = 0; i < now.size(); ++i)
            if (now[i] != words[i] && std::find(data.begin(), data.end(), i) == data.end()) return false;
        for (const auto& [tensor, version] : constants)
            if (!tensors().count(static_cast<Tensor*>(tensor)) || tensor->version != version) return false;
        for (std::size_t i = 0; i < data.size(); ++i)
            if (item(now[data[i]]) != sizes[i]) return false;
        return true;
    }

    static std::vector<std::size_t> item(std::uintptr_t word) {
        const Held& tensor = held(reinterpret_cast<void*>(word), "__hpvm__launch");
        return {tensor.sizes.begin() + 1, tensor.sizes.end()};
    }

    void describe(const Words& given, const Body& body) {
        Recording graph;
        recording() = &graph;
        const bool tracked = std::exchange(tracking(), false);
        results = run(body, given);
        recording() = nullptr;
        tracking() = tracked;
        words = given;
        name_outputs(graph);
        constants.clear(), data.clear(), sizes.clear();
        for (Held* each : graph.constants) constants.push_back({each, each->version});
        for (Held* each : graph.data) {
            const auto at = std::find(given.begin(), given.end(), word<void*>(static_cast<Tensor*>(each)));
            if (at == given.end()) refuse("A tensor that changes is not among what root is handed.");
            data.push_back(static_cast<std::size_t>(at - given.begin()));
            sizes.push_back(item(*at));
        }
        if (data.empty() || outputs.empty()) refuse("The graph has no input or no output.");
        model = opened(graph, static_cast<long>(batch(given)));
        for (Held* each : graph.made) tensors().erase(static_cast<Tensor*>(each));
        known = true;
    }

    void name_outputs(Recording& graph) {
        outputs.clear(), is_output.clear();
        for (std::uintptr_t& each : results) {
            const auto found = tensors().find(reinterpret_cast<void*>(each));
            const bool computed = found != tensors().end() && found->second->value >= 0;
            is_output.push_back(computed);
            if (!computed) continue;
            graph.text += "output v" + std::to_string(found->second->value) + "\n";
            each = outputs.size();
            outputs.push_back(shape_of(*found->second));
        }
    }

    std::size_t batch(const Words& now) const {
        return held(reinterpret_cast<void*>(now[data[0]]), "__hpvm__launch").sizes[0];
    }

    void compute(const Words& now, void* into) {
        const std::size_t images = batch(now);
        std::vector<const float*> inputs;
        for (std::size_t place : data)
            inputs.push_back(held(reinterpret_cast<void*>(now[place]), "__hpvm__launch").data());
        std::vector<Tensor*> made;
        std::vector<float*> places;
        for (const Shape& each : outputs) {
            Held& tensor = make_filled({images, each.channels, each.height, each.width});
            made.push_back(&tensor);
            places.push_back(tensor.data());
        }
        const auto start = std::chrono::steady_clock::now();
        if (model.step(model.engine, inputs.data(), 0, places.data(), static_cast<long>(images)))
            refuse(model.mistake());
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        timing().seconds.push_back(taken.count());
        Words found = results;
        for (std::size_t i = 0; i < found.size(); ++i)
            if (is_output[i]) found[i] = word(made[found[i]]);
        std::memcpy(into, found.data(), found.size() * sizeof found[0]);
    }
};

void* launch(unsigned streaming, void* root, const Words& words, const Body& body, void* results) {
    if (streaming) refuse("A graph is launched for streaming, but tensor graphs take batches.");
    static auto* all = new std::map<void*, Launched>;
    Launched& here = (*all)[root];
    if (!here.still(words)) here.describe(words, body);
    here.compute(words, results);
    return root;
}

}  // namespace hpvm_shim
