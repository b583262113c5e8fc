#include "task/packing.hpp"

#include <bit>

namespace hstar {

Packing::Packing(const std::vector<int>& domain_size) {
    uint64_t bits = 0;
    for (int size : domain_size) {
        int width = std::bit_width(static_cast<unsigned>(size - 1));
        fields_.push_back(
            {static_cast<uint32_t>(bits / 8), static_cast<uint32_t>(bits % 8), (uint64_t{1} << width) - 1});
        bits += width;
    }
    num_bytes_ = static_cast<int>((bits + 7) / 8);
}

void Packing::pack(const int* values, unsigned char* state) const {
    std::memset(state, 0, buffer_bytes());
    for (size_t v = 0; v < fields_.size(); ++v) set(state, static_cast<int>(v), values[v]);
}

void Packing::unpack(const unsigned char* state, int* values) const {
    for (size_t v = 0; v < fields_.size(); ++v) values[v] = get(state, static_cast<int>(v));
}

}  // namespace hstar
