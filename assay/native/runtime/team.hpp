// Threads that share out parts of some work. Who asks never waits for a part that nobody has begun:
// it does those itself, so that a thread which cannot run just now holds up only what it holds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cpu_level.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

inline void pause_a_little() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

class Team {
  public:
    // The thread that asks is one of the members; where the system gives fewer, there are fewer.
    explicit Team(int members) {
        helpers_.reserve(static_cast<std::size_t>(members));
        try {
            for (int i = 1; i < members; ++i) helpers_.emplace_back([this, i] { help(i); });
        } catch (const std::system_error&) {
        }
    }

    ~Team() {
        closing_.store(true);
        wake();
        for (std::thread& helper : helpers_) helper.join();
    }

    Team(const Team&) = delete;  // helpers refer to it
    Team& operator=(const Team&) = delete;

    int members() const { return static_cast<int>(helpers_.size()) + 1; }

    // Calls each(part, member) once for every part from 0; a member is in one call at a time. What
    // one of them throws is thrown here, when all have ended.
    template <typename Each>
    void share_out(int parts, const Each& each) {
        if (helpers_.empty() || parts < 2) {
            for (int part = 0; part < parts; ++part) each(part, 0);
            return;
        }
        work_ = &each;
        call_ = [](const void* work, int part, int member) {
            (*static_cast<const Each*>(work))(part, member);
        };
        left_.store(range(1, parts));
        if (asleep_.load() > 0) wake();
        unsigned mine = 0;
        for (int part = 0; part >= 0; part = claim(false), ++mine) keeping([&] { each(part, 0); });
        helped_ += static_cast<unsigned>(parts) - mine;
        for (int turns = 0; done_.load(std::memory_order_acquire) != helped_; ++turns) rest(turns);
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

  private:
    // Spinning is quicker than sleeping by microseconds, which is what a small layer takes; a
    // thread that can do nothing for longer makes room for others.
    static constexpr int spins = 2000, turns_awake = 3000;

    static void rest(int turns) {
        if (turns < spins) pause_a_little();
        else std::this_thread::yield();
    }

    // What nobody has begun, as first and end in one word. A claim is one exchange of it, and the
    // work is looked at only after: whoever holds a part keeps the work from being replaced.
    static std::uint64_t range(int first, int end) {
        return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(end);
    }

    // -1: none is left. Who asks goes up from the first and helpers down from the last, so that a
    // thread meets the same part of one layer after another in its own cache.
    int claim(bool last) {
        std::uint64_t seen = left_.load(std::memory_order_acquire);
        for (;;) {
            const int first = static_cast<int>(seen >> 32),
                      end = static_cast<int>(seen & UINT32_MAX);
            if (first >= end) return -1;
            const std::uint64_t rest = last ? range(first, end - 1) : range(first + 1, end);
            if (left_.compare_exchange_weak(seen, rest, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
                return last ? end - 1 : first;
        }
    }

    // The first of what is thrown; the rest of the work is done all the same.
    template <typename Do>
    void keeping(Do&& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!thrown_) thrown_ = std::current_exception();
        }
    }

    bool wanted() const {
        const std::uint64_t seen = left_.load();
        return closing_.load() || seen >> 32 < (seen & UINT32_MAX);
    }

    void help(int member) {
        for (int turns = 0; !closing_.load(std::memory_order_relaxed); ++turns) {
            const int part = claim(true);
            if (part >= 0) {
                keeping([&] { call_(work_, part, member); });
                done_.fetch_add(1, std::memory_order_release);
                turns = 0;
            } else if (turns < turns_awake) {
                rest(turns);
            } else {
                sleep();
                turns = 0;
            }
        }
    }

    // Either it sees what is published before it sleeps, or it is seen asleep and woken.
    void sleep() {
        std::unique_lock<std::mutex> lock(mutex_);
        asleep_.fetch_add(1);
        bell_.wait(lock, [this] { return wanted(); });
        asleep_.fetch_sub(1);
    }

    void wake() {
        const std::lock_guard<std::mutex> lock(mutex_);
        bell_.notify_all();
    }

    // Each line of a cache has one who writes: the caller what helpers need, helpers what they did,
    // and what both look at while they wait is seldom written.
    alignas(64) std::atomic<std::uint64_t> left_{0};
    const void* work_ = nullptr;
    void (*call_)(const void*, int, int) = nullptr;
    unsigned helped_ = 0;                        // what done_ is when all is done
    alignas(64) std::atomic<unsigned> done_{0};  // parts by helpers, since the beginning
    alignas(64) std::atomic<int> asleep_{0};
    std::atomic<bool> closing_{false};
    std::mutex mutex_;
    std::exception_ptr thrown_;  // read only when nobody works
    std::condition_variable bell_;
    std::vector<std::thread> helpers_;  // the last to be made, and ended before the rest goes
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
