// A thread pool with a parallel_for. The caller never waits for a part that has not been started:
// it runs such parts itself, so that a preempted thread delays only its own part.
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

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

class ThreadPool {
  public:
    // Includes the calling thread; there are fewer where the system refuses to create them.
    explicit ThreadPool(int threads) {
        helpers_.reserve(static_cast<std::size_t>(threads));
        try {
            for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { help(i); });
        } catch (const std::system_error&) {
        }
    }

    ~ThreadPool() {
        closing_.store(true);
        wake();
        for (std::thread& helper : helpers_) helper.join();
    }

    ThreadPool(const ThreadPool&) = delete;  // helpers refer to it
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(helpers_.size()) + 1; }

    // Calls each(part, thread) once for every part from 0; a thread runs one part at a time. The
    // first exception is rethrown here when all parts have ended.
    template <typename Each>
    void parallel_for(int parts, const Each& each) {
        if (helpers_.empty() || parts < 2) {
            for (int part = 0; part < parts; ++part) each(part, 0);
            return;
        }
        work_ = &each;
        call_ = [](const void* work, int part, int thread) {
            (*static_cast<const Each*>(work))(part, thread);
        };
        unclaimed_.store(range(1, parts));
        if (sleeping_.load() > 0) wake();
        unsigned by_caller = 0;
        for (int part = 0; part >= 0; part = claim(false), ++by_caller)
            capture_exception([&] { each(part, 0); });
        by_helpers_ += static_cast<unsigned>(parts) - by_caller;
        for (int turns = 0; helper_done_.load(std::memory_order_acquire) != by_helpers_; ++turns)
            back_off(turns);
        if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    }

  private:
    // Spinning is quicker than sleeping by microseconds, which is what a small layer takes; a
    // thread that can do nothing for longer makes room for others.
    static constexpr int spins = 2000, turns_before_sleep = 3000;

    static void back_off(int turns) {
        if (turns < spins) cpu_pause();
        else std::this_thread::yield();
    }

    // The unclaimed parts, as first and end in one word. A claim is one exchange of it, and work_
    // is read only afterwards: a claimed part keeps work_ from being replaced.
    static std::uint64_t range(int first, int end) {
        return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(end);
    }

    // -1: none is left. The caller takes parts from the front and helpers from the back, so that a
    // thread gets the same parts, and finds them in its cache, in one layer after another.
    int claim(bool last) {
        std::uint64_t current = unclaimed_.load(std::memory_order_acquire);
        for (;;) {
            const int first = static_cast<int>(current >> 32),
                      end = static_cast<int>(current & UINT32_MAX);
            if (first >= end) return -1;
            const std::uint64_t remaining = last ? range(first, end - 1) : range(first + 1, end);
            if (unclaimed_.compare_exchange_weak(current, remaining, std::memory_order_acq_rel,
                                                 std::memory_order_acquire))
                return last ? end - 1 : first;
        }
    }

    // Stores the first exception; the other parts still run.
    template <typename Do>
    void capture_exception(Do&& work) {
        try {
            work();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!exception_) exception_ = std::current_exception();
        }
    }

    bool has_work() const {
        const std::uint64_t current = unclaimed_.load();
        return closing_.load() || current >> 32 < (current & UINT32_MAX);
    }

    void help(int thread) {
        for (int turns = 0; !closing_.load(std::memory_order_relaxed); ++turns) {
            const int part = claim(true);
            if (part >= 0) {
                capture_exception([&] { call_(work_, part, thread); });
                helper_done_.fetch_add(1, std::memory_order_release);
                turns = 0;
            } else if (turns < turns_before_sleep) {
                back_off(turns);
            } else {
                sleep();
                turns = 0;
            }
        }
    }

    // Either it sees the published work before it sleeps, or the caller sees it asleep and wakes
    // it.
    void sleep() {
        std::unique_lock<std::mutex> lock(mutex_);
        sleeping_.fetch_add(1);
        wake_up_.wait(lock, [this] { return has_work(); });
        sleeping_.fetch_sub(1);
    }

    void wake() {
        const std::lock_guard<std::mutex> lock(mutex_);
        wake_up_.notify_all();
    }

    // Each line of a cache has one who writes: the caller what helpers need, helpers what they did,
    // and what both look at while they wait is seldom written.
    alignas(64) std::atomic<std::uint64_t> unclaimed_{0};
    const void* work_ = nullptr;
    void (*call_)(const void*, int, int) = nullptr;
    unsigned by_helpers_ = 0;                           // what done_ is when all is done
    alignas(64) std::atomic<unsigned> helper_done_{0};  // parts by helpers, since the beginning
    alignas(64) std::atomic<int> sleeping_{0};
    std::atomic<bool> closing_{false};
    std::mutex mutex_;
    std::exception_ptr exception_;  // read only when no part is running
    std::condition_variable wake_up_;
    std::vector<std::thread> helpers_;  // created last, and joined before the rest is destroyed
};

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
