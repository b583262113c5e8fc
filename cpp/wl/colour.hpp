// Colours of the Weisfeiler-Leman algorithm as 64-bit hashes.
//
// Every step mixes in one multiplication. Two colours that differ get equal hashes with a chance of about
// 2^-64, which is never seen in practice.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/hash.hpp"
#include "runtime/require.hpp"

namespace hstar {

using WlColour = uint64_t;

// Of a kind of vertex at the start: an object, or an atom of some predicate in some role.
inline WlColour initial_colour(uint64_t kind) {
    const uint64_t mixed = fold_multiply(kind + 0x9E3779B97F4A7C15ull, 0xA0761D6478BD642Full);
    return fold_multiply(mixed ^ 0xE7037ED1A0B428DBull, 0x8EBC6AF09C88C6E3ull);
}

// What a neighbour adds to the sum of a vertex; the edge carries the position of an argument.
inline uint64_t neighbour_share(uint64_t position_key, WlColour colour) {
    return fold_multiply(colour ^ position_key, 0xD6E8FEB86659FD93ull);
}
inline uint64_t position_key(int position) {
    return initial_colour(~static_cast<uint64_t>(position));
}

// The colour after a round, of the one before and the sum of what the neighbours add.
inline WlColour next_colour(WlColour colour, int round, uint64_t sum) {
    return fold_multiply(colour + static_cast<uint64_t>(round) * 0x9E3779B97F4A7C15ull,
                         sum ^ 0x589965CC75374CC3ull);
}

// Which feature counts a colour. Colours that are not in the table have none.
class ColourTable {
  public:
    // Feature i counts colours[i]. Throws std::invalid_argument if two are equal.
    explicit ColourTable(const std::vector<WlColour>& colours)
        : num_features_(static_cast<int>(colours.size())) {
        size_t size = 16;
        while (size < 4 * colours.size()) size *= 2;
        slots_.resize(size);
        for (int feature = 0; feature < num_features_; ++feature) {
            Slot& slot = slots_[place_of(colours[feature])];
            require(slot.feature < 0, "two features count the same colour");
            slot = {colours[feature], feature};
        }
    }
    int num_features() const { return num_features_; }
    // -1 for a colour without one.
    int feature(WlColour colour) const { return slots_[place_of(colour)].feature; }

  private:
    struct Slot {
        WlColour colour = 0;
        int feature = -1;
    };
    size_t place_of(WlColour colour) const {
        size_t place = colour & (slots_.size() - 1);
        while (slots_[place].feature >= 0 && slots_[place].colour != colour)
            place = (place + 1) & (slots_.size() - 1);
        return place;
    }
    std::vector<Slot> slots_;
    int num_features_;
};

}  // namespace hstar
