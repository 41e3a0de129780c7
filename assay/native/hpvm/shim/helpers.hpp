// What tensorUtils.h promises.
#pragma once

#include "launch.hpp"

extern "C" {

void __hpvm__init() noexcept {}
void __hpvm__cleanup() noexcept {}
void __hpvm__wait(void*) noexcept {}
void llvm_hpvm_track_mem(void*, std::size_t) noexcept {}
void llvm_hpvm_untrack_mem(void*) noexcept {}
void llvm_hpvm_request_mem(void*, std::size_t) noexcept {}
void llvm_hpvm_initTensorRt(int) {}
void llvm_hpvm_cleanupTensorRt() {}
void llvm_hpvm_initApproxhpvmRt(int) {}
void llvm_hpvm_cleanupApproxhpvmRt() {}
void llvm_hpvm_clearRuntimeController() { by_configuration() = ByConfiguration{}; }
void changeTensorPlacement(Tensor*, data_location_t) {}
void hpvm_request_tensor(void* tensor, int) { held(tensor, __func__); }
void* tensor_set_node_id(unsigned) { return nullptr; }

void startMemTracking() {
    of_batch().clear();
    tracking() = true;
}
void freeBatchMemory() {
    for (void* each : of_batch()) tensors().erase(each);
    of_batch().clear();
}
void freeOutputTensors() { freeBatchMemory(); }
void clearTensorMap() { of_batch().clear(); }
void freeTensor(void* tensor) { tensors().erase(tensor); }

void* create4DTensor(int, int, std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
    return static_cast<Tensor*>(&make_filled({n, c, h, w}));
}
void* create2DTensor(int, std::size_t n, std::size_t c) {
    return static_cast<Tensor*>(&make_filled({n, c}));
}
void* create3DTensor(int, std::size_t n, std::size_t c, std::size_t h) {
    return static_cast<Tensor*>(&make_filled({n, c, h}));
}
void initTensorData(void* tensor, void* data, std::size_t bytes) {
    Held& into = held(tensor, __func__);
    if (bytes != into.size_in_bytes)
        refuse("initTensorData was given " + std::to_string(bytes) + " bytes for a tensor of " +
               std::to_string(into.size_in_bytes) + ".");
    std::memcpy(into.data(), data, bytes);
    ++into.version;
}
void tensorCopy(void* from, void* to) {
    initTensorData(to, held(from, __func__).data(), held(from, __func__).size_in_bytes);
}
}

Tensor* readTrainedWeights(const char* file, int, long a, long b, long c, long d) {
    Held& made = make({size_of(a), size_of(b), size_of(c), size_of(d)});
    made.host_data = part(file, 0, made.size_in_bytes);
    return &made;
}

Tensor* readInputBatch(const char* file, long, long start, long end, long b, long c, long d) {
    Held& made = make({size_of(end - start), size_of(b), size_of(c), size_of(d)});
    const std::size_t each = made.size_in_bytes / made.sizes[0];
    made.host_data = part(file, each * static_cast<std::size_t>(start), made.size_in_bytes);
    return &made;
}

void copyInputBatch(const char* file, int start, int end, long b, long c, long d, void* into) {
    Tensor* read = readInputBatch(file, 0, start, end, b, c, d);
    initTensorData(into, read->host_data, read->size_in_bytes);
    freeTensor(read);
}

template <typename Label>
Label* labels_of(const char* file, int start, int end) {
    const std::size_t count = size_of(end - start), first = static_cast<std::size_t>(start);
    auto* found = static_cast<Label*>(std::malloc(count * sizeof(Label)));  // the caller frees it
    if (!found) refuse("There is not enough memory for the labels.");
    std::memcpy(found, part(file, first * sizeof(Label), count * sizeof(Label)),
                count * sizeof(Label));
    return found;
}
std::uint8_t* readLabels(const char* file, int count) {
    return labels_of<std::uint8_t>(file, 0, count);
}
std::uint32_t* readLabels3(const char* file, int count) {
    return labels_of<std::uint32_t>(file, 0, count);
}
std::uint32_t* readLabelsBatch3(const char* file, int start, int end) {
    return labels_of<std::uint32_t>(file, start, end);
}

// Per cent of a batch for which a class among the `first` largest is the label; the first of
// equals.
template <typename Label>
float right(const Label* labels, Held& result, std::size_t count, std::size_t classes,
            std::size_t first) {
    const std::size_t each = result.num_elems / result.sizes[0];
    std::size_t hits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const float* row = result.data() + i * each;
        const std::size_t label = labels[i];
        std::size_t above = 0;
        for (std::size_t c = 0; label < classes && c < classes; ++c)
            above += !(row[label] >= row[c]) || (c < label && row[c] == row[label]);
        hits += label < classes && above < first;
    }
    return static_cast<float>(100.0 * static_cast<double>(hits) / static_cast<double>(count));
}

