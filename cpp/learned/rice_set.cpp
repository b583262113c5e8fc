#include "learned/rice_set.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace hstar {

namespace {

constexpr int kLargestParameter = 40;

uint64_t load(const std::vector<uint8_t>& bytes, uint64_t bit) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= uint64_t{bytes[bit / 8 + static_cast<uint64_t>(i)]} << (8 * i);
    return word >> (bit % 8);  // at least 57 bits
}

[[noreturn]] void refuse() {
    throw std::invalid_argument("the coded set is damaged");
}

}  // namespace

uint64_t RiceSet::read(uint64_t& bit) const {
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

RiceSet::RiceSet(uint64_t universe, uint64_t count, int parameter, std::vector<uint8_t> bytes)
    : parameter_(parameter), count_(count), bytes_(std::move(bytes)) {
    if (parameter < 0 || parameter > kLargestParameter || universe >= uint64_t{1} << 56) refuse();
    num_bits_ = 8 * bytes_.size();
    if (count > num_bits_) refuse();
    bytes_.resize(bytes_.size() + 8, 0);
    uint64_t bit = 0, next = 0;  // the smallest number that can follow
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t distance = read(bit);
        if (distance == kEnd || distance >= universe || next + distance >= universe) refuse();
        next += distance + 1;
        if (i % kStride == 0) marks_.push_back({next - 1, bit});
    }
    if (num_bits_ - bit >= 8) refuse();
    while (bit < num_bits_)
        if (load(bytes_, bit++) & 1) refuse();
}

bool RiceSet::contains(uint64_t number) const {
    auto after = std::upper_bound(marks_.begin(), marks_.end(), number,
                                  [](uint64_t n, const Mark& mark) { return n < mark.number; });
    if (after == marks_.begin()) return false;
    const Mark& mark = *(after - 1);
    uint64_t member = mark.number, bit = mark.bit;
    uint64_t left = std::min(kStride, count_ - static_cast<uint64_t>(after - 1 - marks_.begin()) * kStride);
    while (member < number && --left > 0) member += read(bit) + 1;
    return member == number;
}

std::vector<uint64_t> RiceSet::members() const {
    std::vector<uint64_t> result;
    uint64_t bit = 0, next = 0;
    for (uint64_t i = 0; i < count_; ++i) {
        next += read(bit) + 1;
        result.push_back(next - 1);
    }
    return result;
}

RiceSet::Code RiceSet::encode(const std::vector<uint64_t>& members) {
    auto for_each_distance = [&](auto use) {
        uint64_t next = 0;
        for (uint64_t member : members) {
            if (member < next) throw std::invalid_argument("the members are not in ascending order");
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

}  // namespace hstar
