#include "pdb/pdb.hpp"

#include <algorithm>

#include "runtime/require.hpp"

namespace hstar {

Pdb::Pdb(std::shared_ptr<const PatternIndex> index, Grouping grouping, TableView table,
         std::shared_ptr<const void> memory, std::shared_ptr<const Pdb> base)
    : index_(std::move(index)),
      grouping_(grouping),
      table_(table),
      memory_(std::move(memory)),
      base_(std::move(base)) {
    if (grouping_.number == 0) refuse("groups must have at least one member");
    uint64_t cells = grouping_.num_cells(index_->size());
    if (table_.size != cells) refuse("the table has ", table_.size, " entries instead of ", cells);
}

uint32_t Pdb::lookup(const int* state) const {
    uint32_t value = at(index_->rank(state));
    if (!base_ || value == kUnreached) return value;
    uint32_t rest = base_->lookup(state);
    return rest == kUnreached ? kUnreached : value + rest;
}

void Pdb::lookup(const int* states, int count, int stride, uint32_t* values) const {
    constexpr int kBlock = 64;
    uint64_t cells[kBlock];
    for (int first = 0; first < count; first += kBlock) {
        int block = std::min(kBlock, count - first);
        for (int i = 0; i < block; ++i) {
            cells[i] = grouping_.cell(index_->rank(states + static_cast<size_t>(first + i) * stride));
            table_.prefetch(cells[i]);
        }
        for (int i = 0; i < block; ++i) values[first + i] = table_.get(cells[i]);
    }
    if (!base_) return;
    std::vector<uint32_t> rest(count);
    base_->lookup(states, count, stride, rest.data());
    for (int i = 0; i < count; ++i)
        values[i] = values[i] == kUnreached || rest[i] == kUnreached ? kUnreached : values[i] + rest[i];
}

PdbEvaluator::PdbEvaluator(std::vector<Sum> sums) : sums_(std::move(sums)) {
    auto work = [](const Sum& sum) {
        uint64_t total = 0;
        for (const auto& part : sum) total += part->work();
        return total;
    };
    std::stable_sort(sums_.begin(), sums_.end(),
                     [&](const Sum& a, const Sum& b) { return work(a) < work(b); });
}

void PdbEvaluator::evaluate_within(const StateBatch& batch, const double* most, float* h) {
    values_.resize(batch.count);
    std::fill(h, h + batch.count, 0.0f);
    for (const Sum& sum : sums_) {
        totals_.assign(batch.count, 0);
        for (const auto& part : sum) {
            if (part->work())
                compute(*part, batch, most, h);
            else
                part->lookup(batch.values, batch.count, batch.num_variables, values_.data());
            for (int i = 0; i < batch.count; ++i)
                if (values_[i] == kUnreached)
                    h[i] = kDeadEnd;
                else
                    totals_[i] += values_[i];
        }
        for (int i = 0; i < batch.count; ++i)
            h[i] = std::max(h[i], to_float_below(static_cast<int64_t>(totals_[i])));
    }
}

void PdbEvaluator::compute(const PatternHeuristic& network, const StateBatch& batch, const double* most,
                           const float* h) {
    const PatternIndex& index = network.index();
    ValueCache& cache = caches_.try_emplace(&network, index.size()).first->second;
    waiting_.clear();
    rows_.clear();
    for (int i = 0; i < batch.count; ++i) {
        values_[i] = 0;
        if (most && h[i] > most[i]) continue;
        uint64_t at = index.rank(batch.row(i));
        if (const uint32_t* known = cache.find(at)) {
            values_[i] = *known;
            continue;
        }
        waiting_.push_back({i, at});
        rows_.insert(rows_.end(), batch.row(i), batch.row(i) + batch.num_variables);
    }
    if (waiting_.empty()) return;
    computed_.resize(waiting_.size());
    network.lookup(rows_.data(), static_cast<int>(waiting_.size()), batch.num_variables, computed_.data());
    for (size_t w = 0; w < waiting_.size(); ++w) {
        values_[waiting_[w].state] = computed_[w];
        cache.put(waiting_[w].index, computed_[w]);
    }
    network_states_ += waiting_.size();
}

}  // namespace hstar
