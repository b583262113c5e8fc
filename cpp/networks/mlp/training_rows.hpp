#pragma once
#include <cstdint>
#include <vector>

namespace hstar {

// Sets of atoms with labels. NaN: missing.
struct TrainingRows {
    // Throws std::invalid_argument for arrays that do not fit each other, or atoms that are not among so
    // many.
    TrainingRows(int num_atoms, std::vector<int64_t> starts, std::vector<int> atoms, std::vector<float> h,
                 std::vector<float> lower, std::vector<float> upper, std::vector<float> weights);

    int num_atoms;
    std::vector<int64_t> starts;  // per row, and one past the end
    std::vector<int> atoms;
    std::vector<float> h, lower, upper;
    std::vector<float> weights;  // of a row's loss; empty: all 1
    int size() const { return static_cast<int>(h.size()); }
};

}  // namespace hstar
