#include "networks/integer/network.hpp"

#include <algorithm>

#include "runtime/kernels.hpp"

#ifdef HSTAR_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hstar {

namespace {

// How many states share a load of weights from memory; their activations stay in the nearest caches.
constexpr int kChunk = 256;

int padded(size_t width) {
    return static_cast<int>((width + kIntegerBlock - 1) / kIntegerBlock * kIntegerBlock);
}

template <class... Parts>
void require_network(bool holds, const Parts&... parts) {
    require(holds, "integer network: ", parts...);
}

void check_layer(const IntegerLayerSpec& spec, size_t inputs) {
    const size_t outputs = spec.bias.size();
    require_network(outputs > 0, "a layer has no outputs");
    require_network(spec.weights.size() == inputs * outputs, "a layer has another number of weights");
    require_network(spec.multiplier.size() == outputs, "a layer lacks multipliers");
    require_network(spec.shift >= 1 && spec.shift <= 47, "a shift is not within 1 .. 47");
    require_network(spec.skip >= 0, "a factor of a skip connection is negative");
    require_network(std::ranges::all_of(spec.multiplier, [](int32_t m) { return m >= 0 && m <= 65535; }),
                    "a multiplier is not within 0 .. 65535");
    require_network(std::ranges::all_of(spec.weights, [](int8_t w) { return w != -128; }),
                    "a weight is not within -127 .. 127");
}

// The largest sum must fit in 31 bits.
void check_sum(int64_t bias, int64_t largest) {
    require_network(std::abs(bias) + largest < int64_t{1} << 31, "a sum could overflow");
}

#ifdef HSTAR_AMX
// AMX tiles are kilobytes of state per thread, so Linux grants them only to processes that request them.
// False if the processor has no 8-bit tiles or the system refuses.
bool amx_permitted() {
    static const bool permitted = [] {
        constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;  // of the features in leaf 7
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kTile) || !(d & kInt8)) return false;
        // From asm/prctl.h and the manual of the processor; older headers lack them.
        constexpr long kRequestPermission = 0x1023, kTileData = 18;
        return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    }();
    return permitted;
}
#endif

void pad(std::vector<int32_t>& values) {
    values.resize(padded(values.size()), 0);
}

}  // namespace

std::vector<IntegerKernel> integer_kernels() {
    std::vector<IntegerKernel> kernels = HSTAR_KERNELS(integer);
#ifdef HSTAR_X86
    if (has_vnni()) kernels.push_back(integer_vnni());
#ifdef HSTAR_AMX
    if (num_instruction_sets() == 3 && amx_permitted()) kernels.push_back(integer_amx());
#endif
#endif
    return kernels;
}

IntegerNetwork::IntegerNetwork(std::vector<int> domain_sizes, std::vector<IntegerLayerSpec> layers,
                               const std::string& kernel)
    : domain_sizes_(std::move(domain_sizes)), kernel_(choose_kernel(integer_kernels(), kernel)) {
    require_network(!domain_sizes_.empty() && domain_sizes_.size() <= 256, "there are 1 to 256 digits");
    require_network(layers.size() >= 2, "there are at least two layers");
    size_t rows = 0;
    for (int size : domain_sizes_) {
        require_network(size >= 1 && size <= 65536, "a digit has 1 to 65536 values");
        first_row_.push_back(static_cast<int>(rows));
        rows += static_cast<size_t>(size);
    }
    check_layer(layers[0], rows);
    add_first(layers[0], rows);
    for (size_t l = 1; l < layers.size(); ++l) {
        const IntegerLayerSpec& spec = layers[l];
        const size_t inputs = layers[l - 1].bias.size();
        check_layer(spec, inputs);
        require_network(spec.skip == 0 || (l >= 2 && l + 1 < layers.size()),
                        "only inner layers can have a skip connection");
        require_network(spec.skip == 0 || layers[l - 2].bias.size() == spec.bias.size(),
                        "a skip connection joins layers of different widths");
        add_dense(spec, inputs);
        widest_ = std::max(widest_, dense_.back().inputs);
    }
    num_classes_ = static_cast<int>(layers.back().bias.size());
    require_network(num_classes_ <= 256, "there are at most 256 classes");
}

