// Binary range coding (Martin, "Range encoding: an algorithm for removing redundancy from a digitised
// message", 1979): a bit of probability p / 2^16 shrinks the interval [low, high] to its share, and the
// leading bytes on which both ends agree are written.
//
// The encoder and the decoder have the same `code`, so that one model drives both: the encoder takes the bit
// and returns it, the decoder ignores what it is given and returns the bit it reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/require.hpp"

namespace hstar {

// Where the interval is divided: up to `split`, the bit is one.
inline uint32_t split_interval(uint32_t low, uint32_t high, uint32_t chance_of_one) {
    return low + static_cast<uint32_t>(uint64_t{high - low} * chance_of_one >> 16);
}

// The last byte of a code: the ends of the interval differ in their first byte, and this byte followed by
// zeros lies between them.
inline uint32_t last_byte(uint32_t low) {
    return (low >> 24) + (low << 8 != 0);
}

class RangeEncoder {
  public:
    // 0 < chance_of_one < 2^16.
    bool code(bool bit, uint32_t chance_of_one) {
        uint32_t split = split_interval(low_, high_, chance_of_one);
        (bit ? high_ : low_) = bit ? split : split + 1;
        for (; (low_ ^ high_) >> 24 == 0; low_ <<= 8, high_ = high_ << 8 | 255)
            bytes_.push_back(static_cast<uint8_t>(high_ >> 24));
        return bit;
    }
    std::vector<uint8_t> finish() {
        bytes_.push_back(static_cast<uint8_t>(last_byte(low_)));
        return std::move(bytes_);
    }

  private:
    uint32_t low_ = 0, high_ = ~uint32_t{0};
    std::vector<uint8_t> bytes_;
};

class RangeDecoder {
  public:
    // The bytes must outlive the decoder. Throws std::invalid_argument if they end too early.
    RangeDecoder(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {
        for (int i = 0; i < 4; ++i) read();
    }
    bool code(bool, uint32_t chance_of_one) {
        uint32_t split = split_interval(low_, high_, chance_of_one);
        bool bit = value_ <= split;
        (bit ? high_ : low_) = bit ? split : split + 1;
        for (; (low_ ^ high_) >> 24 == 0; low_ <<= 8, high_ = high_ << 8 | 255) read();
        return bit;
    }
    // Throws std::invalid_argument unless the encoder would write exactly these bytes for the bits read.
    void finish() const {
        if (place_ != size_ + kZeros || value_ != last_byte(low_) << 24)
            refuse("a code does not end where its bits end");
    }

  private:
    static constexpr size_t kZeros = 3;  // that follow the last byte
    void read() {
        if (place_ >= size_ + kZeros) refuse("a code ends too early");
        value_ = value_ << 8 | (place_ < size_ ? bytes_[place_] : 0);
        ++place_;
    }
    const uint8_t* bytes_;
    size_t size_, place_ = 0;
    uint32_t low_ = 0, high_ = ~uint32_t{0}, value_ = 0;
};

}  // namespace hstar
