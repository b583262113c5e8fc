#include "pdb/pdb.hpp"

#include <algorithm>
#include <array>

#include "bindings/puzzles.hpp"
#include "pdb/build.hpp"
#include "pdb/projection.hpp"
#include "pdb/symmetry.hpp"

namespace hstar::bindings {

StateRows BoundIndex::checked(const States& given) const {
    const Puzzle* puzzle = space.as_puzzle();
    if (!puzzle) return space.checked(given);
    StateRows states(given);
    space.check_columns(states);
    const PieceGroup& group = puzzle->group_of(index->variables()[0]);  // patterns have pieces of one group
    for (size_t i = 0; i < states.count; ++i) {
        uint64_t seen = 0;
        for (int v : index->variables()) {
            space.check_value(states, i, v);
            const uint64_t bit = uint64_t{1} << states.row(i)[v] / group.orientations;
            if (seen & bit) refuse("in state ", i, " two ", group.name, " are in one place");
            seen |= bit;
        }
    }
    return states;
}

namespace {

std::pair<Numpy<uint8_t>, int> to_python(Table table) {
    const int bits = table.bits();
    return {to_numpy(table.take_bytes()), bits};
}

std::shared_ptr<const PatternIndex> make_index(const BoundSpace& space, const Ints& variables,
                                               IndexOrder order, bool symmetric) {
    if (auto* bound = dynamic_cast<const BoundTask*>(&space)) {
        require(order == IndexOrder::MyrvoldRuskey && !symmetric,
                "databases of planning tasks have neither another order nor symmetry");
        return std::make_shared<ProjectionIndex>(bound->task, variables);
    }
    const Puzzle& puzzle = *space.as_puzzle();
    require(!variables.empty(), "a pattern has at least one piece");
    auto is_piece = [&](int v) { return v >= 0 && v < puzzle.num_variables(); };
    require(is_piece(variables[0]), "a pattern holds pieces of one sort only");
    const PieceGroup& group = puzzle.group_of(variables[0]);
    for (int v : variables) {
        require(is_piece(v) && &puzzle.group_of(v) == &group, "a pattern holds pieces of one sort only");
        require(std::ranges::count(variables, v) == 1, "piece ", v, " is in the pattern twice");
    }
    if (!symmetric) return std::make_shared<PieceIndex>(group, variables, order);
    require(puzzle.name == "cube3" && variables == Ints{0, 1, 2, 3, 4, 5, 6, 7},
            "symmetry classes exist for all corners of cube3 only");
    return std::make_shared<CornerSymmetryIndex>(group);
}

void make_bound_index(BoundIndex* self, const BoundSpace& space, const Ints& variables,
                      const std::string& name, bool symmetric) {
    const auto order = chosen<IndexOrder>(
        "order", name, {{"mr", IndexOrder::MyrvoldRuskey}, {"lex", IndexOrder::Lexicographic}});
    new (self) BoundIndex{space, make_index(space, variables, order, symmetric)};
}

Numpy<int64_t> rank(const BoundIndex& self, States given) {
    return rank_rows(*self.index, self.checked(given));
}

Numpy<int, 2> unrank(const BoundIndex& self, Indices ranks) {
    const auto& variables = self.index->variables();
    const std::vector<int64_t> given = copied(ranks);
    size_t columns = variables.size(), count = given.size();
    Ints state = self.index->scratch_state();
    Ints values(count * columns);
    for (size_t i = 0; i < count; ++i) {
        const auto rank = static_cast<uint64_t>(given[i]);
        if (rank >= self.index->size()) refuse("the pattern has no index ", given[i]);
        self.index->unrank(rank, state.data());
        for (size_t v = 0; v < columns; ++v) values[i * columns + v] = state[variables[v]];
    }
    return to_numpy(std::move(values), {count, columns});
}

constexpr uint64_t kMostStates = uint64_t{1} << 34;  // a table of them would still fit in memory somewhere

auto build(const Limits& limits, const BoundIndex& self, bool additive, const std::string& cost) {
    if (auto* bound = dynamic_cast<const BoundTask*>(&self.space)) {
        const Task& task = bound->task;
        auto costs = adjusted_costs(task, to_cost_type(cost));
        auto* index = dynamic_cast<const ProjectionIndex*>(self.index.get());
        return to_python(guarded([&] { return build_projection(task, *index, costs, limits); }));
    }
    const Puzzle& puzzle = *self.space.as_puzzle();
    auto* index = dynamic_cast<const PieceIndex*>(self.index.get());
    require(self.index->size() <= kMostStates, "the pattern has too many states");
    require(index && index->order == IndexOrder::MyrvoldRuskey,
            "databases are built in Myrvold-Ruskey order and compressed afterwards");
    return to_python(guarded([&] {
        if (auto* tiles = dynamic_cast<const SlidingTiles*>(&puzzle))
            return build_tiles(*tiles, *index, additive, limits);
        return build_pieces(dynamic_cast<const PiecePuzzle&>(puzzle), *index, limits);
    }));
}

Grouping make_grouping(const std::string& kind, uint64_t number) {
    using Kind = Grouping::Kind;
    require(number > 0, "groups have at least one member");
    return {
        chosen<Kind>("grouping", kind, {{"none", Kind::None}, {"div", Kind::Divide}, {"mod", Kind::Modulo}}),
        number};
}

std::array<uint8_t, 4> to_levels(const Ints& levels) {
    require(levels.size() == 4, "a table of 2 bits has four levels");
    std::array<uint8_t, 4> result;
    std::copy(levels.begin(), levels.end(), result.begin());
    return result;
}

TableView make_view(const Bytes& bytes, uint64_t cells, int bits, const Ints& levels) {
    check_bits(bits);
    if (bytes.size() != TableView::num_bytes(cells, bits))
        refuse("the table has ", bytes.size(), " bytes instead of ", TableView::num_bytes(cells, bits));
    TableView view{bytes.data(), cells, bits, {}};
    if (bits == 2) view.levels = to_levels(levels);
    return view;
}

void make_pdb(BoundPdb* self, const BoundIndex& index, const std::string& kind, uint64_t number, Bytes bytes,
              int bits, const Ints& levels, const BoundPdb* base) {
    Grouping grouping = make_grouping(kind, number);
    TableView view = make_view(bytes, grouping.num_cells(index.index->size()), bits, levels);
    // The array is a Python object, and the last to use it may be a search without the GIL.
    std::shared_ptr<const void> memory(new Bytes(bytes), [](const void* array) {
        nb::gil_scoped_acquire acquire;
        delete static_cast<const Bytes*>(array);
    });
    new (self) BoundPdb{index, std::make_shared<Pdb>(index.index, grouping, view, memory, pdb_of(base))};
}

}  // namespace

Numpy<float> look_up(const BoundIndex& index, const PatternHeuristic& heuristic, States given) {
    const StateRows states = index.checked(given);
    std::vector<uint32_t> values(states.count);
    std::vector<float> h(values.size());
    without_gil([&] {
        heuristic.lookup(states.batch(), values.data());
        for (size_t i = 0; i < values.size(); ++i)
            h[i] = values[i] == kUnreached ? kDeadEnd : to_float_below(values[i]);
    });
    return to_numpy(std::move(h));
}

std::unique_ptr<BoundHeuristic> make_pdb_heuristic(const BoundSpace& space, const Sums& sums) {
    std::vector<PdbEvaluator::Sum> parts;
    for (nb::handle sum : sums) {
        parts.emplace_back();
        for (nb::handle pdb : nb::cast<nb::list>(sum))
            if (nb::isinstance<BoundLearnedPdb>(pdb))
                parts.back().push_back(nb::cast<const BoundLearnedPdb&>(pdb).learned);
            else
                parts.back().push_back(nb::cast<const BoundPdb&>(pdb).pdb);
    }
    return std::make_unique<BoundHeuristic>(space, std::make_unique<PdbEvaluator>(std::move(parts)));
}

void bind_pdb(nb::module_& m) {
    nb::class_<BoundIndex>(m, "PatternIndex")
        .def("__init__", &make_bound_index, KeepFirst())
        .def_prop_ro("size", [](const BoundIndex& b) { return b.index->size(); })
        .def_prop_ro("multiplicities", [](const BoundIndex& b) { return b.index->multiplicities(); })
        .def("rank", &rank)
        .def("unrank", &unrank)
        .def("build", limited(&build));
    nb::class_<BoundPdb>(m, "Pdb")
        .def("__init__", &make_pdb, KeepFirst(), "index"_a, "grouping"_a, "number"_a, "table"_a, "bits"_a,
             "levels"_a, "base"_a.none())
        .def("lookup", [](const BoundPdb& b, States states) { return look_up(b.index, *b.pdb, states); })
        .def("regrouped", limited(+[](const Limits& limits, const BoundPdb& b, const BoundIndex& to,
                                      const std::string& kind, uint64_t number) {
                 const Grouping grouping = make_grouping(kind, number);
                 return to_python(guarded([&] { return regrouped(*b.pdb, *to.index, grouping, limits); }));
             }))
        .def("subtracted", limited(+[](const Limits& limits, const BoundPdb& b, const BoundPdb& base) {
                 return to_python(guarded([&] { return subtracted(*b.pdb, *base.pdb, limits); }));
             }))
        .def("quantized", limited(+[](const Limits& limits, const BoundPdb& b, const Ints& levels) {
                 const auto narrow = to_levels(levels);
                 return to_python(guarded([&] { return quantized(b.pdb->table(), narrow, limits); }));
             }));
    m.def("table_histogram", [](Bytes bytes, uint64_t cells, int bits, const Ints& levels,
                                const std::vector<uint32_t>& weights) {
        TableView view = make_view(bytes, cells, bits, levels);
        return guarded([&] { return histogram(view, weights, {}); });
    });
    m.def("task_fingerprint", [](const BoundTask& b) { return fingerprint(b.task); });
}

}  // namespace hstar::bindings
