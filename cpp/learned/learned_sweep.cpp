#include "learned/learned_sweep.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "runtime/chunks.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

constexpr uint32_t kNoClass = kUnreached;

// The class of each exact value.
std::vector<uint32_t> class_of_value(const LearnedPdb& learned) {
    std::vector<uint32_t> classes(static_cast<size_t>(learned.values().back()) + 1, kNoClass);
    for (size_t c = 0; c < learned.values().size(); ++c)
        classes[learned.values()[c]] = static_cast<uint32_t>(c);
    return classes;
}

// One thread's view of a chunk: the indices that are reached, their exact classes and logits.
struct Chunk {
    std::vector<uint64_t> index;
    std::vector<uint32_t> exact, states;  // the class, and how many states have the index
    std::vector<int> state, digits;
    std::vector<int32_t> logits;
    IntegerNetwork::Workspace work;
    uint64_t num_states = 0, unreached = 0;

    void fill(const LearnedPdb& learned, const Pdb& table, const std::vector<uint32_t>& classes,
              const std::vector<uint32_t>& multiplicities, uint64_t first, uint64_t end) {
        const auto& variables = learned.index().variables();
        state = learned.index().scratch_state();
        index.clear();
        exact.clear();
        states.clear();
        digits.clear();
        num_states = unreached = 0;
        for (uint64_t i = first; i < end; ++i) {
            uint32_t value = table.at(i), stands_for = multiplicities[i % multiplicities.size()];
            if (value == kUnreached) {
                unreached += stands_for;
                continue;
            }
            if (value >= classes.size() || classes[value] == kNoClass)
                refuse("the table has a value that is none of the classes'");
            index.push_back(i);
            exact.push_back(classes[value]);
            states.push_back(stands_for);
            num_states += stands_for;
            learned.index().unrank(i, state.data());
            for (int v : variables) digits.push_back(state[static_cast<size_t>(v)]);
        }
        logits.resize(index.size() * learned.values().size());
        learned.network().forward(digits.data(), static_cast<int>(index.size()), logits.data(), work);
    }
};

constexpr uint64_t kLargestChunk = 1 << 14;  // some milliseconds, so that limits hold within a range

// Calls use(chunk) for all chunks of a range, on several threads.
template <class Use>
void sweep_range(const LearnedPdb& learned, const Pdb& table, const SweepOrder& order, Use use) {
    if (table.index().size() != learned.index().size() ||
        table.index().variables() != learned.index().variables() ||
        table.grouping().kind != Grouping::Kind::None)
        refuse("the exact table is one of another pattern, or compressed");
    if (order.threads < 1 || order.chunk < 1 || order.first > order.end || order.end > learned.index().size())
        refuse("no such range of indices, threads or chunks");
    const std::vector<uint32_t> classes = class_of_value(learned);
    const std::vector<uint32_t> multiplicities = learned.index().multiplicities();
    const uint64_t size = std::min(static_cast<uint64_t>(order.chunk), kLargestChunk);
    const uint64_t chunks = (order.end - order.first + size - 1) / size;
    for_each_chunk(
        chunks, order.threads, [](int) { return std::make_unique<Chunk>(); },
        [&](Chunk& chunk, uint64_t number) {
            order.limits.check();
            const uint64_t first = order.first + number * size;
            chunk.fill(learned, table, classes, multiplicities, first, std::min(order.end, first + size));
            use(chunk);
        });
}

// The sum of the counts of all chunks: of the arrays `fields`, and of the states. count(counts, chunk) adds
// what a chunk holds to a copy of `none`, which is all zeros.
template <class Counts, class Count>
Counts sum_over_chunks(const LearnedPdb& learned, const Pdb& exact, const SweepOrder& order,
                       const Counts& none, std::initializer_list<std::vector<uint64_t> Counts::*> fields,
                       Count count) {
    Counts total = none;
    std::mutex mutex;
    sweep_range(learned, exact, order, [&](const Chunk& chunk) {
        Counts counts = none;
        count(counts, chunk);
        std::lock_guard lock(mutex);
        for (auto field : fields)
            std::ranges::transform(total.*field, counts.*field, (total.*field).begin(), std::plus());
        total.states += chunk.num_states;
        total.unreached += chunk.unreached;
    });
    return total;
}

}  // namespace

LevelCounts count_levels(const LearnedPdb& learned, const Pdb& exact, const SweepOrder& order,
                         const std::vector<uint64_t>& grid) {
    const size_t levels = learned.values().size() - 1, cells = grid.size() + 1;
    const std::vector<uint64_t> none(levels * cells);
    auto count = [&](LevelCounts& counts, const Chunk& chunk) {
        std::vector<uint64_t> risk(levels);
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            learned.decoder().risks(chunk.logits.data() + i * (levels + 1), risk.data());
            auto at = grid.begin();  // risks ascend, so cells do
            for (size_t k = 1; k <= levels; ++k) {
                at = std::lower_bound(at, grid.end(), risk[k - 1]);
                size_t cell = (k - 1) * cells + static_cast<size_t>(at - grid.begin());
                if (k <= chunk.exact[i])
                    counts.within[cell] += chunk.states[i];
                else
                    ++(k == chunk.exact[i] + 1 ? counts.just : counts.below)[cell];
            }
        }
    };
    return sum_over_chunks(learned, exact, order, LevelCounts{none, none, none},
                           {&LevelCounts::below, &LevelCounts::just, &LevelCounts::within}, count);
}

std::vector<std::vector<uint64_t>> find_overestimates(const LearnedPdb& learned, const Pdb& exact,
                                                      const SweepOrder& order) {
    const size_t classes = learned.values().size();
    std::mutex mutex;
    std::vector<std::vector<uint64_t>> lists(classes);
    sweep_range(learned, exact, order, [&](const Chunk& chunk) {
        std::vector<std::vector<uint64_t>> found(classes);
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            int result = learned.class_of(chunk.logits.data() + i * classes, chunk.index[i]);
            for (int j = 0; j < result - static_cast<int>(chunk.exact[i]); ++j)
                found[static_cast<size_t>(j)].push_back(chunk.index[i]);
        }
        std::lock_guard lock(mutex);
        for (size_t j = 0; j < classes; ++j)
            lists[j].insert(lists[j].end(), found[j].begin(), found[j].end());
    });
    while (!lists.empty() && lists.back().empty()) lists.pop_back();
    for (auto& list : lists) std::sort(list.begin(), list.end());
    return lists;
}

SweepCounts count_values(const LearnedPdb& learned, const Pdb& exact, const SweepOrder& order) {
    const size_t classes = learned.values().size();
    auto count = [&](SweepCounts& counts, const Chunk& chunk) {
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            const auto result =
                static_cast<size_t>(learned.class_of(chunk.logits.data() + i * classes, chunk.index[i]));
            counts.classes[result] += chunk.states[i];
            if (result > chunk.exact[i])
                counts.overestimates[chunk.exact[i] * classes + result] += chunk.states[i];
        }
    };
    const SweepCounts none{std::vector<uint64_t>(classes), std::vector<uint64_t>(classes * classes)};
    return sum_over_chunks(learned, exact, order, none, {&SweepCounts::classes, &SweepCounts::overestimates},
                           count);
}

}  // namespace hstar
