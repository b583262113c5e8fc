#include "networks/integer/weight_code.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "runtime/require.hpp"

namespace hstar {

namespace {

// Binary range coding (Martin, "Range encoding: an algorithm for removing redundancy from a digitised
// message", 1979): a bit of probability p / 2^16 shrinks the interval [low, high] to its share, and the
// leading bytes on which both ends agree are written.
//
// The encoder and the decoder have the same `code`, so that one model drives both: the encoder takes the bit
// and returns it, the decoder ignores what it is given and returns the bit it reads.

class Interval {
  protected:
    // Up to here the bit is one.
    uint32_t split(uint32_t chance_of_one) const {
        return low_ + static_cast<uint32_t>(uint64_t{high_ - low_} * chance_of_one >> 16);
    }
    // Calls shift() for each byte that is then settled.
    template <class Shift>
    void shrink(bool bit, uint32_t split, Shift shift) {
        (bit ? high_ : low_) = bit ? split : split + 1;
        for (; (low_ ^ high_) >> 24 == 0; low_ <<= 8, high_ = high_ << 8 | 255) shift();
    }
    // The last byte of a code: the ends of the interval differ in their first byte, and this byte followed
    // by zeros lies between them.
    uint32_t last_byte() const { return (low_ >> 24) + (low_ << 8 != 0); }

    uint32_t low_ = 0, high_ = ~uint32_t{0};
};

class RangeEncoder : Interval {
  public:
    // 0 < chance_of_one < 2^16.
    bool code(bool bit, uint32_t chance_of_one) {
        shrink(bit, split(chance_of_one), [&] { bytes_.push_back(static_cast<uint8_t>(high_ >> 24)); });
        return bit;
    }
    std::vector<uint8_t> finish() {
        bytes_.push_back(static_cast<uint8_t>(last_byte()));
        return std::move(bytes_);
    }

  private:
    std::vector<uint8_t> bytes_;
};

class RangeDecoder : Interval {
  public:
    // The bytes must outlive the decoder. Throws std::invalid_argument if they end too early.
    RangeDecoder(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {
        for (int i = 0; i < 4; ++i) read();
    }
    bool code(bool, uint32_t chance_of_one) {
        const uint32_t end = split(chance_of_one);
        const bool bit = value_ <= end;
        shrink(bit, end, [&] { read(); });
        return bit;
    }
    // Throws std::invalid_argument unless the encoder would write exactly these bytes for the bits read.
    void finish() const {
        if (place_ != size_ + kZeros || value_ != last_byte() << 24)
            refuse("a code does not end where its bits end");
    }

  private:
    static constexpr size_t kZeros = 3;  // that follow the last byte
    void read() {
        if (place_ >= size_ + kZeros) refuse("a code ends too early");
        value_ = value_ << 8 | (place_ < size_ ? bytes_[place_] : 0);
        ++place_;
    }
    const uint8_t* bytes_;
    size_t size_, place_ = 0;
    uint32_t value_ = 0;
};

// Log odds in units of 1/256, up to +-8; probabilities in units of 1/2^16.
class Logistic {
  public:
    constexpr Logistic() {
        uint64_t power = uint64_t{1} << 32;  // 2^32 exp(-i / 256)
        for (int i = 0; i <= kMost; ++i) {
            uint64_t low = (power << 16) / ((uint64_t{1} << 32) + power);
            chance_[static_cast<size_t>(kMost - i)] = static_cast<uint16_t>(low);
            chance_[static_cast<size_t>(kMost + i)] = static_cast<uint16_t>(65536 - low);
            power = power * 4278222805u >> 32;
        }
        size_t i = 0;
        for (size_t p = 0; p < odds_.size(); ++p) {
            while (i + 1 < chance_.size() && chance_[i] < 16 * p + 8) ++i;
            odds_[p] = static_cast<int16_t>(static_cast<int>(i) - kMost);
        }
    }
    int chance(int64_t odds) const {
        return chance_[static_cast<size_t>(std::clamp<int64_t>(odds, -kMost, kMost) + kMost)];
    }
    int odds(uint32_t chance) const { return odds_[chance >> 4]; }

  private:
    static constexpr int kMost = 2047;
    std::array<uint16_t, 2 * kMost + 1> chance_{};
    std::array<int16_t, 4096> odds_{};
};
inline constexpr Logistic kLogistic;

// The share of ones among the bits seen in a context, the last `kLimit` or so.
class BitCount {
  public:
    // The log odds, pulled towards zero while few bits were seen.
    int odds() const { return kLogistic.odds(chance_) * kPace.trust[seen_] >> 16; }
    void add(bool bit) {
        chance_ = static_cast<uint16_t>(chance_ + (((bit ? 65535 : 0) - chance_) * kPace.rate[seen_] >> 15));
        if (seen_ < kLimit) ++seen_;
    }

  private:
    static constexpr uint16_t kLimit = 160;
    struct Pace {
        std::array<int32_t, kLimit + 1> trust{}, rate{};  // n / (n + 4) and 1 / (n + 3 / 2), by n bits seen
        constexpr Pace() {
            for (int n = 0; n <= kLimit; ++n) {
                trust[static_cast<size_t>(n)] = (n << 16) / (n + 4);
                rate[static_cast<size_t>(n)] = (1 << 16) / (2 * n + 3);
            }
        }
    };
    static const Pace kPace;
    uint16_t chance_ = 32768, seen_ = 0;
};
inline constexpr BitCount::Pace BitCount::kPace;

// A running mean of absolute values, in units of 1/256, above 0. It starts as if some values of the expected
// size had been seen.
class Magnitude {
  public:
    void add(int value) {
        sum_ += static_cast<uint64_t>(std::abs(value));
        ++count_;
    }
    uint64_t mean(uint64_t expected) const { return (sum_ + kPrior * expected) / (count_ + kPrior) + 1; }

