// The compiled model of a graph: stored next to the program, or built by assay from the recording.
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include "active_configuration.hpp"

extern char** environ;

namespace hpvm_shim {

// Hash of a graph and its weights, independent of where their files are.
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
        char text[40];
        std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(first_),
                      static_cast<unsigned long long>(second_));
        return text;
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

inline std::string program_folder() {
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) exit_with_error("This program cannot find its own folder in /proc/self/exe.");
    const std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind('/') + 1);
}

// The loaded library of a model: see runtime/entry.cpp.
struct Model {
    void* library = nullptr;
    void* (*open)(const char*, long, int, int, double) = nullptr;
    void (*close)(void*) = nullptr;
    const char* (*error)() = nullptr;
    int (*step)(void*, const float* const*, int, float* const*, long) = nullptr;
    void* engine = nullptr;
};

// Settings by environment variables, as the program itself has no options for them.
inline int thread_count() {
    const std::string text = environment("ASSAY_THREADS");
    if (!text.empty()) return std::max(1, std::atoi(text.c_str()));
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}
inline int allowed_kernels() {
    const std::string text = environment("ASSAY_KERNELS");
    return text == "portable" ? 1 : text == "onednn" ? 2 : 0;
}
inline double autotune_seconds() {
    const std::string text = environment("ASSAY_CHOOSE");
    return text.empty() ? 0.5 : std::max(0.0, std::atof(text.c_str()));
}

inline void write_numbers(const std::string& path, const std::vector<Items>& all) {
    std::ofstream file(path, std::ios::binary);
    for (const Items& each : all)
        file.write(reinterpret_cast<const char*>(each.data),
                   static_cast<std::streamsize>(each.count * sizeof(float)));
    file.close();
    if (!file) exit_with_error(path + " cannot be written.");
}

inline std::vector<Items> recorded_weights(const Recording& graph) {
    std::vector<Items> result;
    for (TensorImpl* each : graph.constants) result.push_back({each->data(), each->num_elems});
    return result;
}

inline void write_recording(const std::string& folder, const Recording& graph) {
    write_atomically(folder + "/graph.txt", graph.text);
    write_numbers(folder + "/constants.bin", recorded_weights(graph));
    if (!active_configuration().approximate()) return;
    write_atomically(folder + "/config.txt", active_configuration().configuration.text());
    write_atomically(folder + "/config_file.txt", active_configuration().configuration.file);
    write_numbers(folder + "/items.bin", calibration_items(graph));
}

// Runs the build command with FOLDER and TARGET: it builds a model from the recording in FOLDER.
inline void build(const std::string& command, const Recording& graph, const std::string& target) {
    std::string folder = environment("TMPDIR");
    folder = (folder.empty() ? std::string("/tmp") : folder) + "/assay-hpvm-XXXXXX";
    if (!::mkdtemp(folder.data())) exit_with_error(folder + " cannot be created.");
    write_recording(folder, graph);
    std::vector<std::string> words;
    std::istringstream lines(command);  // one word a line, as paths may contain spaces
    for (std::string word; std::getline(lines, word);) words.push_back(word);
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
    if (status != 0)
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);  // it printed the error
}

inline bool is_model(const std::string& folder) {
    return ::access((folder + "/root.so").c_str(), R_OK) == 0;
}

// ASSAY_HPVM_BUILD; without it, a program that was built with its exact model builds those of
// configurations by the command that built it.
inline std::string build_command(const std::string& folder, const std::string& exact) {
    const std::string command = environment("ASSAY_HPVM_BUILD");
    if (!command.empty() || !is_model(folder + exact) || !active_configuration().approximate())
        return command;
    std::ifstream file(folder + "build");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return ::access(text.substr(0, text.find('\n')).c_str(), X_OK) == 0 ? text : "";
}

// Models built for this program are next to it; others in the folder ASSAY_HPVM_MODELS.
inline std::string model_folder(const Recording& graph) {
    Digest digest;
    digest.add(graph.text.data(), graph.text.size());
    for (const Items& each : recorded_weights(graph))
        digest.add(each.data, each.count * sizeof(float));
    const std::string exact = digest.text(), own = program_folder() + "hpvm_models/";
    std::string name = exact;
    if (active_configuration().approximate()) {
        for (const Items& each : calibration_items(graph))
            digest.add(each.data, each.count * sizeof(float));
        name = active_configuration().digest() + "-" + digest.text();
    }
    std::string other = environment("ASSAY_HPVM_MODELS");
    other = other.empty() ? own : other + "/";
    for (const std::string& folder : {own + name, other + name})
        if (is_model(folder)) return folder;
    const std::string command = build_command(own, exact);
    if (command.empty() && is_model(own + exact))
        exit_with_error(
            "This program was not built for " + active_configuration().name() +
            ", and assay, which built it, is not here. Start it by: assay hpvm run PROGRAM.cc "
            "-c FILE");
    if (command.empty())
        exit_with_error(
            "This program was not built for these weights: its graph or its weights have changed. "
            "Build it again, or start it by: assay hpvm run PROGRAM.cc --data FOLDER");
    build(command, graph, other + name);
    if (!is_model(other + name)) exit_with_error(other + name + " was not built.");
    return other + name;
}

// An exact configuration uses the exact model, but has to match its network.
inline void check_configuration(const std::string& folder) {
    const ActiveConfiguration& active = active_configuration();
    try {
        if (active.is_set && !active.approximate())
            configuration::check(active.configuration, folder + "/root.lines", "this program");
    } catch (const configuration::Error& error) {
        exit_with_error(error.what());
    }
}

template <typename Function>
void find_symbol(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function) exit_with_error(std::string("The model's library has no ") + name + ".");
}

inline Model open_model(const Recording& graph, long batch) {
    const std::string folder = model_folder(graph);
    if (environment("ASSAY_HPVM_STOP") == "built") std::_Exit(0);
    check_configuration(folder);
    void* library = ::dlopen((folder + "/root.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) exit_with_error(std::string("The model cannot be loaded: ") + ::dlerror());
    Model model;
    model.library = library;
    find_symbol(library, "assay_open", model.open);
    find_symbol(library, "assay_close", model.close);
    find_symbol(library, "assay_mistake", model.error);
    find_symbol(library, "assay_step", model.step);
    model.engine = model.open((folder + "/root.weights").c_str(), batch, thread_count(),
                              allowed_kernels(), autotune_seconds());
    if (!model.engine) exit_with_error(model.error());
    return model;
}

inline void close(Model& model) {
    if (model.engine) model.close(model.engine);
    if (model.library) ::dlclose(model.library);
    model = Model{};
}

}  // namespace hpvm_shim
