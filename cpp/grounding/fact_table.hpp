// Ground atoms, interned: atom <-> small integer, by one open-addressing table over all predicates.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace hstar {

class FactTable {
  public:
    explicit FactTable(std::vector<int> predicate_arity);

    // Returns the id of the atom and whether it was new.
    std::pair<int, bool> intern(int predicate, const int* args);
    int find(int predicate, const int* args) const;  // -1: unknown
    int size() const { return static_cast<int>(predicate_.size()); }
    int predicate(int fact) const { return predicate_[fact]; }
    std::span<const int> args(int fact) const {
        return {args_.data() + begin_[fact], static_cast<size_t>(arity_[predicate_[fact]])};
    }

  private:
    size_t slot_of(int predicate, const int* args) const;
    void grow();

    std::vector<int> arity_;
    std::vector<int> predicate_;
    std::vector<uint32_t> begin_;
    std::vector<int> args_;
    std::vector<int> table_;
    size_t mask_;
};

}  // namespace hstar
