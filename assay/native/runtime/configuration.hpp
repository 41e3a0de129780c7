// Reads configurations in HPVM's format, named FILE:NAME, or FILE where it has a single one that
// is not exact.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace configuration {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// `NUMBER DEVICE OP KNOB NUMBER …`, and which line of the file it is.
struct Line {
    std::size_t line_number = 0;
    std::vector<std::string> words;
};

struct Configuration {
    std::string file, name;
    std::size_t line_number = 0;  // of its +++++
    std::string header;
    std::vector<Line> lines;

    // All of it at full precision. What is malformed is not: the build reports what is wrong.
    bool is_exact() const {
        for (const Line& line : lines) {
            if (line.words.size() < 5 || line.words.size() % 3 != 2) return false;
            for (std::size_t i = 3; i < line.words.size(); i += 3)
                if (line.words[i] != "fp32") return false;
        }
        return true;
    }

    std::string device() const {
        return lines.empty() || lines[0].words.size() < 2 ? "" : lines[0].words[1];
    }

    // The same for configurations that compute the same: numbers of lines and devices are left out.
    std::string digest() const {
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const Line& line : lines)
            for (std::size_t i = 2; i <= line.words.size(); ++i)
                for (char character :
                     i < line.words.size() ? line.words[i] + " " : std::string("\n"))
                    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
        char text[20];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
        return text;
    }

    // A file of this configuration alone, whose lines are where they were.
    std::string text() const {
        std::string result;
        std::size_t next_line = 1;
        const auto put = [&](std::size_t line, const std::string& words) {
            for (; next_line < line; ++next_line) result += '\n';
            result += words + '\n', ++next_line;
        };
        put(line_number, "+++++");
        put(line_number + 1, header);
        for (const Line& line : lines) {
            std::string words;
            for (const std::string& word : line.words) words += (words.empty() ? "" : " ") + word;
            put(line.line_number, words);
        }
        return result + "-----\n";
    }
};

// The file and the name of a configuration; "": none is named. A file may have a colon in its own
// name.
inline std::pair<std::string, std::string> split(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || ::access(text.c_str(), R_OK) == 0) return {text, ""};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

inline std::vector<std::string> split_words(const std::string& line) {
    std::istringstream all(line);
    std::vector<std::string> words;
    for (std::string word; all >> word;) words.push_back(word);
    return words;
}

// All of a file, in its order.
inline std::vector<Configuration> read_all(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(path + " cannot be read.");
    std::vector<Configuration> configurations;
    std::string line;
    bool inside = false;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (number == 1 && line.compare(0, 3, "\xEF\xBB\xBF") == 0)
            line.erase(0, 3);  // a byte order mark
        const std::vector<std::string> words = split_words(line);
        if (words.empty()) continue;
        if (words[0] == "+++++") {
            inside = true;
            configurations.push_back({path, "", number, "", {}});
        } else if (inside && words[0] == "-----") {
            inside = false;
        } else if (inside && configurations.back().name.empty()) {
            configurations.back().name = words[0], configurations.back().header = line;
        } else if (inside) {
            configurations.back().lines.push_back({number, words});
        }
    }
    if (inside)
        throw Error(path + ", line " + std::to_string(configurations.back().line_number) +
                    ": the configuration has no -----.");
    if (configurations.empty())
        throw Error(path + " holds no configuration: none begins with +++++.");
    return configurations;
}

inline std::string list_names(const std::vector<Configuration>& all) {
    std::string result;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 3); ++i)
        result += (result.empty() ? "" : ", ") + all[i].name;
    return result + (all.size() > 3 ? " and " + std::to_string(all.size() - 3) + " more" : "");
}

// The same rule as `select_config` in hpvm/config_sets.py.
inline Configuration read(const std::string& path, const std::string& name) {
    const std::vector<Configuration> all = read_all(path);
    std::vector<Configuration> others;
    for (const Configuration& each : all) {
        if (!name.empty() && each.name == name) return each;
        if (!each.is_exact()) others.push_back(each);
    }
    if (!name.empty())
        throw Error(path + " has no configuration named '" + name + "'; it has " + list_names(all) +
                    ".");
    if (others.size() > 1)
        throw Error(path + " has " + std::to_string(others.size()) +
                    " configurations that are not exact, " + list_names(others) +
                    ", and none is named: " + path + ":" + others.back().name + " is one.");
    return others.empty() ? all[0] : others[0];
}

inline std::string join_words(const std::vector<std::string>& words, std::size_t first,
                              std::size_t step) {
    std::string result;
    for (std::size_t i = first; i < words.size(); i += step)
        result += (result.empty() ? "" : " ") + words[i];
    return result;
}

// An exact configuration has the operations of the network's lines, which the file `lines` has.
inline void check(const Configuration& config, const std::string& lines,
                  const std::string& network) {
    std::ifstream file(lines);
    std::vector<std::string> operations;
    for (std::string line; std::getline(file, line);)
        operations.push_back(line.substr(0, line.find('\t')));
    for (std::size_t i = 0; i < std::min(operations.size(), config.lines.size()); ++i) {
        const std::string ops = join_words(config.lines[i].words, 2, 3);
        if (ops != operations[i])
            throw Error(config.file + ", line " + std::to_string(config.lines[i].line_number) +
                        ": line " + config.lines[i].words[0] + " of " + network + " is '" +
                        operations[i] + "', not '" + ops + "'.");
    }
    const bool softmax =
        config.lines.size() == operations.size() + 1 &&  // HPVM's networks end in one
        join_words(config.lines.back().words, 2, 3) == "softmax";
    if (config.lines.size() != operations.size() && !softmax)
        throw Error(config.file + ", line " + std::to_string(config.line_number) + ": " +
                    config.name + " has " + std::to_string(config.lines.size()) + " lines, but " +
                    network + " has " + std::to_string(operations.size()) + ".");
}

}  // namespace configuration
