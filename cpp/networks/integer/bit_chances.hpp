// Adaptive probabilities of bits for the weight code, in integers only.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hstar {

// Log odds in units of 1/256, up to +-8; probabilities in units of 1/2^16.
class Logistic {
  public:
    constexpr Logistic() {
        uint64_t power = uint64_t{1} << 32;  // 2^32 exp(-i / 256)
        for (int i = 0; i <= kMost; ++i) {
            uint64_t low = (power << 16) / ((uint64_t{1} << 32) + power);
            chance_[static_cast<size_t>(kMost - i)] = static_cast<uint16_t>(low);
            chance_[static_cast<size_t>(kMost + i)] = static_cast<uint16_t>(65536 - low);
            power = power * 4278222805u >> 32;
        }
        size_t i = 0;
        for (size_t p = 0; p < odds_.size(); ++p) {
            while (i + 1 < chance_.size() && chance_[i] < 16 * p + 8) ++i;
            odds_[p] = static_cast<int16_t>(static_cast<int>(i) - kMost);
        }
    }
    int chance(int64_t odds) const {
        return chance_[static_cast<size_t>(std::clamp<int64_t>(odds, -kMost, kMost) + kMost)];
    }
    int odds(uint32_t chance) const { return odds_[chance >> 4]; }

  private:
    static constexpr int kMost = 2047;
    std::array<uint16_t, 2 * kMost + 1> chance_{};
    std::array<int16_t, 4096> odds_{};
};
inline constexpr Logistic kLogistic;

// The share of ones among the bits seen in a context, the last `kLimit` or so.
class BitCount {
  public:
    // The log odds, pulled towards zero while few bits were seen.
    int odds() const { return kLogistic.odds(chance_) * kPace.trust[seen_] >> 16; }
    void add(bool bit) {
        chance_ = static_cast<uint16_t>(chance_ + (((bit ? 65535 : 0) - chance_) * kPace.rate[seen_] >> 15));
        if (seen_ < kLimit) ++seen_;
    }

  private:
    static constexpr uint16_t kLimit = 160;
    struct Pace {
        std::array<int32_t, kLimit + 1> trust{}, rate{};  // n / (n + 4) and 1 / (n + 3 / 2), by n bits seen
        constexpr Pace() {
            for (int n = 0; n <= kLimit; ++n) {
                trust[static_cast<size_t>(n)] = (n << 16) / (n + 4);
                rate[static_cast<size_t>(n)] = (1 << 16) / (2 * n + 3);
            }
        }
    };
    static const Pace kPace;
    uint16_t chance_ = 32768, seen_ = 0;
};
inline constexpr BitCount::Pace BitCount::kPace;

}  // namespace hstar
