// What a team promises, each as a function that ends with 0; the one to run is named.
#include "team.hpp"

#include <dirent.h>

#include <cstdio>
#include <fstream>
#include <new>
#include <random>
#include <string>

using assay::Team;

#define CHECK(rule)                                        \
    if (!(rule)) {                                         \
        std::fprintf(stderr, "%d: %s\n", __LINE__, #rule); \
        return 1;                                          \
    }

// Threads of this process in a state, as the system has it: R, S, …; 0: in any.
static int threads(char state) {
    int found = 0;
    DIR* tasks = ::opendir("/proc/self/task");
    while (const dirent* task = ::readdir(tasks)) {
        std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/stat");
        std::string text;
        if (task->d_name[0] == '.' || !std::getline(file, text)) continue;
        found += state == 0 || text[text.rfind(')') + 2] == state;
    }
    ::closedir(tasks);
    return found;
}

static void linger(int turns) {
    for (int i = 0; i < turns; ++i) std::this_thread::yield();
}

// Members between `from` and `to` take their time, the others do not.
static int every_part_is_done_once(int members, int steps, int from, int to) {
    std::mt19937 random(1);
    Team team(members);
    CHECK(team.members() == members);
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(members));
    for (int step = 0; step < steps; ++step) {
        const int parts = static_cast<int>(random() % 40);
        std::vector<int> done(40);  // no atomics: who asked may read all of it without a lock
        std::atomic<bool> twice{false};
        team.share_out(parts, [&](int part, int member) {
            if (busy[static_cast<std::size_t>(member)]++) twice = true;
            if (member >= from && member < to) linger(20);
            done[static_cast<std::size_t>(part)] += 1;
            --busy[static_cast<std::size_t>(member)];
        });
        CHECK(!twice);
        for (int part = 0; part < 40; ++part)
            CHECK(done[static_cast<std::size_t>(part)] == (part < parts));
    }
    return 0;
}

// The helper keeps its part until all others are done: whoever waited for them would wait for ever.
static int caller_does_what_nobody_has_begun() {
    Team team(2);
    for (int step = 0; step < 200; ++step) {
        std::atomic<int> done{0};
        std::atomic<bool> held{false};
        team.share_out(10, [&](int, int member) {
            if (member == 0) {
                while (!held) std::this_thread::yield();
                ++done;
            } else {
                held = true;
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
        Team team(4);
        while (threads('S') < 3) std::this_thread::yield();
        std::atomic<int> here{0};
        team.share_out(4, [&](int, int) {
            for (++here; here < 4;) std::this_thread::yield();
        });
        CHECK(here == 4);
    }
    return 0;
}

static int nothing_is_left_running() {
    {
        Team first(2);
    }  // a sanitizer may begin a thread of its own with the first one
    const int before = threads(0);
    for (int round = 0; round < 200; ++round) {
        Team team(5);
        std::atomic<int> done{0};
        if (round % 2) team.share_out(20, [&](int, int) { ++done; });
        CHECK(done == (round % 2 ? 20 : 0));
    }
    // A thread that was joined may still be listed for a moment.
    while (threads(0) > before) std::this_thread::yield();
    return 0;
}

// Whoever throws, the caller hears of it when all parts are done, and the team goes on.
static int what_is_thrown_reaches_the_caller() {
    Team team(3);
    for (int round = 0; round < 300; ++round) {
        std::atomic<int> done{0};
        bool heard = false;
        try {
            team.share_out(12, [&](int part, int) {
                ++done;
                if (part == round % 12) throw std::bad_alloc();
            });
        } catch (const std::bad_alloc&) {
            heard = true;
        }
        CHECK(heard && done == 12);
        team.share_out(12, [&](int, int) { --done; });
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
