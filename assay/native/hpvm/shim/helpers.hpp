// The functions of tensorUtils.h.
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
void llvm_hpvm_clearRuntimeController() { active_configuration() = ActiveConfiguration{}; }
void changeTensorPlacement(Tensor*, data_location_t) {}
void hpvm_request_tensor(void* tensor, int) { lookup_tensor(tensor, __func__); }
void* tensor_set_node_id(unsigned) { return nullptr; }

void startMemTracking() {
    batch_tensors().clear();
    tracking() = true;
}
void freeBatchMemory() {
    for (void* each : batch_tensors()) tensors().erase(each);
    batch_tensors().clear();
}
void freeOutputTensors() { freeBatchMemory(); }
void clearTensorMap() { batch_tensors().clear(); }
void freeTensor(void* tensor) { tensors().erase(tensor); }

void* create4DTensor(int, int, std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
    return static_cast<Tensor*>(&allocate_tensor({n, c, h, w}));
}
void* create2DTensor(int, std::size_t n, std::size_t c) {
    return static_cast<Tensor*>(&allocate_tensor({n, c}));
}
void* create3DTensor(int, std::size_t n, std::size_t c, std::size_t h) {
    return static_cast<Tensor*>(&allocate_tensor({n, c, h}));
}
void initTensorData(void* tensor, void* data, std::size_t bytes) {
    TensorImpl& impl = lookup_tensor(tensor, __func__);
    if (bytes != impl.size_in_bytes)
        exit_with_error("initTensorData has " + std::to_string(bytes) + " bytes for a tensor of " +
                        std::to_string(impl.size_in_bytes) + ".");
    std::memcpy(impl.data(), data, bytes);
    ++impl.version;
}
void tensorCopy(void* from, void* to) {
    initTensorData(to, lookup_tensor(from, __func__).data(),
                   lookup_tensor(from, __func__).size_in_bytes);
}
}

Tensor* readTrainedWeights(const char* file, int, long a, long b, long c, long d) {
    TensorImpl& tensor =
        create_tensor({checked_size(a), checked_size(b), checked_size(c), checked_size(d)});
    tensor.host_data = file_bytes(file, 0, tensor.size_in_bytes);
    return &tensor;
}

Tensor* readInputBatch(const char* file, long, long start, long end, long b, long c, long d) {
    TensorImpl& tensor = create_tensor(
        {checked_size(end - start), checked_size(b), checked_size(c), checked_size(d)});
    const std::size_t each = tensor.size_in_bytes / tensor.sizes[0];
    tensor.host_data =
        file_bytes(file, each * static_cast<std::size_t>(start), tensor.size_in_bytes);
    return &tensor;
}

void copyInputBatch(const char* file, int start, int end, long b, long c, long d, void* into) {
    Tensor* batch = readInputBatch(file, 0, start, end, b, c, d);
    initTensorData(into, batch->host_data, batch->size_in_bytes);
    freeTensor(batch);
}

template <typename Label>
Label* read_labels(const char* file, int start, int end) {
    const std::size_t count = checked_size(end - start), first = static_cast<std::size_t>(start);
    auto* labels = static_cast<Label*>(std::malloc(count * sizeof(Label)));  // the caller frees it
    if (!labels) exit_with_error("There is not enough memory for the labels.");
    std::memcpy(labels, file_bytes(file, first * sizeof(Label), count * sizeof(Label)),
                count * sizeof(Label));
    return labels;
}
std::uint8_t* readLabels(const char* file, int count) {
    return read_labels<std::uint8_t>(file, 0, count);
}
std::uint32_t* readLabels3(const char* file, int count) {
    return read_labels<std::uint32_t>(file, 0, count);
}
std::uint32_t* readLabelsBatch3(const char* file, int start, int end) {
    return read_labels<std::uint32_t>(file, start, end);
}

// Percentage of a batch whose label is among the `n` classes with the largest outputs; of equal
// outputs the first class ranks higher.
template <typename Label>
float top_accuracy(const Label* labels, TensorImpl& result, std::size_t count, std::size_t classes,
                   std::size_t n) {
    const std::size_t each = result.num_elems / result.sizes[0];
    std::size_t hits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const float* row = result.data() + i * each;
        const std::size_t label = labels[i];
        std::size_t above = 0;
        for (std::size_t c = 0; label < classes && c < classes; ++c)
            above += !(row[label] >= row[c]) || (c < label && row[c] == row[label]);
        hits += label < classes && above < n;
    }
    return static_cast<float>(100.0 * static_cast<double>(hits) / static_cast<double>(count));
}

