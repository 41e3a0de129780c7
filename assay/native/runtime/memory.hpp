// Memory that vectors like: aligned, zeroed, freed with its owner, and in large pages where the
// system has them, so that little time goes into finding pages.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "vector.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

constexpr std::size_t alignment = 64;

template <typename Number>
constexpr Number rounded_up(Number number, Number unit) {
    return (number + unit - 1) / unit * unit;
}

// At least so many floats, in an odd number of cache lines: things that are a power of two apart
// would all be in the same few lines of a cache.
inline Size odd_lines(Size floats) {
    constexpr Size line = 16;
    return (floats + line - 1) / line / 2 * 2 * line + line;
}

// Some large pages, handed out from the first byte to the last and freed together.
class Slab {
  public:
    static constexpr std::size_t page = 2 << 20, min_size = 4 * page;

    explicit Slab(std::size_t bytes)
        : size_(rounded_up(bytes, page)),
          data_(static_cast<char*>(std::aligned_alloc(page, size_))) {
        if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        ::madvise(data_, size_, MADV_HUGEPAGE);  // where it is refused, pages are small
#endif
    }
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    ~Slab() { std::free(data_); }

    // Null: there is not so much left.
    void* take(std::size_t bytes) {
        if (bytes > size_ - used_) return nullptr;
        used_ += bytes;
        return data_ + used_ - bytes;
    }

  private:
    std::size_t size_, used_ = 0;
    char* data_;
};

#if defined(__SANITIZE_ADDRESS__)
#define ASSAY_SEPARATE_ALLOCATIONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASSAY_SEPARATE_ALLOCATIONS
#endif
#endif

#ifdef ASSAY_SEPARATE_ALLOCATIONS
// Each by itself, so that one byte too far is seen.
inline std::shared_ptr<void> allocate(std::size_t bytes) {
    std::shared_ptr<void> pointer(std::aligned_alloc(alignment, bytes), std::free);
    if (!pointer) throw std::bad_alloc();
    return pointer;
}
#else
// The pointer shares ownership of its slab.
inline std::shared_ptr<void> allocate(std::size_t bytes) {
    static std::mutex mutex;
    static std::weak_ptr<Slab> current;
    const std::lock_guard<std::mutex> lock(mutex);
    auto slab = current.lock();
    void* pointer = slab ? slab->take(bytes) : nullptr;
    if (!pointer) {
        slab = std::make_shared<Slab>(std::max(bytes, Slab::min_size));
        pointer = slab->take(bytes);
        if (bytes < Slab::min_size / 2) current = slab;
    }
    return {slab, pointer};
}
#endif

template <typename Each = float>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(Size count) : count_(count) {
        const std::size_t bytes =
            rounded_up(static_cast<std::size_t>(count) * sizeof(Each) + 1, alignment);
        memory_ = allocate(bytes);
        std::memset(memory_.get(), 0, bytes);
    }
    Each* data() const { return static_cast<Each*>(memory_.get()); }
    Size size() const { return count_; }

  private:
    std::shared_ptr<void> memory_;
    Size count_ = 0;
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
