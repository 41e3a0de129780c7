// Tensors of a program, and the files that their numbers are read from.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include "tensorUtils.h"

namespace hpvm_shim {

// For errors of the program or its user.
[[noreturn]] inline void exit_with_error(const std::string& sentence) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", sentence.c_str());
    std::fflush(stderr);
    std::_Exit(2);
}

inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// The object behind a Tensor pointer: HPVM's fields and ours.
struct TensorImpl : Tensor {
    std::vector<std::size_t> sizes;
    std::vector<float> own;     // empty if the numbers are in a mapped file
    int value = -1;             // of the graph that is being recorded; -1: has numbers
    unsigned long version = 0;  // increases when a function of the shim writes to it

    float* data() { return static_cast<float*>(host_data); }
};

// All tensors. Those created after startMemTracking are freed with the batch.
// Objects with static lifetime are never destroyed: programs use them until they exit.
inline std::map<void*, std::unique_ptr<TensorImpl>>& tensors() {
    static auto* all = new std::map<void*, std::unique_ptr<TensorImpl>>;
    return *all;
}
inline std::vector<void*>& batch_tensors() {
    static auto* all = new std::vector<void*>;
    return *all;
}
inline bool& tracking() {
    static bool active = false;
    return active;
}

inline TensorImpl& lookup_tensor(void* tensor, const char* user) {
    const auto entry = tensors().find(tensor);
    if (entry == tensors().end())
        exit_with_error(std::string(user) +
                        " received a pointer that is not a tensor, or to a freed tensor.");
    return *entry->second;
}

inline TensorImpl& create_tensor(std::vector<std::size_t> sizes) {
    auto owner = std::make_unique<TensorImpl>();
    TensorImpl& tensor = *owner;
    static_cast<Tensor&>(tensor) = Tensor{};
    tensor.sizes = std::move(sizes);
    tensor.dims = {static_cast<int>(tensor.sizes.size()), tensor.sizes.data()};
    tensor.num_elems = 1;
    for (std::size_t size : tensor.sizes) tensor.num_elems *= size;
    tensor.size_in_bytes = tensor.num_elems * sizeof(float);
    void* const key = static_cast<Tensor*>(owner.get());
    tensors()[key] = std::move(owner);
    if (tracking()) batch_tensors().push_back(key);
    return tensor;
}

inline TensorImpl& allocate_tensor(std::vector<std::size_t> sizes) {
    TensorImpl& tensor = create_tensor(std::move(sizes));
    tensor.own.resize(tensor.num_elems);
    tensor.host_data = tensor.own.data();
    return tensor;
}

// `name` as a path, else the same file in the data folder of the user.
inline std::string find_file(const char* name) {
    std::string path(name);
    path.erase(std::remove(path.begin(), path.end(), '"'), path.end());  // of a stringized macro
    std::string data = environment("ASSAY_HPVM_DATA");
    if (data.empty()) data = environment("MODEL_PARAMS_DIR");
    std::vector<std::string> candidates{path};
    if (!data.empty()) {
        const std::string prefix = "model_params/";
        const std::string relative =
            path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : path;
        if (path[0] != '/')
            candidates.push_back(data + "/" + path), candidates.push_back(data + "/" + relative);
        candidates.push_back(data + "/" + path.substr(path.rfind('/') + 1));
    }
    for (const std::string& each : candidates)
        if (::access(each.c_str(), R_OK) == 0) return each;
    exit_with_error("There is no readable file " + path +
                    (data.empty() ? "; ASSAY_HPVM_DATA can name a folder to look in."
                                  : ", also not in " + data + "."));
}

struct File {
    char* data = nullptr;
    std::size_t size = 0;
};

inline std::map<std::string, File>& mapped_files() {
    static auto* all = new std::map<std::string, File>;
    return *all;
}

// Maps a file privately: what the program writes to it does not reach the file.
inline File map_file(const char* name) {
    const std::string path = find_file(name);
    File& mapped = mapped_files()[path];
    if (mapped.data) return mapped;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (file < 0 || ::fstat(file, &status) != 0 || status.st_size == 0)
        exit_with_error(path + " cannot be read, or is empty.");
    mapped.size = static_cast<std::size_t>(status.st_size);
    void* memory = ::mmap(nullptr, mapped.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) exit_with_error(path + " cannot be mapped into memory.");
    mapped.data = static_cast<char*>(memory);
    return mapped;
}

// A range of a mapped file.
inline char* file_bytes(const char* name, std::size_t from, std::size_t bytes) {
    const File file = map_file(name);
    if (from + bytes > file.size)
        exit_with_error(std::string(name) + " has " + std::to_string(file.size) + " bytes, but " +
                        std::to_string(from + bytes) + " are read.");
    return file.data + from;
}

inline std::size_t checked_size(long size) {
    if (size < 1)
        exit_with_error("A tensor has the size " + std::to_string(size) +
                        ", but has to have 1 or more.");
    return static_cast<std::size_t>(size);
}

// Atomic: writes a temporary file and renames it.
inline void write_atomically(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(::getpid());
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        exit_with_error(path + " cannot be written.");
    }
}

inline std::string decimal_text(double number) {
    std::ostringstream text;
    text << std::fixed << number;
    return text.str();
}

}  // namespace hpvm_shim
