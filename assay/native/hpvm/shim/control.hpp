// Configurations, accuracy and time while a program runs: HPVM's runtime control.
#pragma once

#include "helpers.hpp"

namespace hpvm_shim {

struct Control {
    std::string device;  // of the configuration's first line; "": none was given
    double sum = 0;      // of the batches' accuracies
    std::size_t batches = 0;
};
inline Control& control() {
    static auto* found = new Control;
    return *found;
}

// The first configuration of a file is the one that is used, as by HPVM. assay configs check reads all.
inline void read_configuration(const char* path) {
    std::ifstream file(place_of(path));
    std::string line, name;
    bool inside = false;
    for (int number = 1; std::getline(file, line); ++number) {
        std::istringstream words(line);
        std::vector<std::string> all;
        for (std::string word; words >> word;) all.push_back(word);
        if (all.empty()) continue;
        if (all[0] == "-----") break;
        if (all[0] == "+++++") inside = true;
        else if (inside && name.empty()) name = all[0];
        else if (inside && all.size() > 2) {
            if (control().device.empty()) control().device = all[1];
            for (std::size_t i = 3; i < all.size(); i += 3)
                if (all[i] != "fp32" || i + 1 == all.size())
                    refuse(std::string(path) + ", line " + std::to_string(number) + ": " + name +
                           " has " + all[i] + ", but this program executes fp32 only so far.");
        }
    }
    if (!inside || name.empty())
        refuse(std::string(path) + " holds no configuration: none begins with +++++.");
    std::fprintf(stderr, "%s of %s, for the %s: it runs on the CPU\n", name.c_str(), path,
                 control().device.c_str());
}

}  // namespace hpvm_shim

extern "C" {

void llvm_hpvm_initializeRuntimeController(const char* path) {
    control() = Control{};
    read_configuration(path);
}

void llvm_hpvm_invokeRtControl(void* result, const char* labels, int start, int end) {
    std::uint32_t* wanted = readLabelsBatch3(labels, start, end);
    Held& found = held(result, __func__);
    const std::size_t count = std::min(size_of(end - start), found.sizes[0]);
    control().sum += static_cast<double>(
        right(wanted, found, count, found.num_elems / found.sizes[0], 1));
    std::free(wanted);
    control().batches += 1;
    write_whole("final_accuracy", fixed(control().sum / static_cast<double>(control().batches)));
    const std::string outputs = environment("ASSAY_OUTPUTS");
    if (outputs.empty()) return;
    std::ofstream file(outputs, std::ios::binary | (start == 0 ? std::ios::trunc : std::ios::app));
    file.write(static_cast<const char*>(found.host_data),
               static_cast<std::streamsize>(found.size_in_bytes));
    if (!file) refuse(outputs + " cannot be written.");
}

void startProfiling() {
    timing().on = true;
    timing().seconds.clear();
    control() = Control{};
}

// Milliseconds of every launch, and their sum in a line that HPVM's profiler looks for.
void stopProfiling() {
    std::string text;
    double total = 0;
    for (std::size_t i = 0; i < timing().seconds.size(); ++i) {
        text += "Batch " + std::to_string(i + 1) + " : " + fixed(1e3 * timing().seconds[i]) + "\n";
        total += 1e3 * timing().seconds[i];
    }
    write_whole("profile_info.txt", text + "Total Time : " + fixed(total) + "\n");
    timing().on = false;
}
}
