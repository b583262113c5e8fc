// A pattern database that a network replaces, made admissible by a table of exceptions.
//
//     h(state) = values[class(state) - exceptions(index(state))] + base(state)
//
// The network reads the values of the pattern's variables, of the representative where symmetric states share
// an index. Exceptions are sets of indices: the class is lowered by one for each of the leading sets that
// hold the index. All arithmetic is in integers, so what a sweep over all states has shown holds wherever the
// heuristic is used.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "networks/integer/network.hpp"
#include "pdb/pdb.hpp"
#include "runtime/require.hpp"

namespace hstar {

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

// A set of numbers in little space: ascending, each as its distance to the one before, Golomb-Rice coded
// (Rice, "Some practical universal noiseless coding techniques", 1979).
//
// A distance d (0 for neighbours) is d >> r zero bits, a one, and the low r bits of d; bits fill bytes from
// the lowest. With n random members of u numbers and the best r, this takes about log2(u / n) + 1.5 bits a
// member. In memory, every 32nd member is noted, so that a look-up decodes 32 at most.
class RiceSet {
  public:
    // Throws std::invalid_argument unless the bytes are exactly what `encode` makes of some set of `count`
    // numbers below `universe`.
    RiceSet(uint64_t universe, uint64_t count, int parameter, std::vector<uint8_t> bytes)
        : parameter_(parameter), count_(count), bytes_(std::move(bytes)) {
        if (parameter < 0 || parameter > kLargestParameter || universe >= uint64_t{1} << 56) refuse_damage();
        num_bits_ = 8 * bytes_.size();
        if (count > num_bits_) refuse_damage();
        bytes_.resize(bytes_.size() + 8, 0);
        uint64_t bit = 0, next = 0;  // the smallest number that can follow
        for (uint64_t i = 0; i < count; ++i) {
            uint64_t distance = read(bit);
            if (distance == kEnd || distance >= universe || next + distance >= universe) refuse_damage();
            next += distance + 1;
            if (i % kStride == 0) marks_.push_back({next - 1, bit});
        }
        if (num_bits_ - bit >= 8) refuse_damage();
        while (bit < num_bits_)
            if (load(bit++) & 1) refuse_damage();
    }

    uint64_t size() const { return count_; }
    bool contains(uint64_t number) const {
        auto after = std::upper_bound(marks_.begin(), marks_.end(), number,
                                      [](uint64_t n, const Mark& mark) { return n < mark.number; });
        if (after == marks_.begin()) return false;
        const Mark& mark = *(after - 1);
        uint64_t member = mark.number, bit = mark.bit;
        uint64_t left =
            std::min(kStride, count_ - static_cast<uint64_t>(after - 1 - marks_.begin()) * kStride);
        while (member < number && --left > 0) member += read(bit) + 1;
        return member == number;
    }
    std::vector<uint64_t> members() const {
        std::vector<uint64_t> result;
        uint64_t bit = 0, next = 0;
        for (uint64_t i = 0; i < count_; ++i) {
            next += read(bit) + 1;
            result.push_back(next - 1);
        }
        return result;
    }

    struct Code {
        int parameter;
        std::vector<uint8_t> bytes;
    };
    // Of ascending numbers, with the parameter that takes the least space.
    static Code encode(const std::vector<uint64_t>& members) {
        auto for_each_distance = [&](auto use) {
            uint64_t next = 0;
            for (uint64_t member : members) {
                if (member < next) refuse("the members are not in ascending order");
                use(member - next);
                next = member + 1;
            }
        };
        Code best{0, {}};
        uint64_t fewest = ~uint64_t{0};
        for (int parameter = 0; parameter <= kLargestParameter; ++parameter) {
            uint64_t bits = 0;
            for_each_distance(
                [&](uint64_t d) { bits += (d >> parameter) + 1 + static_cast<uint64_t>(parameter); });
            if (bits < fewest) {
                fewest = bits;
                best.parameter = parameter;
            }
        }
        best.bytes.assign((fewest + 7) / 8, 0);
        uint64_t bit = 0;
        auto put = [&](uint64_t value) {
            best.bytes[bit / 8] = static_cast<uint8_t>(best.bytes[bit / 8] | (value & 1) << (bit % 8));
            ++bit;
        };
        for_each_distance([&](uint64_t d) {
            bit += d >> best.parameter;
            put(1);
            for (int i = 0; i < best.parameter; ++i) put(d >> i);
        });
        return best;
    }

