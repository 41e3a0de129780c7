// Values share memory only where nobody needs both; prints what is wrong and ends with 1.
#include "plan.hpp"

#include <cstdio>

using namespace assay;

#define CHECK(rule) \
    if (!(rule)) return std::fprintf(stderr, "%d: %s\n", __LINE__, #rule), 1

static Value convolution(Network& net, Value input) {
    return net.convolution(input, {16, 4, 4}, {1, 1}, "weight");
}

static int a_chain_needs_the_room_of_two_values() {
    Network net;
    Value value = net.input({16, 4, 4});
    for (int i = 0; i < 6; ++i) value = convolution(net, value);
    net.output(value);
    CHECK(plan(net).size == 2 * 16 * 4 * 4);
    return 0;
}

static int a_shortcut_keeps_its_place_until_the_sum() {
    Network net;
    const Value kept = convolution(net, net.input({16, 4, 4}));
    const Value inner = convolution(net, kept), outer = convolution(net, inner);
    const Value summed = net.convolution(outer, {16, 4, 4}, {1, 1}, "weight").add(kept);
    net.output(summed);
    const std::vector<Size> at = plan(net).offsets;
    const auto place = [&at](Value value) { return at[static_cast<std::size_t>(value)]; };
    CHECK(place(kept) != place(inner) && place(kept) != place(outer));
    CHECK(place(summed) != place(kept) && place(summed) != place(outer));
    return 0;
}

static int what_a_dense_layer_flattens_stays_where_it_is() {
    Network net;
    const Value image = convolution(net, net.input({16, 4, 4}));
    const Value flat = net.reshape(image, {256});
    net.output(net.dense(flat, {10}, "dense"));
    const std::vector<Size> at = plan(net).offsets;
    CHECK(at[static_cast<std::size_t>(flat)] == at[static_cast<std::size_t>(image)]);
    return 0;
}

int main() {
    return a_chain_needs_the_room_of_two_values() + a_shortcut_keeps_its_place_until_the_sum() +
           what_a_dense_layer_flattens_stays_where_it_is();
}
