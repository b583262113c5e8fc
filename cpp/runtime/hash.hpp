// Hashing of short integer and byte sequences: multiply-and-fold, fast and good enough for open addressing.
#pragma once
#include <cstdint>
#include <cstring>

namespace hstar {

inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
    __extension__ using uint128 = unsigned __int128;
    uint128 product = static_cast<uint128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_ints(const int* items, size_t count, uint64_t seed) {
    uint64_t h = seed * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull;
    for (size_t i = 0; i < count; ++i)
        h = fold_multiply(h ^ static_cast<uint32_t>(items[i]), 0xA0761D6478BD642Full) + 0x9E3779B97F4A7C15ull;
    return fold_multiply(h, 0xE7037ED1A0B428DBull);
}

// `bytes` must be readable up to the next multiple of eight; bytes beyond `count` must be zero.
inline uint64_t hash_padded_bytes(const unsigned char* bytes, size_t count) {
    uint64_t h = 0x9E3779B97F4A7C15ull;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes + i, 8);
        h = fold_multiply(h ^ word, 0xA0761D6478BD642Full) + i;
    }
    return fold_multiply(h, 0xE7037ED1A0B428DBull);
}

}  // namespace hstar
