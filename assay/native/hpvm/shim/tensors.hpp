// Tensors, and the files they come from.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include "tensorUtils.h"

namespace hpvm_shim {

// A mistake of the program or its user ends it with one sentence and a status.
[[noreturn]] inline void refuse(const std::string& sentence) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", sentence.c_str());
    std::fflush(stderr);
    std::_Exit(2);
}

inline std::string environment(const char* name) {
    const char* found = std::getenv(name);
    return found ? found : "";
}

// A tensor of ours: HPVM's fields, and what is behind them.
struct Held : Tensor {
    std::vector<std::size_t> sizes;
    std::vector<float> own;     // empty where the numbers are a file's
    int value = -1;             // of the graph that is being described; -1: numbers
    unsigned long version = 0;  // grows with every change that is made by a function of ours

    float* data() { return static_cast<float*>(host_data); }
};

// Every tensor that is alive. Those made after startMemTracking go with the batch.
inline std::map<void*, std::unique_ptr<Held>>& tensors() {
    static auto* found = new std::map<void*, std::unique_ptr<Held>>;  // for the whole process
    return *found;
}
inline std::vector<void*>& of_batch() {
    static auto* found = new std::vector<void*>;
    return *found;
}
inline bool& tracking() {
    static bool found = false;
    return found;
}

inline Held& held(void* tensor, const char* user) {
    const auto found = tensors().find(tensor);
    if (found == tensors().end())
        refuse(std::string(user) + " was given what is no tensor, or one that was freed.");
    return *found->second;
}

inline Held& make(std::vector<std::size_t> sizes) {
    auto made = std::make_unique<Held>();
    Held& tensor = *made;
    static_cast<Tensor&>(tensor) = Tensor{};
    tensor.sizes = std::move(sizes);
    tensor.dims = {static_cast<int>(tensor.sizes.size()), tensor.sizes.data()};
    tensor.num_elems = 1;
    for (std::size_t size : tensor.sizes) tensor.num_elems *= size;
    tensor.size_in_bytes = tensor.num_elems * sizeof(float);
    void* const key = static_cast<Tensor*>(made.get());
    tensors()[key] = std::move(made);
    if (tracking()) of_batch().push_back(key);
    return tensor;
}

inline Held& make_filled(std::vector<std::size_t> sizes) {
    Held& tensor = make(std::move(sizes));
    tensor.own.resize(tensor.num_elems);
    tensor.host_data = tensor.own.data();
    return tensor;
}

// A path as a program has it, or the same file in the folder of data that a user has named.
inline std::string place_of(const char* named) {
    std::string path(named);
    path.erase(std::remove(path.begin(), path.end(), '"'), path.end());  // of a macro made a text
    std::string data = environment("ASSAY_HPVM_DATA");
    if (data.empty()) data = environment("MODEL_PARAMS_DIR");
    std::vector<std::string> places{path};
    if (!data.empty()) {
        const std::string own = "model_params/";
        const std::string inside =
            path.compare(0, own.size(), own) == 0 ? path.substr(own.size()) : path;
        if (path[0] != '/')
            places.push_back(data + "/" + path), places.push_back(data + "/" + inside);
        places.push_back(data + "/" + path.substr(path.rfind('/') + 1));
    }
    for (const std::string& place : places)
        if (::access(place.c_str(), R_OK) == 0) return place;
    refuse("There is no readable file " + path +
           (data.empty() ? "; ASSAY_HPVM_DATA can name a folder to look in."
                         : ", also not in " + data + "."));
}

struct File {
    char* data = nullptr;
    std::size_t size = 0;
};

inline std::map<std::string, File>& mapped_files() {
    static auto* found = new std::map<std::string, File>;
    return *found;
}

// A whole file in memory, read where it is touched; what a program writes into it stays its own.
inline File mapped(const char* named) {
    const std::string place = place_of(named);
    File& found = mapped_files()[place];
    if (found.data) return found;
    const int file = ::open(place.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (file < 0 || ::fstat(file, &about) != 0 || about.st_size == 0)
        refuse(place + " cannot be read, or is empty.");
    found.size = static_cast<std::size_t>(about.st_size);
    void* memory = ::mmap(nullptr, found.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) refuse(place + " cannot be mapped into memory.");
    found.data = static_cast<char*>(memory);
    return found;
}

// Bytes of a file, which has to have as many.
inline char* part(const char* named, std::size_t from, std::size_t bytes) {
    const File file = mapped(named);
    if (from + bytes > file.size)
        refuse(std::string(named) + " has " + std::to_string(file.size) + " bytes, but " +
               std::to_string(from + bytes) + " are read.");
    return file.data + from;
}

inline std::size_t size_of(long size) {
    if (size < 1) refuse("A tensor was asked for with a size of " + std::to_string(size) + ".");
    return static_cast<std::size_t>(size);
}

// Whole or not at all, whatever happens meanwhile.
inline void write_whole(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(::getpid());
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        refuse(path + " cannot be written.");
    }
}

inline std::string fixed(double number) {
    std::ostringstream text;
    text << std::fixed << number;
    return text.str();
}

}  // namespace hpvm_shim
