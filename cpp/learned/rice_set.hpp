// A set of numbers in little space: ascending, each as its distance to the one before, Golomb-Rice coded
// (Rice, "Some practical universal noiseless coding techniques", 1979).
//
// A distance d (0 for neighbours) is d >> r zero bits, a one, and the low r bits of d; bits fill bytes from
// the lowest. With n random members of u numbers and the best r, this takes about log2(u / n) + 1.5 bits a
// member. In memory, every 32nd member is noted, so that a look-up decodes 32 at most.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/require.hpp"

namespace hstar {

class RiceSet {
  public:
    RiceSet() = default;
    // Throws std::invalid_argument unless the bytes are exactly what `encode` makes of some set of `count`
    // numbers below `universe`.
    RiceSet(uint64_t universe, uint64_t count, int parameter, std::vector<uint8_t> bytes)
        : parameter_(parameter), count_(count), bytes_(std::move(bytes)) {
        if (parameter < 0 || parameter > kLargestParameter || universe >= uint64_t{1} << 56) refuse_damage();
        num_bits_ = 8 * bytes_.size();
        if (count > num_bits_) refuse_damage();
        bytes_.resize(bytes_.size() + 8, 0);
        uint64_t bit = 0, next = 0;  // the smallest number that can follow
        for (uint64_t i = 0; i < count; ++i) {
            uint64_t distance = read(bit);
            if (distance == kEnd || distance >= universe || next + distance >= universe) refuse_damage();
            next += distance + 1;
            if (i % kStride == 0) marks_.push_back({next - 1, bit});
        }
        if (num_bits_ - bit >= 8) refuse_damage();
        while (bit < num_bits_)
            if (load(bytes_, bit++) & 1) refuse_damage();
    }

    uint64_t size() const { return count_; }
    bool contains(uint64_t number) const {
        auto after = std::upper_bound(marks_.begin(), marks_.end(), number,
                                      [](uint64_t n, const Mark& mark) { return n < mark.number; });
        if (after == marks_.begin()) return false;
        const Mark& mark = *(after - 1);
        uint64_t member = mark.number, bit = mark.bit;
        uint64_t left =
            std::min(kStride, count_ - static_cast<uint64_t>(after - 1 - marks_.begin()) * kStride);
        while (member < number && --left > 0) member += read(bit) + 1;
        return member == number;
    }
    std::vector<uint64_t> members() const {
        std::vector<uint64_t> result;
        uint64_t bit = 0, next = 0;
        for (uint64_t i = 0; i < count_; ++i) {
            next += read(bit) + 1;
            result.push_back(next - 1);
        }
        return result;
    }

    struct Code {
        int parameter;
        std::vector<uint8_t> bytes;
    };
    // Of ascending numbers, with the parameter that takes the least space.
    static Code encode(const std::vector<uint64_t>& members) {
        auto for_each_distance = [&](auto use) {
            uint64_t next = 0;
            for (uint64_t member : members) {
                if (member < next) refuse("the members are not in ascending order");
                use(member - next);
                next = member + 1;
            }
        };
        Code best{0, {}};
        uint64_t fewest = ~uint64_t{0};
        for (int parameter = 0; parameter <= kLargestParameter; ++parameter) {
            uint64_t bits = 0;
            for_each_distance(
                [&](uint64_t d) { bits += (d >> parameter) + 1 + static_cast<uint64_t>(parameter); });
            if (bits < fewest) {
                fewest = bits;
                best.parameter = parameter;
            }
        }
        best.bytes.assign((fewest + 7) / 8, 0);
        uint64_t bit = 0;
        auto put = [&](uint64_t value) {
            best.bytes[bit / 8] = static_cast<uint8_t>(best.bytes[bit / 8] | (value & 1) << (bit % 8));
            ++bit;
        };
        for_each_distance([&](uint64_t d) {
            bit += d >> best.parameter;
            put(1);
            for (int i = 0; i < best.parameter; ++i) put(d >> i);
        });
        return best;
    }

  private:
    static constexpr int kLargestParameter = 40;
    static uint64_t load(const std::vector<uint8_t>& bytes, uint64_t bit) {
        uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word |= uint64_t{bytes[bit / 8 + static_cast<uint64_t>(i)]} << (8 * i);
        return word >> (bit % 8);  // at least 57 bits
    }
    [[noreturn]] static void refuse_damage() { refuse("the coded set is damaged"); }

    // Reads the distance at `bit` and moves on; kEnd if the bytes end first.
    static constexpr uint64_t kEnd = ~uint64_t{0};
    uint64_t read(uint64_t& bit) const {
        uint64_t quotient = 0;
        for (;;) {
            if (bit >= num_bits_) return kEnd;
            uint64_t word = load(bytes_, bit) & ((uint64_t{1} << 57) - 1);
            if (word) {
                uint64_t zeros = static_cast<uint64_t>(std::countr_zero(word));
                quotient += zeros;
                bit += zeros + 1;
                break;
            }
            quotient += 57;
            bit += 57;
        }
        uint64_t width = static_cast<uint64_t>(parameter_);
        if (bit + width > num_bits_) return kEnd;
        uint64_t low = width ? load(bytes_, bit) & ((uint64_t{1} << width) - 1) : 0;
        bit += width;
        return quotient << width | low;
    }

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
