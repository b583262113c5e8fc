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
#include <cstdint>
#include <vector>

namespace hstar {

class LevelDecoder {
  public:
    static constexpr uint64_t kOne = uint64_t{1} << 32;  // thresholds are in units of 2^-32

    // `thresholds[k - 1]` is that of level k, at most kOne (always accepted); with `is_argmax` decode()
    // ignores them and takes the first class with the largest logit. Throws std::invalid_argument.
    LevelDecoder(uint32_t ratio, std::vector<uint64_t> thresholds, bool is_argmax = false);

    int num_classes() const { return static_cast<int>(thresholds_.size()) + 1; }
    int decode(const int32_t* logits) const;
    // needed[k - 1]: the smallest threshold that accepts level k; ascending.
    void risks(const int32_t* logits, uint64_t* needed) const;

  private:
    // Fills in the weights below each level and returns the sum of all.
    uint64_t sum_weights(const int32_t* logits, uint64_t* below) const;

    std::vector<uint64_t> thresholds_;
    std::vector<uint32_t> weights_;
    bool is_argmax_;
};

}  // namespace hstar
