// A table of small numbers in memory that it does not own, such as a mapped file.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "runtime/cache_aligned.hpp"
#include "runtime/require.hpp"

namespace hstar {

constexpr uint32_t kUnreached = 0xffffffffu;  // no path to the goal: a dead end, or an index of no state

inline void check_bits(int bits) {
    require(bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32,
            "entries have 2, 4, 8, 16 or 32 bits");
}

// Entries of 4, 8, 16 or 32 bits, little-endian; the largest number stands for kUnreached. Entries of 2 bits
// choose among four values and are always reached.
struct TableView {
    const uint8_t* data = nullptr;
    uint64_t size = 0;
    int bits = 8;
    std::array<uint8_t, 4> levels{};  // 2 bits: the values

    uint32_t get(uint64_t i) const {
        switch (bits) {
            case 2:
                return levels[data[i >> 2] >> (2 * (i & 3)) & 3];
            case 4: {
                uint32_t value = data[i >> 1] >> (4 * (i & 1)) & 15u;
                return value == 15 ? kUnreached : value;
            }
            case 8:
                return data[i] == 255 ? kUnreached : data[i];
            case 16: {
                uint16_t value;
                std::memcpy(&value, data + 2 * i, 2);
                return value == 65535 ? kUnreached : value;
            }
            default: {
                uint32_t value;
                std::memcpy(&value, data + 4 * i, 4);
                return value;
            }
        }
    }
    void prefetch(uint64_t i) const { __builtin_prefetch(data + i * static_cast<uint64_t>(bits) / 8); }
    static uint64_t num_bytes(uint64_t size, int bits) {
        return (size * static_cast<uint64_t>(bits) + 7) / 8;
    }
};

// A table being written. All entries begin as unreached (2 bits: as the lowest level).
class Table {
  public:
    Table(uint64_t size, int bits) : size_(size), bits_(bits) {
        check_bits(bits);
        bytes_.assign(TableView::num_bytes(size, bits), bits == 2 ? 0 : 0xff);
    }
    TableView view() const { return {bytes_.data(), size_, bits_, {}}; }
    uint64_t size() const { return size_; }
    int bits() const { return bits_; }
    // The largest value that can be stored.
    uint32_t largest() const { return bits_ == 32 ? kUnreached - 1 : (1u << bits_) - (bits_ == 2 ? 1 : 2); }

    // `value` is at most largest(), or kUnreached.
    void set(uint64_t i, uint32_t value) {
        const uint64_t position = i * static_cast<uint64_t>(bits_);  // of its first bit
        uint8_t* bytes = bytes_.data() + position / 8;
        if (bits_ >= 8) {
            for (int bit = 0; bit < bits_; bit += 8) *bytes++ = static_cast<uint8_t>(value >> bit);
            return;
        }
        const auto shift = static_cast<int>(position % 8);
        const auto mask = static_cast<uint8_t>(((1u << bits_) - 1) << shift);
        *bytes = static_cast<uint8_t>((*bytes & ~mask) | (value << shift & mask));
    }
    AlignedVector<uint8_t> take_bytes() { return std::move(bytes_); }
    uint8_t* bytes() { return bytes_.data(); }

  private:
    uint64_t size_;
    int bits_;
    AlignedVector<uint8_t> bytes_;
};

}  // namespace hstar