float computeAccuracy3(std::uint32_t* labels, void* result) {
    Held& found = held(result, __func__);
    const float accuracy =
        right(labels, found, found.sizes[0], found.num_elems / found.sizes[0], 1);
    write_whole("final_accuracy", fixed(static_cast<double>(accuracy)));
    return accuracy;
}
float computeTop5Accuracy(std::uint8_t* labels, int count, void* result, unsigned classes) {
    const float accuracy = right(labels, held(result, __func__), size_of(count), classes, 5);
    write_whole("final_accuracy", fixed(static_cast<double>(accuracy)));
    return accuracy;
}

static std::vector<float>& accuracies() {
    static auto* found = new std::vector<float>;
    return *found;
}
void dumpFinalAccuracy(float accuracy) {
    write_whole("final_accuracy", fixed(static_cast<double>(accuracy)));
    accuracies().push_back(accuracy);
}
void dumpExecutionAccuracies() {
    std::string text;
    for (float each : accuracies()) text += fixed(static_cast<double>(each)) + "\n";
    write_whole("run_accuracies.txt", text);
}
void dumpAvgPSNR(float value) { write_whole("avg_psnr", fixed(static_cast<double>(value))); }
void dumpPSNRStd(float value) { write_whole("psnr_std.txt", fixed(static_cast<double>(value))); }
float readPSNRFromFile(const char* file) {
    const File all = mapped(file);
    return std::strtof(std::string(all.data, all.size).c_str(), nullptr);
}

// Per cent of images whose peak signal-to-noise ratio is below what psnr.txt says.
float computePSNRViolation(void* gold, void* approximate, float) {
    const double threshold = static_cast<double>(readPSNRFromFile("psnr.txt"));
    Held &first = held(gold, __func__), &second = held(approximate, __func__);
    const std::size_t images = first.sizes[0], each = first.num_elems / images;
    double sum = 0, squares = 0, below = 0;
    std::string text;
    for (std::size_t i = 0; i < images; ++i) {
        double error = 0;
        for (std::size_t j = i * each; j < (i + 1) * each; ++j) {
            const double apart =
                static_cast<double>(first.data()[j]) - static_cast<double>(second.data()[j]);
            error += apart * apart;
        }
        const double ratio = 20 * std::log10(255 / std::sqrt(error / static_cast<double>(each)));
        text += fixed(ratio) + "\n";
        sum += ratio, squares += ratio * ratio, below += ratio < threshold;
    }
    const double mean = sum / static_cast<double>(images),
                 rate = 100 * below / static_cast<double>(images);
    write_whole("img_psnr.txt", text);
    dumpAvgPSNR(static_cast<float>(mean));
    dumpFinalAccuracy(static_cast<float>(100 - rate));
    const double variance = squares / static_cast<double>(images) - mean * mean;
    dumpPSNRStd(static_cast<float>(std::sqrt(std::max(0.0, variance))));
    return static_cast<float>(rate);
}

void dumpOutput(void* tensor, const char* file) {
    Held& found = held(tensor, __func__);
    write_whole(file, std::string(static_cast<char*>(found.host_data), found.size_in_bytes));
}
void dumpWeightsToFile(char* file, void* tensor) { dumpOutput(tensor, file); }

void printTensorDims(void* tensor) {
    const Held& found = held(tensor, __func__);
    std::printf("Num_elems = %zu\n", found.num_elems);
    for (std::size_t i = 0; i < found.sizes.size(); ++i)
        std::printf("dim[%zu] = %zu\n", i, found.sizes[i]);
}
void printTensorInfo(void* tensor) { printTensorDims(tensor); }
void printTensorValues(void* tensor) {
    Held& found = held(tensor, __func__);
    for (std::size_t i = 0; i < found.num_elems; ++i)
        std::printf("%f,", static_cast<double>(found.data()[i]));
    std::printf("\n");
}
void compareValues(void* tensor, float* data, std::size_t count) {
    Held& found = held(tensor, __func__);
    if (count > found.num_elems || !std::equal(data, data + count, found.data()))
        refuse("compareValues found a difference.");
}
void compareTensors(void* first, void* second) {
    compareValues(first, held(second, __func__).data(), held(second, __func__).num_elems);
}

template <typename Number>
static void fill(void* tensor, Number number) {
    Held& found = held(tensor, "A function that fills tensors");
    for (std::size_t i = 0; i < found.num_elems; ++i) found.data()[i] = number(i, found.num_elems);
    ++found.version;
}
void fillTensorWithVal(void* tensor, float value) {
    fill(tensor, [value](std::size_t, std::size_t) { return value; });
}
void fillTensorWithOnes(void* tensor) { fillTensorWithVal(tensor, 1); }
void fillTensorWithNegOnes(void* tensor) { fillTensorWithVal(tensor, -1); }
void fillWithOnesAndTwos(void* tensor) {
    fill(tensor, [](std::size_t i, std::size_t count) { return i < count / 2 ? 1.f : 2.f; });
}
void fillTensorVals(void* tensor) {
    fill(tensor, [](std::size_t i, std::size_t) { return static_cast<float>(i + 1); });
}
