#include "learned/learned_sweep.hpp"

#include <algorithm>
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
        state.resize(static_cast<size_t>(1 + *std::max_element(variables.begin(), variables.end())));
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

// Calls use(thread, chunk) for all chunks of a range.
template <class Use>
void sweep_range(const LearnedPdb& learned, const Pdb& table, const SweepRange& range, const Limits& limits,
                 Use use) {
    if (table.index().size() != learned.index().size() ||
        table.index().variables() != learned.index().variables() ||
        table.grouping().kind != Grouping::Kind::None)
        refuse("the exact table is one of another pattern, or compressed");
    if (range.threads < 1 || range.chunk < 1 || range.first > range.end || range.end > learned.index().size())
        refuse("no such range of indices, threads or chunks");
    const std::vector<uint32_t> classes = class_of_value(learned);
    const std::vector<uint32_t> multiplicities = learned.index().multiplicities();
    const uint64_t size = std::min(static_cast<uint64_t>(range.chunk), kLargestChunk);
    const uint64_t chunks = (range.end - range.first + size - 1) / size;
    for_each_chunk(
        chunks, range.threads,
        [](int thread) { return std::make_unique<std::pair<int, Chunk>>(thread, Chunk()); },
        [&](std::pair<int, Chunk>& mine, uint64_t number) {
            limits.check();
            uint64_t first = range.first + number * size;
            mine.second.fill(learned, table, classes, multiplicities, first,
                             std::min(range.end, first + size));
            use(mine.first, mine.second);
        });
}

// Each thread counts on its own, beginning with a copy of `total`, which is all zeros and gets the sums of
// the threads: those of the arrays `fields`, and of the states. count(counts, chunk) adds what a chunk holds.
template <class Counts, class Count>
Counts sum_over_chunks(const LearnedPdb& learned, const Pdb& exact, const SweepRange& range,
                       const Limits& limits, Counts total,
                       std::initializer_list<std::vector<uint64_t> Counts::*> fields, Count count) {
    std::vector<Counts> parts(static_cast<size_t>(std::max(range.threads, 1)), total);
    sweep_range(learned, exact, range, limits, [&](int thread, const Chunk& chunk) {
        Counts& counts = parts[static_cast<size_t>(thread)];
        count(counts, chunk);
        counts.states += chunk.num_states;
        counts.unreached += chunk.unreached;
    });
    for (const Counts& part : parts) {
        for (auto field : fields)
            for (size_t i = 0; i < (part.*field).size(); ++i) (total.*field)[i] += (part.*field)[i];
        total.states += part.states;
        total.unreached += part.unreached;
    }
    return total;
}

}  // namespace

LevelCounts count_levels(const LearnedPdb& learned, const Pdb& exact, const std::vector<uint64_t>& grid,
                         const SweepRange& range, const Limits& limits) {
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
    return sum_over_chunks(learned, exact, range, limits, LevelCounts{none, none, none},
                           {&LevelCounts::below, &LevelCounts::just, &LevelCounts::within}, count);
}

std::vector<std::vector<uint64_t>> find_overestimates(const LearnedPdb& learned, const Pdb& exact,
                                                      const SweepRange& range, const Limits& limits) {
    const size_t classes = learned.values().size();
    std::mutex mutex;
    std::vector<std::vector<uint64_t>> lists(classes);
    sweep_range(learned, exact, range, limits, [&](int, const Chunk& chunk) {
        std::vector<std::vector<uint64_t>> found(classes);
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            int result = learned.corrected(learned.decode(chunk.logits.data() + i * classes), chunk.index[i]);
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

SweepCounts count_values(const LearnedPdb& learned, const Pdb& exact, const SweepRange& range,
                         const Limits& limits) {
    const size_t classes = learned.values().size();
    auto count = [&](SweepCounts& counts, const Chunk& chunk) {
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            int decoded = learned.decode(chunk.logits.data() + i * classes);
            size_t result = static_cast<size_t>(learned.corrected(decoded, chunk.index[i]));
            counts.classes[result] += chunk.states[i];
            if (result > chunk.exact[i])
                counts.overestimates[chunk.exact[i] * classes + result] += chunk.states[i];
        }
    };
    const SweepCounts none{std::vector<uint64_t>(classes), std::vector<uint64_t>(classes * classes)};
    return sum_over_chunks(learned, exact, range, limits, none,
                           {&SweepCounts::classes, &SweepCounts::overestimates}, count);
}

}  // namespace hstar
