// What the weight code predicts of the next weight: its magnitude from its row and column, and its value from
// the rows above. In integers only.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace hstar {

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

}  // namespace hstar