float computeAccuracy3(std::uint32_t* labels, void* result) {
    TensorImpl& impl = lookup_tensor(result, __func__);
    const float accuracy =
        top_accuracy(labels, impl, impl.sizes[0], impl.num_elems / impl.sizes[0], 1);
    write_atomically("final_accuracy", decimal_text(static_cast<double>(accuracy)));
    return accuracy;
}
float computeTop5Accuracy(std::uint8_t* labels, int count, void* result, unsigned classes) {
    const float accuracy =
        top_accuracy(labels, lookup_tensor(result, __func__), checked_size(count), classes, 5);
    write_atomically("final_accuracy", decimal_text(static_cast<double>(accuracy)));
    return accuracy;
}

static std::vector<float>& accuracies() {
    static auto* all = new std::vector<float>;
    return *all;
}
void dumpFinalAccuracy(float accuracy) {
    write_atomically("final_accuracy", decimal_text(static_cast<double>(accuracy)));
    accuracies().push_back(accuracy);
}
void dumpExecutionAccuracies() {
    std::string text;
    for (float each : accuracies()) text += decimal_text(static_cast<double>(each)) + "\n";
    write_atomically("run_accuracies.txt", text);
}
void dumpAvgPSNR(float value) {
    write_atomically("avg_psnr", decimal_text(static_cast<double>(value)));
}
void dumpPSNRStd(float value) {
    write_atomically("psnr_std.txt", decimal_text(static_cast<double>(value)));
}
float readPSNRFromFile(const char* file) {
    const File all = map_file(file);
    return std::strtof(std::string(all.data, all.size).c_str(), nullptr);
}

// Percentage of images whose peak signal-to-noise ratio is below the threshold in psnr.txt.
float computePSNRViolation(void* gold, void* approximate, float) {
    const double threshold = static_cast<double>(readPSNRFromFile("psnr.txt"));
    TensorImpl &first = lookup_tensor(gold, __func__),
               &second = lookup_tensor(approximate, __func__);
    const std::size_t images = first.sizes[0], each = first.num_elems / images;
    double sum = 0, squares = 0, below = 0;
    std::string text;
    for (std::size_t i = 0; i < images; ++i) {
        double error = 0;
        for (std::size_t j = i * each; j < (i + 1) * each; ++j) {
            const double difference =
                static_cast<double>(first.data()[j]) - static_cast<double>(second.data()[j]);
            error += difference * difference;
        }
        const double ratio = 20 * std::log10(255 / std::sqrt(error / static_cast<double>(each)));
        text += decimal_text(ratio) + "\n";
        sum += ratio, squares += ratio * ratio, below += ratio < threshold;
    }
    const double mean = sum / static_cast<double>(images),
                 rate = 100 * below / static_cast<double>(images);
    write_atomically("img_psnr.txt", text);
    dumpAvgPSNR(static_cast<float>(mean));
    dumpFinalAccuracy(static_cast<float>(100 - rate));
    const double variance = squares / static_cast<double>(images) - mean * mean;
    dumpPSNRStd(static_cast<float>(std::sqrt(std::max(0.0, variance))));
    return static_cast<float>(rate);
}

void dumpOutput(void* tensor, const char* file) {
    TensorImpl& impl = lookup_tensor(tensor, __func__);
    write_atomically(file, std::string(static_cast<char*>(impl.host_data), impl.size_in_bytes));
}
void dumpWeightsToFile(char* file, void* tensor) { dumpOutput(tensor, file); }

void printTensorDims(void* tensor) {
    const TensorImpl& impl = lookup_tensor(tensor, __func__);
    std::printf("Num_elems = %zu\n", impl.num_elems);
    for (std::size_t i = 0; i < impl.sizes.size(); ++i)
        std::printf("dim[%zu] = %zu\n", i, impl.sizes[i]);
}
void printTensorInfo(void* tensor) { printTensorDims(tensor); }
void printTensorValues(void* tensor) {
    TensorImpl& impl = lookup_tensor(tensor, __func__);
    for (std::size_t i = 0; i < impl.num_elems; ++i)
        std::printf("%f,", static_cast<double>(impl.data()[i]));
    std::printf("\n");
}
void compareValues(void* tensor, float* data, std::size_t count) {
    TensorImpl& impl = lookup_tensor(tensor, __func__);
    if (count > impl.num_elems || !std::equal(data, data + count, impl.data()))
        exit_with_error("compareValues impl a difference.");
}
void compareTensors(void* first, void* second) {
    compareValues(first, lookup_tensor(second, __func__).data(),
                  lookup_tensor(second, __func__).num_elems);
}

template <typename Number>
static void fill(void* tensor, Number number) {
    TensorImpl& impl = lookup_tensor(tensor, "A function that fills tensors");
    for (std::size_t i = 0; i < impl.num_elems; ++i) impl.data()[i] = number(i, impl.num_elems);
    ++impl.version;
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
