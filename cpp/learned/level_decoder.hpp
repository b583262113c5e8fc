// From logits to a class, in integers only: the tail quantile of the distribution that the logits describe.
//
// The classes are values in ascending order, and P(class < k) is the risk that level k overestimates. Level k
// is accepted if this risk is at most its threshold; the class is the last of the levels that are accepted
// one after the other. With one threshold 1 - tau for all levels, it is the largest k with P(class >= k) >=
// tau.
//
// Probabilities are proportional to weight[i], i the distance from the largest logit in units of 1/64 nat:
//     e[0] = 2^62,  e[i + 1] = e[i] * ratio >> 32,  weight[i] = e[i] >> 32
// so ratio = 2^32 * exp(-1 / (64 * temperature)), rounded, states the temperature, and no machine's exp()
// has a say. Weights below 2^-30 of the largest count as 0.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/require.hpp"

namespace hstar {

class LevelDecoder {
  public:
    static constexpr uint64_t kOne = uint64_t{1} << 32;  // thresholds are in units of 2^-32

    // `thresholds[k - 1]` is that of level k, at most kOne (always accepted); with `is_argmax` decode()
    // ignores them and takes the first class with the largest logit. Throws std::invalid_argument.
    LevelDecoder(uint32_t ratio, std::vector<uint64_t> thresholds, bool is_argmax = false)
        : thresholds_(std::move(thresholds)), is_argmax_(is_argmax) {
        if (thresholds_.size() >= kMostClasses) refuse("there are at most 256 classes");
        for (uint64_t threshold : thresholds_)
            if (threshold > kOne) refuse("a threshold is larger than one");
        if (ratio > kOne - kOne / 65536) refuse("the temperature is too high");
        for (uint64_t e = uint64_t{1} << 62; e >> 32; e = static_cast<uint64_t>((Wide{e} * ratio) >> 32))
            weights_.push_back(static_cast<uint32_t>(e >> 32));
    }

    int num_classes() const { return static_cast<int>(thresholds_.size()) + 1; }
    int decode(const int32_t* logits) const {
        if (is_argmax_) return static_cast<int>(std::max_element(logits, logits + num_classes()) - logits);
        uint64_t below[kMostClasses];
        uint64_t sum = sum_weights(logits, below);
        int level = 0;
        while (level + 1 < num_classes() && Wide{below[level + 1]} << 32 <= Wide{thresholds_[level]} * sum)
            ++level;
        return level;
    }
    // needed[k - 1]: the smallest threshold that accepts level k; ascending.
    void risks(const int32_t* logits, uint64_t* needed) const {
        uint64_t below[kMostClasses];
        uint64_t sum = sum_weights(logits, below);
        for (int k = 1; k < num_classes(); ++k)
            needed[k - 1] = static_cast<uint64_t>(((Wide{below[k]} << 32) + sum - 1) / sum);
    }

  private:
    static constexpr int kMostClasses = 256;
    __extension__ using Wide = unsigned __int128;
    // Fills in the weights below each level and returns the sum of all.
    uint64_t sum_weights(const int32_t* logits, uint64_t* below) const {
        int classes = num_classes();
        int64_t largest = *std::max_element(logits, logits + classes);
        uint64_t sum = 0;
        for (int c = 0; c < classes; ++c) {
            below[c] = sum;
            uint64_t distance = static_cast<uint64_t>(largest - logits[c]);
            sum += distance < weights_.size() ? weights_[distance] : 0;
        }
        return sum;
    }

    std::vector<uint64_t> thresholds_;
    std::vector<uint32_t> weights_;
    bool is_argmax_;
};

}  // namespace hstar
