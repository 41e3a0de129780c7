// Rules of the thread pool, each as a function that returns 0; the argument names the one to run.
#include "thread_pool.hpp"

#include <dirent.h>

#include <cstdio>
#include <fstream>
#include <new>
#include <random>
#include <string>

using assay::ThreadPool;

#define CHECK(rule)                                        \
    if (!(rule)) {                                         \
        std::fprintf(stderr, "%d: %s\n", __LINE__, #rule); \
        return 1;                                          \
    }

// Threads of this process in a state, as the system has it: R, S, …; 0: in any.
static int threads_in_state(char state) {
    int count = 0;
    DIR* tasks = ::opendir("/proc/self/task");
    while (const dirent* task = ::readdir(tasks)) {
        std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/stat");
        std::string text;
        if (task->d_name[0] == '.' || !std::getline(file, text)) continue;
        count += state == 0 || text[text.rfind(')') + 2] == state;
    }
    ::closedir(tasks);
    return count;
}

static void linger(int turns) {
    for (int i = 0; i < turns; ++i) std::this_thread::yield();
}

// Members between `from` and `to` take their time, the others do not.
static int every_part_is_done_once(int threads, int steps, int from, int to) {
    std::mt19937 random(1);
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(threads));
    for (int step = 0; step < steps; ++step) {
        const int parts = static_cast<int>(random() % 40);
        std::vector<int> done(40);  // no atomics: who asked may read all of it without a lock
        std::atomic<bool> twice{false};
        pool.parallel_for(parts, [&](int part, int thread) {
            if (busy[static_cast<std::size_t>(thread)]++) twice = true;
            if (thread >= from && thread < to) linger(20);
            done[static_cast<std::size_t>(part)] += 1;
            --busy[static_cast<std::size_t>(thread)];
        });
        CHECK(!twice);
        for (int part = 0; part < 40; ++part)
            CHECK(done[static_cast<std::size_t>(part)] == (part < parts));
    }
    return 0;
}

// The helper keeps its part until all others are done: whoever waited for them would wait for ever.
static int caller_does_what_nobody_has_begun() {
    ThreadPool pool(2);
    for (int step = 0; step < 200; ++step) {
        std::atomic<int> done{0};
        std::atomic<bool> started{false};
        pool.parallel_for(10, [&](int, int thread) {
            if (thread == 0) {
                while (!started) std::this_thread::yield();
                ++done;
            } else {
                started = true;
                while (done < 9) std::this_thread::yield();
            }
        });
        CHECK(done == 9);
    }
    return 0;
}

// The caller's part lasts until every helper has one: a helper that slept on would never begin.
static int idle_helpers_sleep_and_wake() {
    for (int round = 0; round < 20; ++round) {
        ThreadPool pool(4);
        while (threads_in_state('S') < 3) std::this_thread::yield();
        std::atomic<int> here{0};
        pool.parallel_for(4, [&](int, int) {
            for (++here; here < 4;) std::this_thread::yield();
        });
        CHECK(here == 4);
    }
    return 0;
}

static int nothing_is_left_running() {
    {
        ThreadPool first(2);
    }  // a sanitizer may begin a thread of its own with the first one
    const int before = threads_in_state(0);
    for (int round = 0; round < 200; ++round) {
        ThreadPool pool(5);
        std::atomic<int> done{0};
        if (round % 2) pool.parallel_for(20, [&](int, int) { ++done; });
        CHECK(done == (round % 2 ? 20 : 0));
    }
    // A thread that was joined may still be listed for a moment.
    while (threads_in_state(0) > before) std::this_thread::yield();
    return 0;
}

// Whoever throws, the caller hears of it when all parts are done, and the team goes on.
static int what_is_thrown_reaches_the_caller() {
    ThreadPool pool(3);
    for (int round = 0; round < 300; ++round) {
        std::atomic<int> done{0};
        bool heard = false;
        try {
            pool.parallel_for(12, [&](int part, int) {
                ++done;
                if (part == round % 12) throw std::bad_alloc();
            });
        } catch (const std::bad_alloc&) {
            heard = true;
        }
        CHECK(heard && done == 12);
        pool.parallel_for(12, [&](int, int) { --done; });
        CHECK(done == 0);
    }
    return 0;
}

int main(int, char** words) {
    const std::string rule = words[1];
    if (rule == "even") return every_part_is_done_once(2, 20000, 0, 0);
    if (rule == "slow helpers") return every_part_is_done_once(3, 500, 1, 3);
    if (rule == "slow caller") return every_part_is_done_once(3, 500, 0, 1);
    if (rule == "more than cores") return every_part_is_done_once(16, 500, 0, 0);
    if (rule == "alone") return every_part_is_done_once(1, 100, 0, 0);
    if (rule == "unbegun") return caller_does_what_nobody_has_begun();
    if (rule == "sleep") return idle_helpers_sleep_and_wake();
    if (rule == "ending") return nothing_is_left_running();
    if (rule == "throws") return what_is_thrown_reaches_the_caller();
    return 2;
}
