// A set of numbers in little space: ascending, each as its distance to the one before, Golomb-Rice coded
// (Rice, "Some practical universal noiseless coding techniques", 1979).
//
// A distance d (0 for neighbours) is d >> r zero bits, a one, and the low r bits of d; bits fill bytes from
// the lowest. With n random members of u numbers and the best r, this takes about log2(u / n) + 1.5 bits a
// member. In memory, every 32nd member is noted, so that a look-up decodes 32 at most.
#pragma once
#include <cstdint>
#include <vector>

namespace hstar {

class RiceSet {
  public:
    RiceSet() = default;
    // Throws std::invalid_argument unless the bytes are exactly what `encode` makes of some set of `count`
    // numbers below `universe`.
    RiceSet(uint64_t universe, uint64_t count, int parameter, std::vector<uint8_t> bytes);

    uint64_t size() const { return count_; }
    bool contains(uint64_t number) const;
    std::vector<uint64_t> members() const;

    struct Code {
        int parameter;
        std::vector<uint8_t> bytes;
    };
    // Of ascending numbers, with the parameter that takes the least space.
    static Code encode(const std::vector<uint64_t>& members);

  private:
    // Reads the distance at `bit` and moves on; kEnd if the bytes end first.
    static constexpr uint64_t kEnd = ~uint64_t{0};
    uint64_t read(uint64_t& bit) const;

    struct Mark {
        uint64_t number, bit;  // the member, and where the one after it begins
    };
    static constexpr uint64_t kStride = 32;

    int parameter_ = 0;
    uint64_t count_ = 0, num_bits_ = 0;
    std::vector<uint8_t> bytes_;  // and 8 zero bytes, so that words can be loaded anywhere
    std::vector<Mark> marks_;
};

}  // namespace hstar
