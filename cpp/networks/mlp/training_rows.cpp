#include "networks/mlp/training_rows.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/require.hpp"

namespace hstar {

TrainingRows::TrainingRows(int num_atoms, std::vector<int64_t> starts, std::vector<int> atoms,
                           std::vector<float> h, std::vector<float> lower, std::vector<float> upper,
                           std::vector<float> weights)
    : num_atoms(num_atoms),
      starts(std::move(starts)),
      atoms(std::move(atoms)),
      h(std::move(h)),
      lower(std::move(lower)),
      upper(std::move(upper)),
      weights(std::move(weights)) {
    const size_t count = this->h.size();
    require(num_atoms >= 1, "there must be at least one atom");
    require(count < (size_t{1} << 31), "there are too many rows");
    require(this->lower.size() == count && this->upper.size() == count &&
                (this->weights.empty() || this->weights.size() == count),
            "h, lower, upper and weights must have one number per row");
    require(this->starts.size() == count + 1 && this->starts.front() == 0 &&
                this->starts.back() == static_cast<int64_t>(this->atoms.size()) &&
                std::is_sorted(this->starts.begin(), this->starts.end()),
            "starts must ascend from 0 to the number of atoms, one number more than there are rows");
    require(std::all_of(this->atoms.begin(), this->atoms.end(),
                        [&](int atom) { return atom >= 0 && atom < num_atoms; }),
            "a row has an atom that does not exist");
    const auto is_infinite = [](float x) { return std::isinf(x); };
    for (const auto* labels : {&this->h, &this->lower, &this->upper, &this->weights})
        require(std::none_of(labels->begin(), labels->end(), is_infinite), "a label is infinite");
    require(std::all_of(this->weights.begin(), this->weights.end(), [](float x) { return x >= 0; }),
            "a weight is negative or not a number");
    for (size_t row = 0; row < count; ++row)
        require(!(this->lower[row] > this->upper[row]), "row ", row,
                " has a lower bound over its upper bound");
}

}  // namespace hstar
