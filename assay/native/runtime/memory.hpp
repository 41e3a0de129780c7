// Memory that vectors like: aligned, zeroed, freed with its owner.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "vector.hpp"

namespace assay {

constexpr std::size_t alignment = 64;

template <typename Each = float>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(Size count) : count_(count) {
        const std::size_t bytes =
            (static_cast<std::size_t>(count) * sizeof(Each) + alignment) / alignment * alignment;
        data_.reset(static_cast<Each*>(std::aligned_alloc(alignment, bytes)));
        if (!data_) throw std::bad_alloc();
        std::memset(static_cast<void*>(data_.get()), 0, bytes);
    }
    Each* data() const { return data_.get(); }
    Size size() const { return count_; }

  private:
    struct Free {
        void operator()(Each* data) const { std::free(data); }
    };
    std::unique_ptr<Each, Free> data_;
    Size count_ = 0;
};

}  // namespace assay
