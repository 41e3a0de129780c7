// A configuration of HPVM's files, as a program is told it: FILE:NAME, or FILE for the only one
// that it has beside its exact one.
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

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// `NUMBER DEVICE OP KNOB NUMBER …`, and which line of the file it is.
struct Line {
    std::size_t where = 0;
    std::vector<std::string> words;
};

struct Chosen {
    std::string file, name;
    std::size_t where = 0;  // of its +++++
    std::string header;
    std::vector<Line> lines;

    // All of it at full precision. What is malformed is not: whoever builds it says what is wrong.
    bool exact() const {
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
        std::uint64_t found = 0xcbf29ce484222325u;
        for (const Line& line : lines)
            for (std::size_t i = 2; i <= line.words.size(); ++i)
                for (char letter : i < line.words.size() ? line.words[i] + " " : std::string("\n"))
                    found = (found ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
        char text[20];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(found));
        return text;
    }

    // A file of this configuration alone, whose lines are where they were.
    std::string text() const {
        std::string found;
        std::size_t at = 1;
        const auto put = [&](std::size_t line, const std::string& words) {
            for (; at < line; ++at) found += '\n';
            found += words + '\n', ++at;
        };
        put(where, "+++++");
        put(where + 1, header);
        for (const Line& line : lines) {
            std::string words;
            for (const std::string& word : line.words) words += (words.empty() ? "" : " ") + word;
            put(line.where, words);
        }
        return found + "-----\n";
    }
};

// The file and the name of a configuration; "": none is named. A file may have a colon in its own
// name.
inline std::pair<std::string, std::string> split(const std::string& asked) {
    const std::size_t colon = asked.rfind(':');
    if (colon == std::string::npos || ::access(asked.c_str(), R_OK) == 0) return {asked, ""};
    return {asked.substr(0, colon), asked.substr(colon + 1)};
}

inline std::vector<std::string> words_of(const std::string& line) {
    std::istringstream all(line);
    std::vector<std::string> found;
    for (std::string word; all >> word;) found.push_back(word);
    return found;
}

// All of a file, in its order.
inline std::vector<Chosen> read_all(const std::string& place) {
    std::ifstream file(place);
    if (!file) throw Wrong(place + " cannot be read.");
    std::vector<Chosen> found;
    std::string line;
    bool inside = false;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (number == 1 && line.compare(0, 3, "\xEF\xBB\xBF") == 0)
            line.erase(0, 3);  // a byte order mark
        const std::vector<std::string> words = words_of(line);
        if (words.empty()) continue;
        if (words[0] == "+++++") {
            inside = true;
            found.push_back({place, "", number, "", {}});
        } else if (inside && words[0] == "-----") {
            inside = false;
        } else if (inside && found.back().name.empty()) {
            found.back().name = words[0], found.back().header = line;
        } else if (inside) {
            found.back().lines.push_back({number, words});
        }
    }
    if (inside)
        throw Wrong(place + ", line " + std::to_string(found.back().where) +
                    ": the configuration has no -----.");
    if (found.empty()) throw Wrong(place + " holds no configuration: none begins with +++++.");
    return found;
}

inline std::string names_of(const std::vector<Chosen>& all) {
    std::string found;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 3); ++i)
        found += (found.empty() ? "" : ", ") + all[i].name;
    return found + (all.size() > 3 ? " and " + std::to_string(all.size() - 3) + " more" : "");
}

// As `chosen` in hpvm/config_sets.py does.
inline Chosen read(const std::string& place, const std::string& name) {
    const std::vector<Chosen> all = read_all(place);
    std::vector<Chosen> others;
    for (const Chosen& each : all) {
        if (!name.empty() && each.name == name) return each;
        if (!each.exact()) others.push_back(each);
    }
    if (!name.empty())
        throw Wrong(place + " has no configuration named '" + name + "'; it has " + names_of(all) +
                    ".");
    if (others.size() > 1)
        throw Wrong(place + " has " + std::to_string(others.size()) +
                    " configurations that are not exact, " + names_of(others) +
                    ", and none is named: " + place + ":" + others.back().name + " is one.");
    return others.empty() ? all[0] : others[0];
}

inline std::string joined(const std::vector<std::string>& words, std::size_t first,
                          std::size_t step) {
    std::string found;
    for (std::size_t i = first; i < words.size(); i += step)
        found += (found.empty() ? "" : " ") + words[i];
    return found;
}

// An exact configuration has the operations of the network's lines, which the file `lines` has.
inline void check(const Chosen& chosen, const std::string& lines, const std::string& network) {
    std::ifstream file(lines);
    std::vector<std::string> wanted;
    for (std::string line; std::getline(file, line);)
        wanted.push_back(line.substr(0, line.find('\t')));
    for (std::size_t i = 0; i < std::min(wanted.size(), chosen.lines.size()); ++i) {
        const std::string ops = joined(chosen.lines[i].words, 2, 3);
        if (ops != wanted[i])
            throw Wrong(chosen.file + ", line " + std::to_string(chosen.lines[i].where) +
                        ": line " + chosen.lines[i].words[0] + " of " + network + " is '" +
                        wanted[i] + "', not '" + ops + "'.");
    }
    const bool softmax = chosen.lines.size() == wanted.size() + 1 &&  // HPVM's networks end in one
                         joined(chosen.lines.back().words, 2, 3) == "softmax";
    if (chosen.lines.size() != wanted.size() && !softmax)
        throw Wrong(chosen.file + ", line " + std::to_string(chosen.where) + ": " + chosen.name +
                    " has " + std::to_string(chosen.lines.size()) + " lines, but " + network +
                    " has " + std::to_string(wanted.size()) + ".");
}

}  // namespace configuration
