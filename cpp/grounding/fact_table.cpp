#include "grounding/fact_table.hpp"

#include <algorithm>

#include "runtime/hash.hpp"

namespace hstar {

FactTable::FactTable(std::vector<int> predicate_arity)
    : arity_(std::move(predicate_arity)), table_(1024, -1), mask_(1023) {}

size_t FactTable::slot_of(int predicate, const int* args) const {
    int arity = arity_[predicate];
    size_t slot = hash_ints(args, arity, predicate) & mask_;
    while (table_[slot] >= 0) {
        int fact = table_[slot];
        if (predicate_[fact] == predicate && std::equal(args, args + arity, args_.data() + begin_[fact]))
            break;
        slot = (slot + 1) & mask_;
    }
    return slot;
}

int FactTable::find(int predicate, const int* args) const {
    return table_[slot_of(predicate, args)];
}

std::pair<int, bool> FactTable::intern(int predicate, const int* args) {
    size_t slot = slot_of(predicate, args);
    if (table_[slot] >= 0) return {table_[slot], false};
    int fact = size();
    table_[slot] = fact;
    predicate_.push_back(predicate);
    begin_.push_back(static_cast<uint32_t>(args_.size()));
    args_.insert(args_.end(), args, args + arity_[predicate]);
    if (predicate_.size() * 2 > table_.size()) grow();
    return {fact, true};
}

void FactTable::grow() {
    table_.assign(table_.size() * 2, -1);
    mask_ = table_.size() - 1;
    for (int fact = 0; fact < size(); ++fact)
        table_[slot_of(predicate_[fact], args_.data() + begin_[fact])] = fact;
}

}  // namespace hstar
