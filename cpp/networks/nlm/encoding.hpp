// How the states of one task become inputs of a Neural Logic Machine.
#pragma once
#include <vector>

#include "networks/nlm/batch.hpp"
#include "networks/nlm/entry.hpp"
#include "runtime/require.hpp"

namespace hstar {

struct NlmEncoding {
    int num_objects = 0;
    std::vector<NlmEntry> base_entries;  // the same in all states
    std::vector<float> base_values;
    std::vector<NlmEntry> fact_entries;  // per fact of the task; arity -1: it adds nothing

    // Throws std::invalid_argument unless it fits the network and a task with so many facts.
    void check(const NlmShape& shape, int num_facts) const {
        require(base_entries.size() == base_values.size(), "there must be one base value per base entry");
        require(fact_entries.size() == static_cast<size_t>(num_facts),
                "there must be one entry per fact of the task (", num_facts, ")");
        check_entries(shape, num_objects, base_entries, base_values);
        for (const NlmEntry& entry : fact_entries) {
            if (entry.arity == -1 && entry.index == -1) continue;
            const float one = 1.0f;
            check_entries(shape, num_objects, {&entry, 1}, {&one, 1});
        }
    }
};

}  // namespace hstar