void IntegerNetwork::add_first(const IntegerLayerSpec& spec, size_t rows) {
    const size_t outputs = spec.bias.size();
    first_ = {{}, spec.bias, spec.multiplier, 0, padded(outputs), spec.shift, 0};
    first_.weights.assign(rows * static_cast<size_t>(first_.outputs), 0);
    for (size_t r = 0; r < rows; ++r)
        std::copy_n(spec.weights.begin() + static_cast<int64_t>(r * outputs), outputs,
                    first_.weights.begin() + static_cast<int64_t>(r) * first_.outputs);
    for (int32_t bias : spec.bias) check_sum(bias, 127 * int64_t{256});
    pad(first_.bias);
    pad(first_.multiplier);
}

void IntegerNetwork::add_dense(const IntegerLayerSpec& spec, size_t inputs) {
    const size_t outputs = spec.bias.size();
    Dense layer{{}, spec.bias, spec.multiplier, padded(inputs), padded(outputs), spec.shift, spec.skip};
    size_t width = static_cast<size_t>(activation_stride(layer.inputs));
    layer.weights.assign(width * static_cast<size_t>(layer.outputs), 0);
    for (size_t o = 0; o < outputs; ++o) {
        int64_t largest = 0;
        for (size_t i = 0; i < inputs; ++i) {
            int8_t weight = spec.weights[o * inputs + i];
            largest += std::abs(weight) * kLargestActivation;
            size_t block = o / kIntegerBlock * kIntegerBlock * width;
            layer.weights[block + i / 4 * 64 + o % kIntegerBlock * 4 + i % 4] = weight;
        }
        check_sum(spec.bias[o], largest);
    }
    pad(layer.bias);
    pad(layer.multiplier);
    dense_.push_back(std::move(layer));
}

uint64_t IntegerNetwork::num_weights() const {
    uint64_t weights = first_.weights.size();
    for (const Dense& layer : dense_) weights += layer.weights.size();
    return weights;
}

void IntegerNetwork::forward(const int* digits, int count, int32_t* logits, Workspace& work) const {
    const int chunk = std::min(kChunk, count);
    size_t activations = static_cast<size_t>(chunk * activation_stride(widest_));
    for (auto* buffer : {&work.a, &work.b, &work.c})
        if (buffer->size() < activations) buffer->resize(activations);
    work.rows.resize(static_cast<size_t>(chunk * num_digits()));
    const Dense& last = dense_.back();
    work.logits.resize(static_cast<size_t>(chunk * last.outputs));
    IntegerEmbedding first{first_.weights.data(),
                           first_.bias.data(),
                           {first_.multiplier.data(), 0, first_.shift},
                           first_.outputs,
                           num_digits()};
    for (int begin = 0; begin < count; begin += kChunk) {
        int states = std::min(kChunk, count - begin);
        const int* digit = digits + static_cast<size_t>(begin) * static_cast<size_t>(num_digits());
        int32_t* row = work.rows.data();
        for (int s = 0; s < states; ++s)
            for (int first_row : first_row_) *row++ = first_row + *digit++;
        // The newest activations, the previous ones, and space for the next.
        uint8_t *newest = work.a.data(), *older = work.b.data(), *next = work.c.data();
        kernel_.embed(first, work.rows.data(), states, newest);
        for (size_t l = 0; l + 1 < dense_.size(); ++l) {
            kernel_.dense(dense_[l].view(), newest, dense_[l].skip ? older : nullptr, states, next);
            std::swap(older, newest);
            std::swap(newest, next);
        }
        kernel_.logits(last.view(), newest, states, work.logits.data());
        for (int s = 0; s < states; ++s)
            std::copy_n(work.logits.data() + static_cast<size_t>(s) * static_cast<size_t>(last.outputs),
                        num_classes_,
                        logits + static_cast<size_t>(begin + s) * static_cast<size_t>(num_classes_));
    }
}

}  // namespace hstar
