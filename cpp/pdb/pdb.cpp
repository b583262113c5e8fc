#include "pdb/pdb.hpp"

#include <algorithm>
#include <stdexcept>

namespace hstar {

Pdb::Pdb(std::shared_ptr<const PatternIndex> index, Grouping grouping, TableView table,
         std::shared_ptr<const void> memory, std::shared_ptr<const Pdb> base)
    : index_(std::move(index)),
      grouping_(grouping),
      table_(table),
      memory_(std::move(memory)),
      base_(std::move(base)) {
    if (grouping_.number == 0) throw std::invalid_argument("groups have at least one member");
    uint64_t cells = grouping_.num_cells(index_->size());
    if (table_.size != cells)
        throw std::invalid_argument("the table has " + std::to_string(table_.size) + " entries instead of " +
                                    std::to_string(cells));
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

void PdbEvaluator::evaluate(const StateBatch& batch, float* h, Rows<int>* preferred) {
    values_.resize(batch.count);
    std::fill(h, h + batch.count, 0.0f);
    for (const Sum& sum : sums_) {
        totals_.assign(batch.count, 0);
        for (const auto& pdb : sum) {
            pdb->lookup(batch.values, batch.count, batch.num_variables, values_.data());
            for (int i = 0; i < batch.count; ++i)
                if (values_[i] == kUnreached)
                    h[i] = kDeadEnd;
                else
                    totals_[i] += values_[i];
        }
        for (int i = 0; i < batch.count; ++i)
            h[i] = std::max(h[i], to_float_below(static_cast<int64_t>(totals_[i])));
    }
    if (preferred)
        for (int i = 0; i < batch.count; ++i) preferred->close_row();
}

}  // namespace hstar
