// Objects that can be swapped without changing a state's input (twins) have equal values in every layer of a
// Neural Logic Machine. Tuples have at most `breadth` members and reductions are minima and maxima, which do
// not depend on how often a value occurs. So `breadth` members of each class of twins are enough: a tuple of
// breadth - 1 twins still meets one that is not in it. The others are left out, and the output stays the
// same.
//
// Two objects are twins if their signatures are equal: the entries an object occurs in, with a star in its
// place. An entry that holds both cannot be in both signatures, so swapping the two maps entries to entries.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "networks/nlm/input.hpp"
#include "networks/nlm/shape.hpp"

namespace hstar {

// A 128-bit sum over an object's entries, independent of their order.
struct Signature {
    uint64_t a = 0, b = 0;
    auto operator<=>(const Signature&) const = default;
    void operator+=(const Signature& other) {
        a += other.a;
        b += other.b;
    }
};

// An entry's share of the signatures of the objects in it; at most one per member.
struct SignatureShares {
    int count = 0;
    int object[kMaxBreadth];
    Signature share[kMaxBreadth];
};
SignatureShares signature_shares(const NlmShape& shape, int n, NlmEntry entry, float value);

class TwinReduction {
  public:
    explicit TwinReduction(const NlmShape& shape) : shape_(shape) {}

    // Chooses which objects stay, given the signatures of all. Returns how many.
    int choose(std::span<const Signature> signatures);
    // The same for a list of entries.
    int choose(int n, std::span<const NlmEntry> entries, std::span<const float> values);

    // After choose(): whether the entry's objects all stay; renumbers them.
    bool renumber(NlmEntry& entry) const;

  private:
    const NlmShape& shape_;
    int n_ = 0, kept_ = 0;
    std::vector<int> number_;  // per object: its new number, -1 if it is left out
    std::vector<Signature> signatures_;
    std::vector<int> order_;
};

}  // namespace hstar
