// Ground atoms, interned: atom <-> small integer, over all predicates.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"

namespace hstar {

class FactTable {
  public:
    explicit FactTable(std::vector<int> predicate_arity) : arity_(std::move(predicate_arity)) {}

    // Returns the id of the atom and whether it was new.
    std::pair<int, bool> intern(int predicate, const int* args) {
        auto found = numbering_.find_or_add(hash(predicate, args),
                                            [&](int fact) { return is(fact, predicate, args); });
        if (found.second) {
            predicate_.push_back(predicate);
            begin_.push_back(static_cast<uint32_t>(args_.size()));
            args_.insert(args_.end(), args, args + arity_[predicate]);
        }
        return found;
    }
    int find(int predicate, const int* args) const {  // -1: unknown
        return numbering_.find(hash(predicate, args), [&](int fact) { return is(fact, predicate, args); });
    }
    int size() const { return numbering_.size(); }
    int num_predicates() const { return static_cast<int>(arity_.size()); }
    int predicate(int fact) const { return predicate_[fact]; }
    std::span<const int> args(int fact) const {
        return {args_.data() + begin_[fact], static_cast<size_t>(arity_[predicate_[fact]])};
    }

  private:
    uint64_t hash(int predicate, const int* args) const {
        return hash_ints(args, arity_[predicate], predicate);
    }
    bool is(int fact, int predicate, const int* args) const {
        return predicate_[fact] == predicate &&
               std::equal(args, args + arity_[predicate], args_.data() + begin_[fact]);
    }

    std::vector<int> arity_;
    std::vector<int> predicate_;
    std::vector<uint32_t> begin_;
    std::vector<int> args_;
    Numbering numbering_;
};

}  // namespace hstar
