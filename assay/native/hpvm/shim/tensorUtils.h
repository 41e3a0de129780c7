// Tensors, and helpers for the files of weights, images and labels and for accuracies.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include "hpvm.h"

struct Dimension {
    int num_dims;
    std::size_t* dim_sizes;
};

enum data_location_t { HOST, DEVICE };
enum Tensor_format_t { nchw, nhwc };
enum Tensor_type_t { float_type, double_type, half_type, int_type };

// Data is float32 in host memory, whatever type the program requests.
struct Tensor {
    int data_type;
    int cur_type;
    int data_format;
    data_location_t data_placement;
    void* host_data;
    void* gpu_data;
    void* gpu_half_data;
    std::size_t num_elems;
    std::size_t size_in_bytes;
    Dimension dims;
};

extern "C" {
void llvm_hpvm_initTensorRt(int device = 0);
void llvm_hpvm_cleanupTensorRt();
void llvm_hpvm_initApproxhpvmRt(int device = 0);
void llvm_hpvm_cleanupApproxhpvmRt();
void llvm_hpvm_initializeRuntimeController(const char* configurations);
void llvm_hpvm_clearRuntimeController();
// Adds the accuracy of a batch, and writes the mean of all batches to final_accuracy.
void llvm_hpvm_invokeRtControl(void* result, const char* labels, int start, int end);

void startProfiling();
void stopProfiling();
void startMemTracking();
void freeOutputTensors();
void freeBatchMemory();
void clearTensorMap();

void* create2DTensor(int type, std::size_t, std::size_t);
void* create3DTensor(int type, std::size_t, std::size_t, std::size_t);
void* create4DTensor(int type, int format, std::size_t, std::size_t, std::size_t, std::size_t);
void initTensorData(void* tensor, void* data, std::size_t bytes);
void changeTensorPlacement(Tensor* tensor, data_location_t place);
void tensorCopy(void* from, void* to);
void freeTensor(void* tensor);
void hpvm_request_tensor(void* tensor, int place);
void* tensor_set_node_id(unsigned number);
}

Tensor* readTrainedWeights(const char* file, int type, long, long, long, long);
Tensor* readInputBatch(const char* file, long type, long start, long end, long, long, long);
void copyInputBatch(const char* file, int start, int end, long, long, long, void* into);
std::uint8_t* readLabels(const char* file, int count);
std::uint32_t* readLabels3(const char* file, int count);
std::uint32_t* readLabelsBatch3(const char* file, int start, int end);
float computeAccuracy3(std::uint32_t* labels, void* result);
float computeTop5Accuracy(std::uint8_t* labels, int count, void* result, unsigned classes = 10);
void dumpFinalAccuracy(float accuracy);
void dumpExecutionAccuracies();
void dumpAvgPSNR(float value);
void dumpPSNRStd(float value);
float readPSNRFromFile(const char* file);
float computePSNRViolation(void* gold, void* approximate, float threshold);
void dumpOutput(void* tensor, const char* file);
void dumpWeightsToFile(char* file, void* tensor);
void printTensorInfo(void* tensor);
void printTensorValues(void* tensor);
void printTensorDims(void* tensor);
void compareTensors(void* first, void* second);
void compareValues(void* tensor, float* data, std::size_t count);
void fillTensorWithOnes(void* tensor);
void fillWithOnesAndTwos(void* tensor);
void fillTensorWithVal(void* tensor, float value);
void fillTensorWithNegOnes(void* tensor);
void fillTensorVals(void* tensor);
