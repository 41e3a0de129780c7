// HPVM-C written by hand: a sum around a convolution in groups, both pools, and nodes whose edges
// are declared before the nodes they come from are bound. Weights are in files named w0.bin,
// w1.bin, ….
#include <config.h>
#include <hpvm.h>
#include <tensorUtils.h>
#include <string>

#ifndef MODEL_PARAMS_DIR
#error MODEL_PARAMS_DIR is not defined
#endif

void conv_node(void* t1, size_t b1, void* t2, size_t b2) {
    __hpvm__hint(hpvm::DEVICE);
    __hpvm__attributes(2, t1, t2, 0);
    void* r = __hpvm__tensor_convolution(t1, t2, 1, 1, 1, 1);
    __hpvm__return(2, r, (size_t)0);
}
void add_node(void* t1, size_t b1, void* t2, size_t b2) {
    __hpvm__hint(hpvm::TENSOR_TARGET);
    __hpvm__attributes(2, t1, t2, 0);
    void* r = __hpvm__tensor_add(t1, t2);
    __hpvm__return(2, r, (size_t)0);
}
void tanh_node(void* t1, size_t b1) {
    __hpvm__attributes(1, t1, 0);
    void* r = __hpvm__tensor_tanh(t1);
    __hpvm__return(2, r, (size_t)0);
}
// Two operations in one leaf.
void group_node(void* t1, size_t b1, void* t2, size_t b2, void* t3, size_t b3) {
    __hpvm__attributes(3, t1, t2, t3, 0);
    void* s = __hpvm__tensor_group_convolution(t1, t2, 1, 1, 1, 1, 1, 4);
    void* r = __hpvm__tensor_add(s, t3);
    __hpvm__return(2, r, (size_t)0);
}
void norm_node(void* t1, size_t b1, void* t2, size_t b2, void* t3, size_t b3, void* t4, size_t b4,
               void* t5, size_t b5) {
    __hpvm__attributes(5, t1, t2, t3, t4, t5, 0);
    void* r = __hpvm__tensor_batchnorm(t1, t2, t3, t4, t5, 0.001);
    __hpvm__return(2, r, (size_t)0);
}
void relu_node(void* t1, size_t b1) {
    __hpvm__attributes(1, t1, 0);
    void* r = __hpvm__tensor_relu(t1);
    __hpvm__return(2, r, (size_t)0);
}
void max_node(void* t1, size_t b1) {
    __hpvm__attributes(1, t1, 0);
    void* r = __hpvm__tensor_pool_max(t1, 2, 2, 0, 0, 2, 2);
    __hpvm__return(2, r, (size_t)0);
}
void mean_node(void* t1, size_t b1) {
    __hpvm__attributes(1, t1, 0);
    void* r = __hpvm__tensor_pool_mean(t1, 2, 2, 0, 0, 2, 2);
    __hpvm__return(2, r, (size_t)0);
}
void mul_node(void* t1, size_t b1, void* t2, size_t b2) {
    __hpvm__attributes(2, t1, t2, 0);
    void* r = __hpvm__tensor_mul(t1, t2);
    __hpvm__return(2, r, (size_t)0);
}
void softmax_node(void* t1, size_t b1) {
    __hpvm__attributes(1, t1, 0);
    void* r = __hpvm__tensor_softmax(t1);
    __hpvm__return(2, r, (size_t)0);
}

// A graph inside the graph: the head.
void head(void* t1, size_t b1, void* w, size_t wb, void* b, size_t bb) {
    __hpvm__hint(hpvm::CPU_TARGET);
    __hpvm__attributes(3, t1, w, b, 0);
    void* product = __hpvm__createNodeND(0, mul_node);
    void* sum = __hpvm__createNodeND(0, add_node);
    void* end = __hpvm__createNodeND(0, softmax_node);
    for (unsigned i = 0; i < 4; i++) __hpvm__bindIn(product, i, i, 0);
    for (unsigned i = 0; i < 2; i++) {
        __hpvm__edge(product, sum, 1, i, i, 0);
        __hpvm__bindIn(sum, 4 + i, 2 + i, 0);
        __hpvm__edge(sum, end, 1, i, i, 0);
        __hpvm__bindOut(end, i, i, 0);
    }
}

