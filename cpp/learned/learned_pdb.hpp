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

#include "learned/level_decoder.hpp"
#include "learned/rice_set.hpp"
#include "networks/integer/network.hpp"
#include "pdb/pdb.hpp"
#include "runtime/require.hpp"

namespace hstar {

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

    void lookup(const int* states, int count, int stride, uint32_t* values) const override {
        // Search looks a few states up at a time: memory is kept from one time to the next.
        thread_local std::vector<int> digits;
        thread_local std::vector<int32_t> logits;
        thread_local IntegerNetwork::Workspace work;
        size_t columns = index_->variables().size(), classes = values_.size();
        digits.resize(static_cast<size_t>(count) * columns);
        logits.resize(static_cast<size_t>(count) * classes);
        for (int i = 0; i < count; ++i) {
            const int* state = states + static_cast<size_t>(i) * static_cast<size_t>(stride);
            index_->representative(state, digits.data() + static_cast<size_t>(i) * columns);
        }
        network_.forward(digits.data(), count, logits.data(), work);
        for (int i = 0; i < count; ++i) {
            int decoded = decode(logits.data() + static_cast<size_t>(i) * classes);
            if (!exceptions_.empty())
                decoded = corrected(
                    decoded, index_->rank(states + static_cast<size_t>(i) * static_cast<size_t>(stride)));
            values[i] = values_[static_cast<size_t>(decoded)];
        }
        if (base_) base_->add_to(states, count, stride, values);
    }
    // The class of a state from its logits, before and after the exceptions.
    int decode(const int32_t* logits) const { return decoder_.decode(logits); }
    int corrected(int decoded, uint64_t index) const {
        for (const RiceSet& set : exceptions_) {
            if (decoded == 0 || !set.contains(index)) break;
            --decoded;
        }
        return decoded;
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
