#include "learned/learned_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

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
                throw std::invalid_argument("the table has a value that is none of the classes'");
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

// Calls use(thread, chunk number, chunk) for all chunks of a range.
template <class Use>
void for_each_chunk(const LearnedPdb& learned, const Pdb& table, const SweepRange& range,
                    const Limits& limits, Use use) {
    if (table.index().size() != learned.index().size() ||
        table.index().variables() != learned.index().variables() ||
        table.grouping().kind != Grouping::Kind::None)
        throw std::invalid_argument("the exact table is one of another pattern, or compressed");
    if (range.threads < 1 || range.chunk < 1 || range.first > range.end || range.end > learned.index().size())
        throw std::invalid_argument("no such range of indices, threads or chunks");
    const std::vector<uint32_t> classes = class_of_value(learned);
    const std::vector<uint32_t> multiplicities = learned.index().multiplicities();
    const uint64_t size = static_cast<uint64_t>(range.chunk);
    const uint64_t chunks = (range.end - range.first + size - 1) / size;
    std::atomic<uint64_t> next{0};
    std::exception_ptr error;
    std::mutex mutex;
    auto run = [&](int thread) {
        try {
            Chunk chunk;
            for (uint64_t c = next++; c < chunks; c = next++) {
                if (thread == 0) limits.check();
                uint64_t first = range.first + c * size;
                chunk.fill(learned, table, classes, multiplicities, first, std::min(range.end, first + size));
                use(thread, c, chunk);
            }
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            next = chunks;
        }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < range.threads; ++t) others.emplace_back(run, t);
    run(0);
    for (std::thread& other : others) other.join();
    if (error) std::rethrow_exception(error);
}

void add(std::vector<uint64_t>& to, const std::vector<uint64_t>& from) {
    if (to.empty()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

LevelCounts count_levels(const LearnedPdb& learned, const Pdb& exact, const std::vector<uint64_t>& grid,
                         const SweepRange& range, const Limits& limits) {
    const size_t levels = learned.values().size() - 1, cells = grid.size() + 1;
    std::vector<LevelCounts> parts(static_cast<size_t>(std::max(range.threads, 1)));
    for (LevelCounts& part : parts)
        part.below = part.just = part.within = std::vector<uint64_t>(levels * cells);
    for_each_chunk(learned, exact, range, limits, [&](int thread, uint64_t, const Chunk& chunk) {
        LevelCounts& counts = parts[static_cast<size_t>(thread)];
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
        counts.states += chunk.num_states;
        counts.unreached += chunk.unreached;
    });
    LevelCounts total;
    for (const LevelCounts& part : parts) {
        add(total.below, part.below);
        add(total.just, part.just);
        add(total.within, part.within);
        total.states += part.states;
        total.unreached += part.unreached;
    }
    return total;
}

std::vector<std::vector<uint64_t>> find_overestimates(const LearnedPdb& learned, const Pdb& exact,
                                                      const SweepRange& range, const Limits& limits) {
    const size_t classes = learned.values().size();
    std::mutex mutex;
    std::vector<std::vector<uint64_t>> lists(classes);
    for_each_chunk(learned, exact, range, limits, [&](int, uint64_t, const Chunk& chunk) {
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
    std::vector<SweepCounts> parts(static_cast<size_t>(std::max(range.threads, 1)));
    for (SweepCounts& part : parts) {
        part.classes.resize(classes);
        part.overestimates.resize(classes * classes);
    }
    for_each_chunk(learned, exact, range, limits, [&](int thread, uint64_t, const Chunk& chunk) {
        SweepCounts& counts = parts[static_cast<size_t>(thread)];
        for (size_t i = 0; i < chunk.index.size(); ++i) {
            int decoded = learned.decode(chunk.logits.data() + i * classes);
            size_t result = static_cast<size_t>(learned.corrected(decoded, chunk.index[i]));
            counts.classes[result] += chunk.states[i];
            if (result > chunk.exact[i])
                counts.overestimates[chunk.exact[i] * classes + result] += chunk.states[i];
        }
        counts.states += chunk.num_states;
        counts.unreached += chunk.unreached;
    });
    SweepCounts total;
    for (const SweepCounts& part : parts) {
        add(total.classes, part.classes);
        add(total.overestimates, part.overestimates);
        total.states += part.states;
        total.unreached += part.unreached;
    }
    return total;
}

}  // namespace hstar
