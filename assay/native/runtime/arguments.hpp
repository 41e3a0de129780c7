// What a user asked of the binary.
#pragma once

#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "choice.hpp"

namespace assay {
inline namespace ASSAY_LEVEL_NAMESPACE {

struct Arguments {
    std::string set = "test";
    std::string layout;   // of images in the files; "": channels-first
    std::string data;     // folder of inputs and labels; "": where the binary lies
    std::string config;   // "" and fp32: as this program computes by itself
    std::string outputs;  // file for the network's outputs; "": none
    Size batch = 64, repeat = 1;
    int threads = 0;  // 0: as many as this process may use
    Allowed allowed = Allowed::all;
    double seconds = 0.5;
    bool json = false, mean_of_batches = false, layers = false, help = false;
};

constexpr const char* usage =
    " [-t test|tune] [options]\n"
    "  -t, -d test|tune     which images; NAME_input.bin and NAME_labels.bin are read\n"
    "  --data DIR           where they are, if not beside this program\n"
    "  --layout L           of images in the files: channels-first or channels-last\n"
    "  -c, --config FILE    a configuration of HPVM's form: the file's only inexact one, or "
    "FILE:NAME\n"
    "  --batch N            images in one step (64)\n"
    "  --threads N          as many as it may use, if not given\n"
    "  --repeat N           go over the images so many times; accuracy is of the last\n"
    "  --kernels K          auto, portable or onednn\n"
    "  --choose SECONDS     time for choosing kernels (0.5); 0 guesses\n"
    "  --mean-of-batches    accuracy as the older programs told it: mean of whole batches\n"
    "  --outputs FILE       also write the network's outputs, float32\n"
    "  --layers             tell where the time goes, layer by layer, instead\n"
    "  --json               tell results as JSON\n";

inline Size whole_number(const std::string& flag, const std::string& text) {
    Size found = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), found);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || found < 1)
        throw Mistake(flag + " is '" + text + "', but has to be a whole number, 1 or more.");
    return found;
}

inline std::string one_of(const std::string& flag, const std::string& text,
                          const std::vector<std::string>& choices) {
    std::string listed;
    for (const std::string& choice : choices) {
        if (choice == text) return text;
        listed += (listed.empty() ? "" : ", ") + choice;
    }
    throw Mistake(flag + " is '" + text + "', but has to be one of " + listed + ".");
}

inline double seconds_of(const std::string& text) {
    char* end = nullptr;
    const double found = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(found >= 0))
        throw Mistake("--choose is '" + text + "', but has to be a number of seconds.");
    return found;
}

inline Allowed kernels_of(const std::string& text) {
    one_of("--kernels", text, {"auto", "portable", "onednn"});
    if (text == "onednn" && !with_onednn)
        throw Mistake("--kernels is onednn, but this program was built without oneDNN.");
    return text == "portable" ? Allowed::own : text == "onednn" ? Allowed::onednn : Allowed::all;
}

inline void set_value(Arguments& found, const std::string& flag, const std::string& value) {
    if (flag == "-t" || flag == "-d") found.set = one_of(flag, value, {"test", "tune"});
    else if (flag == "-c" || flag == "--config") found.config = value;
    else if (flag == "--data") found.data = value;
    else if (flag == "--layout")
        found.layout = one_of(flag, value, {"channels-first", "channels-last"});
    else if (flag == "--outputs") found.outputs = value;
    else if (flag == "--batch") found.batch = whole_number(flag, value);
    else if (flag == "--repeat") found.repeat = whole_number(flag, value);
    else if (flag == "--threads") found.threads = static_cast<int>(whole_number(flag, value));
    else if (flag == "--kernels") found.allowed = kernels_of(value);
    else if (flag == "--choose") found.seconds = seconds_of(value);
    else throw Mistake("There is no option " + flag + "; -h tells those there are.");
}

inline Arguments arguments(int count, char** words) {
    Arguments found;
    for (int i = 1; i < count; ++i) {
        const std::string flag = words[i];
        if (flag == "-h" || flag == "--help") found.help = true;
        else if (flag == "--json") found.json = true;
        else if (flag == "--mean-of-batches") found.mean_of_batches = true;
        else if (flag == "--layers") found.layers = true;
        else if (i + 1 == count && flag[0] == '-') throw Mistake("Nothing follows " + flag + ".");
        else set_value(found, flag, words[++i]);
    }
    return found;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
