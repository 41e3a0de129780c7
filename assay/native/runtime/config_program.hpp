// Runs the program of a configuration, which is built on first use.
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

constexpr std::string_view build_prefix = ".building-";  // before the process id of the build

// The build failed and printed why.
struct BuildFailed {
    int status;
};

inline std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
}

constexpr std::size_t max_programs = 16;  // programs of configurations: each has weights of its own

// Removes all but the programs used last, and the remains of interrupted builds.
inline void evict_programs(const std::string& folder) {
    namespace files = std::filesystem;
    std::error_code ignored;
    std::vector<std::pair<files::file_time_type, files::path>> programs;
    for (const auto& each : files::directory_iterator(folder, ignored)) {
        const std::string name = each.path().filename().string();
        const bool building = name.compare(0, build_prefix.size(), build_prefix) == 0;
        if (building && ::kill(std::atoi(name.c_str() + build_prefix.size()), 0) != 0)
            files::remove_all(each.path(), ignored);
        else if (!building && each.is_directory(ignored))
            programs.emplace_back(each.last_write_time(ignored), each.path());
    }
    std::sort(programs.rbegin(), programs.rend());
    for (std::size_t i = max_programs; i < programs.size(); ++i)
        files::remove_all(programs[i].second, ignored);
}

// `NAME.configs/build` is the command that compiled this program, a word a line.
inline void build_configured(const std::string& program_path,
                             const configuration::Configuration& config,
                             const std::string& target) {
    std::vector<std::string> words;
    std::ifstream file(program_path + ".configs/build");
    for (std::string word; std::getline(file, word);) words.push_back(word);
    if (words.empty() || ::access(words[0].c_str(), X_OK) != 0)
        throw Error(config.name + " of " + config.file +
                    " was not built for this program, and assay, which compiled it, is not here. "
                    "Compile it by: assay compile MODEL --config " +
                    config.file + ":" + config.name);
    const std::string temporary =
        program_path + ".configs/" + std::string(build_prefix) + std::to_string(::getpid());
    std::fprintf(stderr, "building %s of %s …\n", config.name.c_str(), config.file.c_str());
    for (const std::string& word :
         {std::string("--config"), config.file + ":" + config.name, std::string("-o"), temporary})
        words.push_back(word);
    pid_t child = 0;
    int status = 1;
    if (::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, pointers(words).data(),
                      environ) == 0)
        ::waitpid(child, &status, 0);
    if (status != 0) throw BuildFailed{WIFEXITED(status) ? WEXITSTATUS(status) : 1};
    if (std::rename(temporary.c_str(), target.c_str()) != 0 && ::access(target.c_str(), R_OK) != 0)
        throw Error(target + " cannot be written.");
    evict_programs(program_path + ".configs");
}

// Returns if the configuration is exact: this program computes it. `data` is where its images are.
inline void configure(const Arguments& arguments, const std::string& program_path,
                      const std::string& model, const std::string& data, int count,
                      char** words_before) {
    const std::string lines = program_path + ".lines";
    if (::access(lines.c_str(), R_OK) != 0)
        throw Error(
            "-c is " + arguments.config + ", but there is no " + lines +
            ": this program has knobs of its own, or HPVM has no operations for its network.");
    try {
        const auto [file, name] = configuration::split(arguments.config);
        const configuration::Configuration config = configuration::read(file, name);
        if (config.is_exact()) return configuration::check(config, lines, model);
        const std::string folder = program_path + ".configs/" + config.digest();
        const std::string program = folder + "/" + model;
        if (::access(program.c_str(), X_OK) != 0) build_configured(program_path, config, folder);
        ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);  // it was used now
        std::vector<std::string> words{program};
        for (int i = 1; i < count; ++i) {
            const std::string word = words_before[i];
            if (word == "-c" || word == "--config") ++i;
            else words.push_back(word);
        }
        if (arguments.data.empty()) words.push_back("--data"), words.push_back(data);
        std::fflush(nullptr);
        ::execv(program.c_str(), pointers(words).data());
        throw Error(program + " cannot be started.");
    } catch (const configuration::Error& wrong) {
        throw Error(wrong.what());
    }
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
