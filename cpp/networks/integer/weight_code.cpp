#include "networks/integer/weight_code.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "networks/integer/bit_chances.hpp"
#include "networks/integer/range_coder.hpp"
#include "networks/integer/weight_statistics.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

class Model {
  public:
    Model(size_t rows, size_t columns, int bits)
        : bits_(bits), weights_(columns, bits), errors_(columns, bits), predictor_(rows, columns) {
        for (size_t t = 0; t < kTables; ++t) counts_[t].resize(kContexts[t] << bits);
        shares_.assign(kInputs << bits, 12000);
    }
    void begin_row() {
        weights_.begin_row();
        errors_.begin_row();
        predictor_.begin_row();
    }
    // Codes a weight, or decodes it, and learns from it.
    template <class Coder>
    int code(Coder& coder, size_t row, size_t column, int weight) {
        const int center = predictor_.predict(row, column);
        const int coded = code_bits(coder, column, center, weight);
        const int error = coded * 256 - center;
        predictor_.learn(row, column, error);
        predictor_.add(row, column, coded);
        weights_.add(column, coded * 256);
        errors_.add(column, error);
        return coded;
    }

  private:
    static constexpr size_t kTables = 4, kCurves = 2, kInputs = kTables + kCurves, kSteps = 32,
                            kCenters = 128;
    static constexpr std::array<size_t, kTables> kContexts{kSteps, kSteps * kSteps, kCenters * kSteps / 2,
                                                           kSteps};

    template <class Coder>
    int code_bits(Coder& coder, size_t column, int center, int weight);

    int bits_;
    Scales weights_, errors_;
    Predictor predictor_;
    std::array<std::vector<BitCount>, kTables> counts_;  // [contexts, nodes]
    std::vector<int32_t> shares_;                        // [nodes, inputs], in 1/2^16
};

// A weight plus `half` is a leaf of a binary tree; its bits are the path from the root.
template <class Coder>
int Model::code_bits(Coder& coder, size_t column, int center, int weight) {
    const int half = 1 << (bits_ - 1);
    const uint64_t spread = errors_.joint(column);
    const size_t spread_step = Scales::step(spread, kSteps);
    const size_t center_step = static_cast<size_t>(std::clamp((center >> 7) + 64, 0, int{kCenters} - 1));
    const std::array<size_t, kTables> contexts{
        Scales::step(weights_.joint(column), kSteps),
        Scales::step(weights_.row(), kSteps) * kSteps + Scales::step(weights_.column(column), kSteps),
        center_step * kSteps / 2 + spread_step / 2, spread_step};
    // Log odds per 1/256 of a weight, in 1/2^16. Both curves are wider than the logistic distribution of this
    // mean distance, whose slope is 1.39 over it; the shares sharpen them.
    const int64_t slope = (int64_t{1} << 24) * 5 / 7 / static_cast<int64_t>(spread);
    const std::array<int64_t, kCurves> slopes{slope, slope * 3 / 2};
    std::array<int, kCurves> below_low{}, below_high;  // shares of a curve below the ends of the node
    below_high.fill(65536);
    int low = 0, high = 2 * half;
    size_t node = 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        const int64_t distance = (middle - half) * 256 - 128 - center;
        std::array<int, kCurves> below;
        std::array<int, kInputs> inputs;
        for (size_t k = 0; k < kCurves; ++k) {
            below[k] = std::clamp(kLogistic.chance(distance * slopes[k] >> 16), below_low[k], below_high[k]);
            inputs[k] = kLogistic.odds((static_cast<uint32_t>(below_high[k] - below[k]) * 65500u + 32768u) /
                                       static_cast<uint32_t>(below_high[k] - below_low[k] + 1));
        }
        std::array<BitCount*, kTables> counts;
        for (size_t t = 0; t < kTables; ++t) {
            counts[t] = &counts_[t][(contexts[t] << bits_) + node];
            inputs[kCurves + t] = counts[t]->odds();
        }
        int32_t* shares = &shares_[node * kInputs];
        int64_t odds = 0;
        for (size_t i = 0; i < kInputs; ++i) odds += int64_t{shares[i]} * inputs[i];
        const int chance = std::clamp(kLogistic.chance(odds >> 16), 32, 65536 - 32);
        const bool bit = coder.code(weight + half >= middle, static_cast<uint32_t>(chance));
        const int error = (bit ? 65536 : 0) - chance;
        for (size_t i = 0; i < kInputs; ++i)
            shares[i] = std::clamp(shares[i] + (inputs[i] * error >> 14), -(1 << 20), 1 << 20);
        for (BitCount* count : counts) count->add(bit);
        (bit ? low : high) = middle;
        (bit ? below_low : below_high) = below;
        node = 2 * node + bit;
    }
    return low - half;
}

constexpr size_t kMostWeights = size_t{1} << 26;

void check_sizes(size_t rows, size_t columns, int bits) {
    if (bits < 2 || bits > 8) refuse("weights have 2 to 8 bits");
    if (rows > kMostWeights || columns > kMostWeights || rows * columns > kMostWeights)
        refuse("a layer has too many weights");
}

// The encoder codes the weights, the decoder fills them in.
template <class Coder>
void code_all(Coder& coder, std::vector<int8_t>& weights, size_t rows, size_t columns, int bits) {
    Model model(rows, columns, bits);
    for (size_t row = 0; row < rows; ++row) {
        model.begin_row();
        for (size_t column = 0; column < columns; ++column) {
            int8_t& weight = weights[row * columns + column];
            const int coded = model.code(coder, row, column, weight);
            if (coded == -(1 << (bits - 1))) refuse("a coded weight is out of its range");
            weight = static_cast<int8_t>(coded);
        }
    }
}

}  // namespace

std::vector<uint8_t> encode_weights(const int8_t* weights, size_t rows, size_t columns, int bits) {
    check_sizes(rows, columns, bits);
    const int half = 1 << (bits - 1);
    for (size_t i = 0; i < rows * columns; ++i)
        if (std::abs(weights[i]) >= half) refuse("a weight does not fit in its bits");
    std::vector<int8_t> copy(weights, weights + rows * columns);
    RangeEncoder coder;
    code_all(coder, copy, rows, columns, bits);
    return coder.finish();
}

std::vector<int8_t> decode_weights(const uint8_t* code, size_t size, size_t rows, size_t columns, int bits) {
    check_sizes(rows, columns, bits);
    // No probability exceeds 1 - 2^-11, so a byte holds at most 8 / log2(1 / (1 - 2^-11)) < 2^14 bits. Refuse
    // impossible sizes before anything is allocated.
    if (rows * columns >> 14 > size) refuse("a code ends too early");
    RangeDecoder coder(code, size);
    std::vector<int8_t> weights(rows * columns);
    code_all(coder, weights, rows, columns, bits);
    coder.finish();
    return weights;
}

}  // namespace hstar