  private:
    static constexpr uint64_t kPrior = 10;
    uint64_t sum_ = 0, count_ = 0;
};

// Scales of rows and columns, for weights or for errors: the expected magnitude is their product.
class Scales {
  public:
    Scales(size_t columns, int bits) : overall_(uint64_t{32} << bits), columns_(columns) {}
    void begin_row() {
        overall_ = all_.mean(overall_);
        row_ = {};
    }
    uint64_t row() const { return row_.mean(overall_); }
    uint64_t column(size_t column) const { return columns_[column].mean(overall_); }
    uint64_t joint(size_t column) const { return row() * this->column(column) / overall_ + 1; }
    void add(size_t column, int value) {
        for (Magnitude* magnitude : {&all_, &row_, &columns_[column]}) magnitude->add(value);
    }
    // A context: quarters of octaves above 1/4; below it, quarters of 1/4 in the same first four.
    static size_t step(uint64_t magnitude, size_t steps) {
        int width = static_cast<int>(std::bit_width(magnitude | 64));
        size_t quarters = static_cast<size_t>(4 * (width - 7)) + (magnitude >> (width - 3) & 3);
        return std::min(quarters, steps - 1);
    }

  private:
    uint64_t overall_;
    Magnitude all_, row_;
    std::vector<Magnitude> columns_;
};

// Predicts the weights of a row, one by one, from those above them.
class Predictor {
  public:
    Predictor(size_t rows, size_t columns)
        : height_(std::min(rows, kMostRows)), above_(height_ * columns), coefficients_(height_) {}
    void begin_row() { std::fill(coefficients_.begin(), coefficients_.end(), int16_t{0}); }
    // In 1/256.
    int predict(size_t row, size_t column) const {
        const int16_t* above = &above_[column * height_];
        int64_t sum = 0;
        for (size_t begin = 0, end; begin < std::min(row, height_); begin = end) {
            end = std::min({begin + 256, row, height_});  // so that 32 bits are enough
            int32_t part = 0;
            for (size_t i = begin; i < end; ++i) part += coefficients_[i] * above[i];
            sum += part;
        }
        return static_cast<int>(std::clamp<int64_t>(sum >> 6, -kMostPredicted, kMostPredicted));
    }
    // Normalised least mean squares: moves the coefficients so that the error would have been smaller.
    void learn(size_t row, size_t column, int error) {
        const int16_t* above = &above_[column * height_];
        size_t rows = std::min(row, height_);
        int32_t power = 100;
        for (size_t i = 0; i < rows; ++i) power += above[i] * above[i] + 4;
        int64_t gain = int64_t{error} * kStep / power;
        int32_t factor = static_cast<int32_t>(std::clamp<int64_t>(gain, -32767, 32767));
        for (size_t i = 0; i < rows; ++i) {
            int32_t moved = coefficients_[i] + ((factor * above[i] + 128) >> 8);
            coefficients_[i] = static_cast<int16_t>(std::clamp(moved, -32767, 32767));
        }
    }
    void add(size_t row, size_t column, int weight) {
        if (row < height_) above_[column * height_ + row] = static_cast<int16_t>(weight);
    }

  private:
    static constexpr size_t kMostRows = 1024;         // bounds the time a weight takes
    static constexpr int64_t kStep = (5 << 14) / 16;  // 5/16 of the error, in 1/2^14
    static constexpr int64_t kMostPredicted = 128 << 8;
    size_t height_;
    std::vector<int16_t> above_;         // [columns, height]
    std::vector<int16_t> coefficients_;  // in 1/2^14
};

// In integers only.
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

    // A weight plus `half` is a leaf of a binary tree; its bits are the path from the root.
    template <class Coder>
    int code_bits(Coder& coder, size_t column, int center, int weight) {
        const int half = 1 << (bits_ - 1);
        const uint64_t spread = errors_.joint(column);
        const size_t spread_step = Scales::step(spread, kSteps);
        const size_t center_step = static_cast<size_t>(std::clamp((center >> 7) + 64, 0, int{kCenters} - 1));
        const std::array<size_t, kTables> contexts{
            Scales::step(weights_.joint(column), kSteps),
            Scales::step(weights_.row(), kSteps) * kSteps + Scales::step(weights_.column(column), kSteps),
            center_step * kSteps / 2 + spread_step / 2, spread_step};
        // Log odds per 1/256 of a weight, in 1/2^16. Both curves are wider than the logistic distribution of
        // this mean distance, whose slope is 1.39 over it; the shares sharpen them.
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
                below[k] =
                    std::clamp(kLogistic.chance(distance * slopes[k] >> 16), below_low[k], below_high[k]);
                inputs[k] =
                    kLogistic.odds((static_cast<uint32_t>(below_high[k] - below[k]) * 65500u + 32768u) /
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

    int bits_;
    Scales weights_, errors_;
    Predictor predictor_;
    std::array<std::vector<BitCount>, kTables> counts_;  // [contexts, nodes]
    std::vector<int32_t> shares_;                        // [nodes, inputs], in 1/2^16
};

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
