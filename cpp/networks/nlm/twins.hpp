// Objects that can be swapped without changing a state's input (twins) have equal values in every layer of a
// Neural Logic Machine. Tuples have at most `breadth` members and reductions are minima and maxima, which do
// not depend on how often a value occurs. So `breadth` members of each class of twins are enough: a tuple of
// breadth - 1 twins still meets one that is not in it. The others are left out, and the output stays the
// same. In sums over objects, one of those that stay counts for the others.
//
// Two objects are twins if their signatures are equal: the entries an object occurs in, with a star in its
// place. An entry that holds both cannot be in both signatures, so swapping the two maps entries to entries.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "networks/nlm/input.hpp"
#include "networks/nlm/shape.hpp"
#include "runtime/hash.hpp"

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
inline SignatureShares signature_shares(const NlmShape& shape, int n, NlmEntry entry, float value) {
    constexpr int kStar = -1;
    SignatureShares shares;
    if (entry.arity == 0) return shares;
    const int channels = shape.channels[entry.arity];
    int members[kMaxBreadth] = {};
    for (int i = entry.arity - 1, tuple = entry.index / channels; i >= 0; --i, tuple /= n)
        members[i] = tuple % n;
    for (int i = 0; i < entry.arity; ++i) {
        const int object = members[i];
        if (std::find(members, members + i, object) != members + i) continue;
        int items[3 + kMaxBreadth] = {entry.arity, entry.index % channels, std::bit_cast<int>(value)};
        for (int j = 0; j < entry.arity; ++j) items[3 + j] = members[j] == object ? kStar : members[j];
        shares.object[shares.count] = object;
        shares.share[shares.count] = {hash_ints(items, 3 + entry.arity, 1),
                                      hash_ints(items, 3 + entry.arity, 2)};
        ++shares.count;
    }
    return shares;
}

class TwinReduction {
  public:
    explicit TwinReduction(const NlmShape& shape) : shape_(shape) {}

    // Chooses which objects stay, given the signatures of all. Returns how many.
    int choose(std::span<const Signature> signatures) {
        n_ = static_cast<int>(signatures.size());
        number_.assign(n_, 0);
        kept_ = n_;
        weights_.assign(n_, 1.0f);
        if (n_ > shape_.breadth) {
            order_.resize(n_);
            std::iota(order_.begin(), order_.end(), 0);
            std::sort(order_.begin(), order_.end(), [&](int i, int j) {
                return signatures[i] != signatures[j] ? signatures[i] < signatures[j] : i < j;
            });
            int members = 0, first = 0;
            for (int i = 0; i < n_; ++i) {
                const bool is_twin = i > 0 && signatures[order_[i]] == signatures[order_[i - 1]];
                members = is_twin ? members + 1 : 1;
                if (!is_twin) first = order_[i];
                if (members > shape_.breadth) {
                    number_[order_[i]] = -1;
                    ++weights_[first];
                    --kept_;
                }
            }
        }
        int next = 0;
        for (int i = 0; i < n_; ++i)
            if (number_[i] >= 0) {
                weights_[next] = weights_[i];
                number_[i] = next++;
            }
        return kept_;
    }
    // Of n objects, in a buffer of this object.
    const std::vector<Signature>& signatures_of(int n, std::span<const NlmEntry> entries,
                                                std::span<const float> values) {
        signatures_.assign(n, Signature{});
        for (size_t e = 0; e < entries.size(); ++e) {
            const SignatureShares shares = signature_shares(shape_, n, entries[e], values[e]);
            for (int i = 0; i < shares.count; ++i) signatures_[shares.object[i]] += shares.share[i];
        }
        return signatures_;
    }

    // After choose(): how many objects each of those that stay stands for.
    const float* weights() const { return weights_.data(); }
    // After choose(): whether the entry's objects all stay; renumbers them.
    bool renumber(NlmEntry& entry) const {
        if (entry.arity == 0 || kept_ == n_) return true;
        const int channels = shape_.channels[entry.arity];
        int tuple = entry.index / channels, factor = 1, result = 0;
        for (int i = 0; i < entry.arity; ++i, tuple /= n_, factor *= kept_) {
            const int number = number_[tuple % n_];
            if (number < 0) return false;
            result += number * factor;
        }
        entry.index = result * channels + entry.index % channels;
        return true;
    }

  private:
    const NlmShape& shape_;
    int n_ = 0, kept_ = 0;
    std::vector<int> number_;  // per object: its new number, -1 if it is left out
    std::vector<Signature> signatures_;
    std::vector<float> weights_;
    std::vector<int> order_;
};

}  // namespace hstar
