// A program by a configuration: computed by a program of its own, which is built if it has to be.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "arguments.hpp"
#include "configuration.hpp"

extern char** environ;

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

constexpr std::string_view begun = ".building-";  // and the process that builds it

// Who was asked to build has said what is wrong.
struct Told {
    int status;
};

inline std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> found;
    for (std::string& word : words) found.push_back(word.data());
    found.push_back(nullptr);
    return found;
}

constexpr std::size_t most_kept = 16;  // programs of configurations: each has weights of its own

// All but those that were used last, and what an interrupted build has left.
inline void forget_old(const std::string& folder) {
    namespace files = std::filesystem;
    std::error_code ignored;
    std::vector<std::pair<files::file_time_type, files::path>> kept;
    for (const auto& each : files::directory_iterator(folder, ignored)) {
        const std::string name = each.path().filename().string();
        const bool building = name.compare(0, begun.size(), begun) == 0;
        if (building && ::kill(std::atoi(name.c_str() + begun.size()), 0) != 0)
            files::remove_all(each.path(), ignored);
        else if (!building && each.is_directory(ignored))
            kept.emplace_back(each.last_write_time(ignored), each.path());
    }
    std::sort(kept.rbegin(), kept.rend());
    for (std::size_t i = most_kept; i < kept.size(); ++i)
        files::remove_all(kept[i].second, ignored);
}

// `NAME.configs/build` is the command that compiled this program, a word a line.
inline void build_configured(const std::string& own, const configuration::Chosen& chosen,
                             const std::string& target) {
    std::vector<std::string> words;
    std::ifstream file(own + ".configs/build");
    for (std::string word; std::getline(file, word);) words.push_back(word);
    if (words.empty() || ::access(words[0].c_str(), X_OK) != 0)
        throw Mistake(chosen.name + " of " + chosen.file +
                      " was not built for this program, and assay, which compiled it, is not here. "
                      "Compile it by: assay compile MODEL --config " +
                      chosen.file + ":" + chosen.name);
    const std::string fresh = own + ".configs/" + std::string(begun) + std::to_string(::getpid());
    std::fprintf(stderr, "building %s of %s …\n", chosen.name.c_str(), chosen.file.c_str());
    for (const std::string& word :
         {std::string("--config"), chosen.file + ":" + chosen.name, std::string("-o"), fresh})
        words.push_back(word);
    pid_t child = 0;
    int status = 1;
    if (::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, pointers(words).data(),
                      environ) == 0)
        ::waitpid(child, &status, 0);
    if (status != 0) throw Told{WIFEXITED(status) ? WEXITSTATUS(status) : 1};
    if (std::rename(fresh.c_str(), target.c_str()) != 0 && ::access(target.c_str(), R_OK) != 0)
        throw Mistake(target + " cannot be written.");
    forget_old(own + ".configs");
}

// Returns if the configuration is exact: this program computes it. `data` is where its images are.
inline void configure(const Arguments& asked, const std::string& own, const std::string& model,
                      const std::string& data, int count, char** given) {
    const std::string lines = own + ".lines";
    if (::access(lines.c_str(), R_OK) != 0)
        throw Mistake(
            "-c is " + asked.config + ", but there is no " + lines +
            ": this program has knobs of its own, or HPVM has no operations for its network.");
    try {
        const auto [file, name] = configuration::split(asked.config);
        const configuration::Chosen chosen = configuration::read(file, name);
        if (chosen.exact()) return configuration::check(chosen, lines, model);
        const std::string folder = own + ".configs/" + chosen.digest();
        const std::string program = folder + "/" + model;
        if (::access(program.c_str(), X_OK) != 0) build_configured(own, chosen, folder);
        ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);  // it was used now
        std::vector<std::string> words{program};
        for (int i = 1; i < count; ++i) {
            const std::string word = given[i];
            if (word == "-c" || word == "--config") ++i;
            else words.push_back(word);
        }
        if (asked.data.empty()) words.push_back("--data"), words.push_back(data);
        std::fflush(nullptr);
        ::execv(program.c_str(), pointers(words).data());
        throw Mistake(program + " cannot be started.");
    } catch (const configuration::Wrong& wrong) {
        throw Mistake(wrong.what());
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
