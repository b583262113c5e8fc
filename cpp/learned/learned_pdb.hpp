// A pattern database that a network replaces, made admissible by a table of exceptions.
//
//     h(state) = values[class(state) - exceptions(index(state))] + base(state)
//
// The network reads the values of the pattern's variables, of the representative where symmetric states share
// an index. Exceptions are sets of indices: the class is lowered by one for each of the leading sets that
// hold the index. All arithmetic is in integers, so what a sweep over all states has shown holds wherever the
// heuristic is used.
#pragma once
#include "learned/level_decoder.hpp"
#include "learned/rice_set.hpp"
#include "networks/integer/network.hpp"
#include "pdb/pdb.hpp"

namespace hstar {

constexpr uint32_t kLargestValue = 1u << 20;  // of a class

class LearnedPdb : public PatternHeuristic {
  public:
    // `values` of the classes, ascending. Throws std::invalid_argument for parts that do not fit.
    LearnedPdb(std::shared_ptr<const PatternIndex> index, IntegerNetwork network, LevelDecoder decoder,
               std::vector<uint32_t> values, std::vector<RiceSet> exceptions,
               std::shared_ptr<const Pdb> base);

    const PatternIndex& index() const override { return *index_; }
    uint64_t work() const override { return network_.num_weights(); }
    const IntegerNetwork& network() const { return network_; }
    const LevelDecoder& decoder() const { return decoder_; }
    const std::vector<uint32_t>& values() const { return values_; }

    void lookup(const int* states, int count, int stride, uint32_t* values) const override;
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
