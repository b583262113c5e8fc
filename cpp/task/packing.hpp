// States as bytes: every variable takes just the bits it needs, with no gaps, so a state of B bits has ceil(B
// / 8) bytes. A field is read by one unaligned 64-bit load, which may reach up to kSlack bytes past the last
// byte: every buffer of packed states has that much room at its end.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hstar {

constexpr int kSlack = 8;

class Packing {
  public:
    explicit Packing(const std::vector<int>& domain_size) {
        uint64_t bits = 0;
        for (int size : domain_size) {
            int width = std::bit_width(static_cast<unsigned>(size - 1));
            fields_.push_back({static_cast<uint32_t>(bits / 8), static_cast<uint32_t>(bits % 8),
                               (uint64_t{1} << width) - 1});
            bits += width;
        }
        num_bytes_ = static_cast<int>((bits + 7) / 8);
    }

    int num_bytes() const { return num_bytes_; }
    // Bytes of a scratch buffer for one state, slack and hash padding included.
    int buffer_bytes() const { return (num_bytes_ + 7) / 8 * 8 + kSlack; }

    int get(const unsigned char* state, int variable) const {
        const Field& field = fields_[variable];
        return static_cast<int>((load(state + field.byte) >> field.shift) & field.mask);
    }
    void set(unsigned char* state, int variable, int value) const {
        const Field& field = fields_[variable];
        uint64_t word = load(state + field.byte);
        word &= ~(field.mask << field.shift);
        word |= static_cast<uint64_t>(value) << field.shift;
        std::memcpy(state + field.byte, &word, 8);
    }
    void pack(const int* values, unsigned char* state) const {
        std::memset(state, 0, buffer_bytes());
        for (size_t v = 0; v < fields_.size(); ++v) set(state, static_cast<int>(v), values[v]);
    }
    void unpack(const unsigned char* state, int* values) const {
        for (size_t v = 0; v < fields_.size(); ++v) values[v] = get(state, static_cast<int>(v));
    }

  private:
    struct Field {
        uint32_t byte;
        uint32_t shift;
        uint64_t mask;
    };
    static uint64_t load(const unsigned char* bytes) {
        uint64_t word;
        std::memcpy(&word, bytes, 8);
        return word;
    }
    std::vector<Field> fields_;
    int num_bytes_;
};

}  // namespace hstar