void root(void* input, size_t input_bytes, void* w0, size_t n0, void* w1, size_t n1, void* w2,
          size_t n2, void* w3, size_t n3, void* w4, size_t n4, void* w5, size_t n5, void* w6,
          size_t n6, void* w7, size_t n7, void* w8, size_t n8, void* w9, size_t n9) {
    __hpvm__hint(hpvm::CPU_TARGET);
    __hpvm__attributes(11, input, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, 0);
    void* last = __hpvm__createNodeND(0, head);  // before what it reads
    void* first = __hpvm__createNodeND(0, conv_node);
    void* bias = __hpvm__createNodeND(0, add_node);
    void* bent = __hpvm__createNodeND(0, tanh_node);
    void* group = __hpvm__createNodeND(0, group_node);
    void* norm = __hpvm__createNodeND(0, norm_node);
    void* sum = __hpvm__createNodeND(0, add_node);
    void* relu = __hpvm__createNodeND(0, relu_node);
    void* most = __hpvm__createNodeND(0, max_node);
    void* mean = __hpvm__createNodeND(0, mean_node);
    for (unsigned i = 0; i < 2; i++) {
        __hpvm__bindIn(first, i, i, 0);
        __hpvm__bindIn(first, 2 + i, 2 + i, 0);
        __hpvm__edge(first, bias, 1, i, i, 0);
        __hpvm__bindIn(bias, 4 + i, 2 + i, 0);
        __hpvm__edge(bias, bent, 1, i, i, 0);
        __hpvm__edge(bent, group, 1, i, i, 0);
        __hpvm__bindIn(group, 6 + i, 2 + i, 0);
        __hpvm__bindIn(group, 8 + i, 4 + i, 0);
        __hpvm__edge(group, norm, 1, i, i, 0);
        for (unsigned part = 0; part < 4; part++)
            __hpvm__bindIn(norm, 10 + 2 * part + i, 2 + 2 * part + i, 0);
        __hpvm__edge(bent, sum, 1, i, i, 0);
        __hpvm__edge(norm, sum, 1, i, 2 + i, 0);
        __hpvm__edge(sum, relu, 1, i, i, 0);
        __hpvm__edge(relu, most, 1, i, i, 0);
        __hpvm__edge(most, mean, 1, i, i, 0);
        __hpvm__edge(mean, last, 1, i, i, 0);
        __hpvm__bindIn(last, 18 + i, 2 + i, 0);
        __hpvm__bindIn(last, 20 + i, 4 + i, 0);
        __hpvm__bindOut(last, i, i, 0);
    }
}

struct ret_t {
    void* tensor;
    size_t bytes;
};
typedef struct __attribute__((__packed__)) {
    void* tensors[22];  // pointers and sizes by turns
    struct ret_t r;
} RootIn;

int main(int argc, char* argv[]) {
    const std::string dir = std::string(MODEL_PARAMS_DIR) + "/residual/";
    const long sizes[10][4] = {{8, 4, 3, 3},   {1, 8, 1, 1}, {8, 2, 3, 3}, {1, 8, 1, 1},
                               {1, 8, 1, 1},   {1, 8, 1, 1}, {1, 8, 1, 1}, {1, 8, 1, 1},
                               {1, 1, 32, 10}, {1, 10, 1, 1}};
    RootIn* args = static_cast<RootIn*>(calloc(1, sizeof(RootIn)));
    for (int i = 0; i < 10; i++) {
        const std::string path = dir + "w" + std::to_string(i) + ".bin";
        args->tensors[2 + 2 * i] =
            readTrainedWeights(path.c_str(), 0, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    }
    const std::string input_path = dir + "test_input.bin", labels_path = dir + "test_labels.bin";
    __hpvm__init();
    startMemTracking();
    for (int i = 0; i < 2; i++) {
        args->tensors[0] = readInputBatch(input_path.c_str(), nchw, 4 * i, 4 * i + 4, 4, 8, 8);
        void* dfg = __hpvm__launch(0, root, (void*)args);
        __hpvm__wait(dfg);
        hpvm_request_tensor(args->r.tensor, 0);
        llvm_hpvm_invokeRtControl(args->r.tensor, labels_path.c_str(), 4 * i, 4 * i + 4);
        freeBatchMemory();
    }
    __hpvm__cleanup();
    free(args);
    return argc > 1 && std::string(argv[1]) == "-x" ? 7 : 0;
}
