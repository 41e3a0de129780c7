// The command line of a program.
#pragma once

#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "autotuner.hpp"

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
    "  -c, --config FILE    configuration in HPVM's format: FILE:NAME, or FILE with one inexact\n"
    "  --batch N            images in one step (64)\n"
    "  --threads N          threads to use (all that are allowed)\n"
    "  --repeat N           passes over the images (1); accuracy is that of the last\n"
    "  --kernels K          auto, portable or onednn\n"
    "  --choose SECONDS     time to select kernels (0.5); 0: the first guess\n"
    "  --mean-of-batches    accuracy as older programs reported it: mean of full batches\n"
    "  --outputs FILE       also write the network's outputs, float32\n"
    "  --layers             print the time of each layer instead\n"
    "  --json               print results as JSON\n";

inline Size positive_integer(const std::string& flag, const std::string& text) {
    Size number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || number < 1)
        throw Error(flag + " is '" + text + "', but has to be an integer, 1 or more.");
    return number;
}

inline std::string check_choice(const std::string& flag, const std::string& text,
                                const std::vector<std::string>& choices) {
    std::string listed;
    for (const std::string& choice : choices) {
        if (choice == text) return text;
        listed += (listed.empty() ? "" : ", ") + choice;
    }
    throw Error(flag + " is '" + text + "', but has to be one of " + listed + ".");
}

inline double parse_seconds(const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(seconds >= 0))
        throw Error("--choose is '" + text + "', but has to be a number of seconds.");
    return seconds;
}

inline Allowed parse_kernels(const std::string& text) {
    check_choice("--kernels", text, {"auto", "portable", "onednn"});
    if (text == "onednn" && !with_onednn)
        throw Error("--kernels is onednn, but this program was built without oneDNN.");
    return text == "portable" ? Allowed::own : text == "onednn" ? Allowed::onednn : Allowed::all;
}

inline void set_value(Arguments& arguments, const std::string& flag, const std::string& value) {
    if (flag == "-t" || flag == "-d") arguments.set = check_choice(flag, value, {"test", "tune"});
    else if (flag == "-c" || flag == "--config") arguments.config = value;
    else if (flag == "--data") arguments.data = value;
    else if (flag == "--layout")
        arguments.layout = check_choice(flag, value, {"channels-first", "channels-last"});
    else if (flag == "--outputs") arguments.outputs = value;
    else if (flag == "--batch") arguments.batch = positive_integer(flag, value);
    else if (flag == "--repeat") arguments.repeat = positive_integer(flag, value);
    else if (flag == "--threads")
        arguments.threads = static_cast<int>(positive_integer(flag, value));
    else if (flag == "--kernels") arguments.allowed = parse_kernels(value);
    else if (flag == "--choose") arguments.seconds = parse_seconds(value);
    else throw Error("There is no option " + flag + "; -h tells those there are.");
}

inline Arguments parse_arguments(int count, char** words) {
    Arguments result;
    for (int i = 1; i < count; ++i) {
        const std::string flag = words[i];
        if (flag == "-h" || flag == "--help") result.help = true;
        else if (flag == "--json") result.json = true;
        else if (flag == "--mean-of-batches") result.mean_of_batches = true;
        else if (flag == "--layers") result.layers = true;
        else if (i + 1 == count && flag[0] == '-') throw Error("Nothing follows " + flag + ".");
        else set_value(result, flag, words[++i]);
    }
    return result;
}

}  // namespace ASSAY_LEVEL_NAMESPACE
}  // namespace assay
