// Constants of a model, mapped from the file beside its binary.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "vector.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

// An error of the user, in one sentence.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A whole file, as read-only memory.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path) : path_(path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status{};
        if (file < 0 || ::fstat(file, &status) != 0)
            throw Error("There is no readable file " + path + ".");
        size_ = static_cast<std::size_t>(status.st_size);
        if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        ::close(file);
        if (data_ == MAP_FAILED) throw Error(path + " cannot be mapped into memory.");
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (data_) ::munmap(data_, size_);
    }
    const char* data() const { return static_cast<const char*>(data_); }
    std::size_t size() const { return size_; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

// The file is a text index, `name offset count` a line and an empty line, then float32 numbers;
// offsets are in bytes from the start of the file.
class Weights {
  public:
    explicit Weights(const std::string& path) : file_(path) {
        const std::string head = "assay-weights 1\n";
        const std::string whole(file_.data() ? file_.data() : "",
                                std::min<std::size_t>(file_.size(), head.size()));
        if (whole != head) throw Error(path + " is not a weights file of assay.");
        for (std::string_view rest = index(head.size()); !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            add_entry(line);
        }
    }

    // The numbers of a constant, which must be so many.
    const float* get(const std::string& name, Size count) const {
        const auto entry = entries_.find(name);
        if (entry == entries_.end()) throw Error(file_.path() + " lacks the weights " + name + ".");
        if (entry->second.count != static_cast<std::size_t>(count))
            throw Error(file_.path() + " has " + std::to_string(entry->second.count) +
                        " numbers in " + name + ", but the model needs " + std::to_string(count) +
                        ".");
        return reinterpret_cast<const float*>(file_.data() + entry->second.offset);
    }

  private:
    struct Entry {
        std::size_t offset, count;
    };
    std::string_view index(std::size_t from) const {
        const std::string_view all(file_.data(), file_.size());
        const std::size_t end = all.find("\n\n", from);
        if (end == std::string_view::npos)
            throw Error(file_.path() + " was cut short: its index is not whole.");
        return all.substr(from, end - from);
    }

    void add_entry(std::string_view line) {
        const std::string name(line.substr(0, line.find(' ')));
        const char* end = line.data() + line.size();
        Entry entry{};
        parse_number(parse_number(line.data() + name.size(), end, entry.offset), end, entry.count);
        const std::size_t size = file_.size();
        if (entry.offset > size || entry.count > (size - entry.offset) / sizeof(float))
            throw Error(file_.path() + " was cut short: " + name + " is not whole.");
        entries_[name] = entry;
    }

    // After a space; gives the place behind it. Not by a stream: in a Python process on
    // Ubuntu 24.04 a stream read 0 for every number, and in a program of the same code it did not.
    const char* parse_number(const char* at, const char* end, std::size_t& into) const {
        const auto read = std::from_chars(at + (at < end), end, into);
        if (read.ec != std::errc()) throw Error(file_.path() + " is not a weights file of assay.");
        return read.ptr;
    }

    MappedFile file_;
    std::map<std::string, Entry> entries_;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
