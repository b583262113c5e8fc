// Making databases smaller: regrouping, subtracting, rounding down.
#include <algorithm>
#include <stdexcept>

#include "pdb/build.hpp"
#include "pdb/pdb.hpp"
#include "pdb/symmetry.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

bool contains(const PatternIndex& whole, const PatternIndex& part) {
    const auto& all = whole.variables();
    return std::ranges::all_of(part.variables(), [&](int v) { return std::ranges::count(all, v) > 0; });
}

// Calls use(index, index in `to`) for every index of `from`.
template <class Use>
void for_each_pair(const PatternIndex& from, const PatternIndex& to, const Limits& limits, Use use) {
    auto* pieces_from = dynamic_cast<const PieceIndex*>(&from);
    auto* pieces_to = dynamic_cast<const PieceIndex*>(&to);
    auto* classes_to = dynamic_cast<const CornerSymmetryIndex*>(&to);
    std::vector<int> state = from.scratch_state();
    if (pieces_from && pieces_to) {
        // Locations and orientations are mapped separately, so two small tables serve all indices.
        std::vector<uint32_t> permutations, orientations;
        for (uint64_t p = 0; p < pieces_from->permutations.size(); ++p) {
            pieces_from->unrank_parts(p, 0, state.data());
            permutations.push_back(static_cast<uint32_t>(pieces_to->rank_permutation(state.data())));
        }
        for (uint64_t o = 0; o < pieces_from->num_orientations; ++o) {
            pieces_from->unrank_parts(0, o, state.data());
            orientations.push_back(static_cast<uint32_t>(pieces_to->rank_orientation(state.data())));
        }
        uint64_t i = 0;
        for (uint64_t orientation : orientations)
            for (uint64_t permutation : permutations) {
                if (i % 65536 == 0) limits.check();
                use(i++, orientation * pieces_to->permutations.size() + permutation);
            }
    } else if (classes_to && pieces_from && pieces_from->order == IndexOrder::MyrvoldRuskey) {
        std::vector<uint64_t> ranks;
        uint64_t permutations = pieces_from->permutations.size();
        for (uint64_t p = 0; p < permutations; ++p) {
            if (p % 64 == 0) limits.check();
            classes_to->rank_all(p, ranks);
            for (uint64_t o = 0; o < ranks.size(); ++o) use(o * permutations + p, ranks[o]);
        }
    } else {
        for (uint64_t i = 0; i < from.size(); ++i) {
            if (i % 65536 == 0) limits.check();
            from.unrank(i, state.data());
            use(i, to.rank(state.data()));
        }
    }
}

}  // namespace

Table regrouped(const Pdb& source, const PatternIndex& to, const Grouping& grouping, const Limits& limits) {
    const PatternIndex& from = source.index();
    if (!contains(from, to) || !contains(to, from)) refuse("compression must not change the pattern");
    if (source.grouping().kind != Grouping::Kind::None)
        refuse("the database is grouped already; compress the original");
    Table table(grouping.num_cells(to.size()), source.table().bits == 2 ? 8 : source.table().bits);
    TableView view = table.view();
    auto lower = [&](uint64_t i, uint64_t j) {
        uint64_t cell = grouping.cell(j);
        uint32_t value = source.at(i);
        if (value < view.get(cell)) table.set(cell, value);
    };
    for_each_pair(from, to, limits, lower);
    return table;
}

Table subtracted(const Pdb& source, const Pdb& base, const Limits& limits) {
    if (source.base() || base.base()) refuse("the database is a difference already");
    if (!contains(source.index(), base.index())) refuse("the base must use only pieces of the pattern");
    Table table(source.index().size(), source.table().bits == 2 ? 8 : source.table().bits);
    bool is_smaller = true;
    for_each_pair(source.index(), base.index(), limits, [&](uint64_t i, uint64_t j) {
        uint32_t value = source.at(i), less = base.at(j);
        if (value == kUnreached) return;
        is_smaller &= less <= value;
        table.set(i, less <= value ? value - less : 0);
    });
    if (!is_smaller) refuse("the base exceeds the database: it has other moves or costs");
    return table;
}

Table quantized(const TableView& source, const std::array<uint8_t, 4>& levels, const Limits& limits) {
    Table table(source.size, 2);
    for (uint64_t i = 0; i < source.size; ++i) {
        if (i % 65536 == 0) limits.check();
        uint32_t value = source.get(i), chosen = 0;
        for (uint32_t level = 1; level < 4; ++level)
            if (levels[level] <= value && levels[level] >= levels[level - 1]) chosen = level;
        if (levels[chosen] > value) refuse("the lowest level exceeds a value");
        table.set(i, chosen);
    }
    return table;
}

std::vector<uint64_t> histogram(const TableView& table, const std::vector<uint32_t>& weights,
                                const Limits& limits) {
    if (weights.empty()) refuse("weights of cells are missing");
    std::vector<uint64_t> counts;
    uint64_t unreached = 0;
    size_t at = 0;
    for (uint64_t i = 0; i < table.size; ++i) {
        if (i % 65536 == 0) limits.check();
        uint32_t value = table.get(i), weight = weights[at];
        if (++at == weights.size()) at = 0;
        if (value == kUnreached) {
            unreached += weight;
            continue;
        }
        if (value >= counts.size()) {
            if (value >= uint32_t{1} << 24) throw std::length_error("values too large to be counted");
            counts.resize(value + 1);
        }
        counts[value] += weight;
    }
    counts.push_back(unreached);
    return counts;
}

}  // namespace hstar