  private:
    static constexpr int kLargestParameter = 40;
    uint64_t load(uint64_t bit) const {
        uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word |= uint64_t{bytes_[bit / 8 + static_cast<uint64_t>(i)]} << (8 * i);
        return word >> (bit % 8);  // at least 57 bits
    }
    [[noreturn]] static void refuse_damage() { refuse("the coded set is damaged"); }

    // Reads the distance at `bit` and moves on; kEnd if the bytes end first.
    static constexpr uint64_t kEnd = ~uint64_t{0};
    uint64_t read(uint64_t& bit) const {
        uint64_t quotient = 0;
        for (;;) {
            if (bit >= num_bits_) return kEnd;
            uint64_t word = load(bit) & ((uint64_t{1} << 57) - 1);
            if (word) {
                uint64_t zeros = static_cast<uint64_t>(std::countr_zero(word));
                quotient += zeros;
                bit += zeros + 1;
                break;
            }
            quotient += 57;
            bit += 57;
        }
        uint64_t width = static_cast<uint64_t>(parameter_);
        if (bit + width > num_bits_) return kEnd;
        uint64_t low = width ? load(bit) & ((uint64_t{1} << width) - 1) : 0;
        bit += width;
        return quotient << width | low;
    }

    struct Mark {
        uint64_t number, bit;  // the member, and where the one after it begins
    };
    static constexpr uint64_t kStride = 32;

    int parameter_ = 0;
    uint64_t count_ = 0, num_bits_ = 0;
    std::vector<uint8_t> bytes_;  // and 8 zero bytes, so that words can be loaded anywhere
    std::vector<Mark> marks_;
};

constexpr uint32_t kLargestValue = 1u << 20;  // of a class

class LearnedPdb : public PatternHeuristic {
  public:
    // `values` of the classes, ascending. Throws std::invalid_argument for parts that do not fit.
    LearnedPdb(std::shared_ptr<const PatternIndex> index, IntegerNetwork network, LevelDecoder decoder,
               std::vector<uint32_t> values, std::vector<RiceSet> exceptions, std::shared_ptr<const Pdb> base)
        : index_(std::move(index)),
          network_(std::move(network)),
          decoder_(std::move(decoder)),
          values_(std::move(values)),
          exceptions_(std::move(exceptions)),
          base_(std::move(base)) {
        if (index_->variables().size() != static_cast<size_t>(network_.num_digits()))
            refuse("the network reads another number of variables than the pattern has");
        if (decoder_.num_classes() != network_.num_classes() ||
            values_.size() != static_cast<size_t>(network_.num_classes()))
            refuse("network, thresholds and values have different numbers of classes");
        for (size_t i = 1; i < values_.size(); ++i)
            if (values_[i] <= values_[i - 1]) refuse("the values of the classes are not ascending");
        if (values_.back() > kLargestValue) refuse("a value is too large");
    }

    const PatternIndex& index() const override { return *index_; }
    uint64_t work() const override { return network_.num_weights(); }
    const IntegerNetwork& network() const { return network_; }
    const LevelDecoder& decoder() const { return decoder_; }
    const std::vector<uint32_t>& values() const { return values_; }

    void lookup(const StateBatch& batch, uint32_t* values) const override {
        // Search looks a few states up at a time: memory is kept from one time to the next.
        thread_local std::vector<int> digits;
        thread_local std::vector<int32_t> logits;
        thread_local IntegerNetwork::Workspace work;
        size_t columns = index_->variables().size(), classes = values_.size();
        digits.resize(static_cast<size_t>(batch.count) * columns);
        logits.resize(static_cast<size_t>(batch.count) * classes);
        for (int i = 0; i < batch.count; ++i)
            index_->representative(batch.row(i), digits.data() + static_cast<size_t>(i) * columns);
        network_.forward(digits.data(), batch.count, logits.data(), work);
        for (int i = 0; i < batch.count; ++i) {
            const uint64_t index = exceptions_.empty() ? 0 : index_->rank(batch.row(i));
            values[i] = values_[static_cast<size_t>(
                class_of(logits.data() + static_cast<size_t>(i) * classes, index))];
        }
        if (base_) base_->add_to(batch, values);
    }
    // The class of a state from its logits and its index, which only exceptions need.
    int class_of(const int32_t* logits, uint64_t index) const {
        int result = decoder_.decode(logits);
        for (const RiceSet& set : exceptions_) {
            if (result == 0 || !set.contains(index)) break;
            --result;
        }
        return result;
    }

  private:
    std::shared_ptr<const PatternIndex> index_;
    IntegerNetwork network_;
    LevelDecoder decoder_;
    std::vector<uint32_t> values_;
    std::vector<RiceSet> exceptions_;
    std::shared_ptr<const Pdb> base_;
};

}  // namespace hstar
