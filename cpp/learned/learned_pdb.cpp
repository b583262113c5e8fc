#include "learned/learned_pdb.hpp"

#include <algorithm>
#include <stdexcept>

namespace hstar {

LearnedPdb::LearnedPdb(std::shared_ptr<const PatternIndex> index, IntegerNetwork network,
                       LevelDecoder decoder, std::vector<uint32_t> values, std::vector<RiceSet> exceptions,
                       std::shared_ptr<const Pdb> base)
    : index_(std::move(index)),
      network_(std::move(network)),
      decoder_(std::move(decoder)),
      values_(std::move(values)),
      exceptions_(std::move(exceptions)),
      base_(std::move(base)) {
    if (index_->variables().size() != static_cast<size_t>(network_.num_digits()))
        throw std::invalid_argument("the network reads another number of variables than the pattern has");
    if (decoder_.num_classes() != network_.num_classes() ||
        values_.size() != static_cast<size_t>(network_.num_classes()))
        throw std::invalid_argument("network, thresholds and values have different numbers of classes");
    for (size_t i = 1; i < values_.size(); ++i)
        if (values_[i] <= values_[i - 1])
            throw std::invalid_argument("the values of the classes are not ascending");
    if (values_.back() > kLargestValue) throw std::invalid_argument("a value is too large");
}

void LearnedPdb::lookup(const int* states, int count, int stride, uint32_t* values) const {
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
            decoded = corrected(decoded,
                                index_->rank(states + static_cast<size_t>(i) * static_cast<size_t>(stride)));
        values[i] = values_[static_cast<size_t>(decoded)];
    }
    if (!base_) return;
    std::vector<uint32_t> rest(static_cast<size_t>(count));
    base_->lookup(states, count, stride, rest.data());
    for (int i = 0; i < count; ++i) values[i] = rest[i] == kUnreached ? kUnreached : values[i] + rest[i];
}

}  // namespace hstar
