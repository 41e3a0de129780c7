// The model of a graph: found beside the program, or built by assay from what the graph computes.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include "chosen.hpp"

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
        std::snprintf(found, sizeof found, "%016llx%016llx",
                      static_cast<unsigned long long>(first_),
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
    void* library = nullptr;
    void* (*open)(const char*, long, int, int, double) = nullptr;
    void (*close)(void*) = nullptr;
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

inline void write_numbers(const std::string& path, const std::vector<Items>& all) {
    std::ofstream file(path, std::ios::binary);
    for (const Items& each : all)
        file.write(reinterpret_cast<const char*>(each.data),
                   static_cast<std::streamsize>(each.count * sizeof(float)));
    file.close();
    if (!file) refuse(path + " cannot be written.");
}

inline std::vector<Items> weights_of(const Recording& graph) {
    std::vector<Items> found;
    for (Held* each : graph.constants) found.push_back({each->data(), each->num_elems});
    return found;
}

inline void write_description(const std::string& folder, const Recording& graph) {
    write_whole(folder + "/graph.txt", graph.text);
    write_numbers(folder + "/constants.bin", weights_of(graph));
    if (!by_configuration().approximate()) return;
    write_whole(folder + "/config.txt", by_configuration().chosen.text());
    write_whole(folder + "/config_file.txt", by_configuration().chosen.file);
    write_numbers(folder + "/items.bin", items_of(graph));
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
    for (const char* name :
         {"/graph.txt", "/constants.bin", "/config.txt", "/config_file.txt", "/items.bin"})
        std::remove((folder + name).c_str());
    ::rmdir(folder.c_str());
    if (status != 0) std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);  // it has said why
}

inline bool is_model(const std::string& folder) {
    return ::access((folder + "/root.so").c_str(), R_OK) == 0;
}

// Who builds models: as the environment says; for a configuration of a program that was built here,
// who built it.
inline std::string builder(const std::string& own, const std::string& exact) {
    const std::string command = environment("ASSAY_HPVM_BUILD");
    if (!command.empty() || !is_model(own + exact) || !by_configuration().approximate())
        return command;
    std::ifstream file(own + "build");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return ::access(text.substr(0, text.find('\n')).c_str(), X_OK) == 0 ? text : "";
}

// Models that were built for this program lie beside it; others where ASSAY_HPVM_MODELS says.
inline std::string model_folder(const Recording& graph) {
    Digest digest;
    digest.add(graph.text.data(), graph.text.size());
    for (const Items& each : weights_of(graph)) digest.add(each.data, each.count * sizeof(float));
    const std::string exact = digest.text(), own = own_folder() + "hpvm_models/";
    std::string name = exact;
    if (by_configuration().approximate()) {
        for (const Items& each : items_of(graph)) digest.add(each.data, each.count * sizeof(float));
        name = by_configuration().digest() + "-" + digest.text();
    }
    std::string other = environment("ASSAY_HPVM_MODELS");
    other = other.empty() ? own : other + "/";
    for (const std::string& folder : {own + name, other + name})
        if (is_model(folder)) return folder;
    const std::string command = builder(own, exact);
    if (command.empty() && is_model(own + exact))
        refuse("This program was not built for " + by_configuration().name() +
               ", and assay, which built it, is not here. Start it by: assay hpvm run PROGRAM.cc "
               "-c FILE");
    if (command.empty())
        refuse(
            "This program was not built for these weights: its graph or its weights have changed. "
            "Build it again, or start it by: assay hpvm run PROGRAM.cc --data FOLDER");
    build(command, graph, other + name);
    if (!is_model(other + name)) refuse(other + name + " was not built.");
    return other + name;
}

// An exact configuration needs no model of its own, but has to be this network's.
inline void check_configuration(const std::string& folder) {
    const ByConfiguration& now = by_configuration();
    try {
        if (now.given && !now.approximate())
            configuration::check(now.chosen, folder + "/root.lines", "this program");
    } catch (const configuration::Error& wrong) {
        refuse(wrong.what());
    }
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function) refuse(std::string("The model's library has no ") + name + ".");
}

inline Model opened(const Recording& graph, long batch) {
    const std::string folder = model_folder(graph);
    if (environment("ASSAY_HPVM_STOP") == "built") std::_Exit(0);
    check_configuration(folder);
    void* library = ::dlopen((folder + "/root.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) refuse(std::string("The model cannot be loaded: ") + ::dlerror());
    Model model;
    model.library = library;
    find(library, "assay_open", model.open);
    find(library, "assay_close", model.close);
    find(library, "assay_mistake", model.mistake);
    find(library, "assay_step", model.step);
    model.engine = model.open((folder + "/root.weights").c_str(), batch, threads(),
                              allowed_kernels(), choosing_seconds());
    if (!model.engine) refuse(model.mistake());
    return model;
}

inline void close(Model& model) {
    if (model.engine) model.close(model.engine);
    if (model.library) ::dlclose(model.library);
    model = Model{};
}

}  // namespace hpvm_shim
