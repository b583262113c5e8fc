// Pseudo-random numbers that are the same on every machine: SplitMix64 (Steele, Lea and Flood 2014).
#pragma once
#include <cstdint>
#include <span>
#include <utility>

namespace hstar {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t state() const { return state_; }  // Random(state()) goes on as this one

    uint64_t bits() {
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    // Uniform in 0 .. count - 1, up to a bias of count / 2^32.
    uint32_t below(uint32_t count) { return static_cast<uint32_t>((bits() >> 32) * count >> 32); }

    template <class T>
    void shuffle(std::span<T> items) {
        for (size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(static_cast<uint32_t>(i))]);
    }

  private:
    uint64_t state_;
};

}  // namespace hstar
