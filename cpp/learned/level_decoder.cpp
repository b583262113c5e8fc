#include "learned/level_decoder.hpp"

#include <algorithm>
#include <stdexcept>

namespace hstar {

namespace {
constexpr int kMostClasses = 256;
__extension__ using Wide = unsigned __int128;
}  // namespace

LevelDecoder::LevelDecoder(uint32_t ratio, std::vector<uint64_t> thresholds, bool is_argmax)
    : thresholds_(std::move(thresholds)), is_argmax_(is_argmax) {
    if (thresholds_.size() >= kMostClasses) throw std::invalid_argument("there are at most 256 classes");
    for (uint64_t threshold : thresholds_)
        if (threshold > kOne) throw std::invalid_argument("a threshold is larger than one");
    if (ratio > kOne - kOne / 65536) throw std::invalid_argument("the temperature is too high");
    for (uint64_t e = uint64_t{1} << 62; e >> 32; e = static_cast<uint64_t>((Wide{e} * ratio) >> 32))
        weights_.push_back(static_cast<uint32_t>(e >> 32));
}

uint64_t LevelDecoder::sum_weights(const int32_t* logits, uint64_t* below) const {
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

int LevelDecoder::decode(const int32_t* logits) const {
    if (is_argmax_) return static_cast<int>(std::max_element(logits, logits + num_classes()) - logits);
    uint64_t below[kMostClasses];
    uint64_t sum = sum_weights(logits, below);
    int level = 0;
    while (level + 1 < num_classes() && Wide{below[level + 1]} << 32 <= Wide{thresholds_[level]} * sum)
        ++level;
    return level;
}

void LevelDecoder::risks(const int32_t* logits, uint64_t* needed) const {
    uint64_t below[kMostClasses];
    uint64_t sum = sum_weights(logits, below);
    for (int k = 1; k < num_classes(); ++k)
        needed[k - 1] = static_cast<uint64_t>(((Wide{below[k]} << 32) + sum - 1) / sum);
}

}  // namespace hstar
