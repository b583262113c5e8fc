#include "pdb/pdb.hpp"

#include <algorithm>
#include <stdexcept>

#include "bindings/puzzles.hpp"
#include "pdb/build.hpp"
#include "pdb/projection.hpp"
#include "pdb/symmetry.hpp"

namespace hstar::bindings {

void BoundIndex::check_states(const StateRows& states) const {
    if (nb::isinstance<BoundTask>(owner)) {
        nb::cast<const BoundTask&>(owner).check_states(states);
        return;
    }
    const Puzzle& puzzle = *nb::cast<const BoundPuzzle&>(owner).puzzle;
    if (states.columns != puzzle.goal.size())
        throw std::invalid_argument("states of " + puzzle.name + " have " +
                                    std::to_string(puzzle.goal.size()) + " columns");
    for (size_t i = 0; i < states.count; ++i) {
        const int* state = states.row(i);
        uint64_t seen = 0;
        for (int v : index->variables()) {
            if (state[v] < 0 || state[v] >= puzzle.domain_size[v])
                throw std::invalid_argument("state " + std::to_string(i) + " has no value " +
                                            std::to_string(state[v]) + " for variable " + std::to_string(v));
            for (const PieceGroup& group : puzzle.groups) {
                if (v < group.first || v >= group.first + group.count) continue;
                uint64_t bit = uint64_t{1} << state[v] / group.orientations;
                if (seen & bit)
                    throw std::invalid_argument("in state " + std::to_string(i) + " two " + group.name +
                                                " are in one place");
                seen |= bit;
            }
        }
    }
}

namespace {

nb::tuple to_python(Table table) {
    int bits = table.bits();
    HugeVector<uint8_t> bytes = table.take_bytes();
    size_t size = bytes.size();
    return nb::make_tuple(to_numpy(std::move(bytes), {size}), bits);
}

std::unique_ptr<BoundIndex> piece_index(nb::object owner, Ints variables, const std::string& order,
                                        bool symmetric) {
    const Puzzle& puzzle = *nb::cast<const BoundPuzzle&>(owner).puzzle;
    if (variables.empty()) throw std::invalid_argument("a pattern has at least one piece");
    const PieceGroup* group = nullptr;
    for (const PieceGroup& g : puzzle.groups)
        if (variables[0] >= g.first && variables[0] < g.first + g.count) group = &g;
    for (size_t i = 0; i < variables.size(); ++i) {
        if (!group || variables[i] < group->first || variables[i] >= group->first + group->count)
            throw std::invalid_argument("a pattern holds pieces of one sort only");
        if (std::count(variables.begin(), variables.end(), variables[i]) > 1)
            throw std::invalid_argument("piece " + std::to_string(variables[i]) + " is in the pattern twice");
    }
    auto made = std::make_unique<BoundIndex>();
    made->owner = owner;
    if (symmetric) {
        Ints corners;
        for (int i = 0; i < 8; ++i) corners.push_back(i);
        if (puzzle.name != "cube3" || variables != corners)
            throw std::invalid_argument("symmetry classes exist for all corners of cube3 only");
        made->index = std::make_shared<CornerSymmetryIndex>(*group);
    } else {
        made->index = std::make_shared<PieceIndex>(
            *group, variables, order == "lex" ? IndexOrder::Lexicographic : IndexOrder::MyrvoldRuskey);
    }
    return made;
}

std::unique_ptr<BoundIndex> projection_index(nb::object owner, Ints variables) {
    auto made = std::make_unique<BoundIndex>();
    made->owner = owner;
    made->index =
        std::make_shared<ProjectionIndex>(nb::cast<const BoundTask&>(owner).task, std::move(variables));
    return made;
}

nb::object rank(const BoundIndex& self, States given) {
    const StateRows states(given);
    self.check_states(states);
    return rank_rows(*self.index, states);
}

nb::object unrank(const BoundIndex& self, Indices ranks) {
    const auto& variables = self.index->variables();
    size_t columns = variables.size(), count = ranks.shape(0);
    Ints state(1 + (variables.empty() ? 0 : *std::max_element(variables.begin(), variables.end())));
    Ints values(count * columns);
    for (size_t i = 0; i < count; ++i) {
        const volatile int64_t* given = ranks.data() + i;  // read once: another thread may change it
        const int64_t rank = *given;
        if (rank < 0 || static_cast<uint64_t>(rank) >= self.index->size())
            throw std::invalid_argument("the pattern has no index " + std::to_string(rank));
        self.index->unrank(static_cast<uint64_t>(rank), state.data());
        for (size_t v = 0; v < columns; ++v) values[i * columns + v] = state[variables[v]];
    }
    return to_numpy(std::move(values), {count, columns});
}

constexpr uint64_t kMostStates = uint64_t{1} << 34;  // a table of them would still fit in memory somewhere

nb::tuple build(const BoundIndex& self, bool additive, const std::string& cost, double deadline,
                uint64_t memory_bytes) {
    Limits limits = make_limits(deadline, memory_bytes);
    if (nb::isinstance<BoundTask>(self.owner)) {
        const Task& task = nb::cast<const BoundTask&>(self.owner).task;
        auto costs = adjusted_costs(task, to_cost_type(cost));
        auto* index = dynamic_cast<const ProjectionIndex*>(self.index.get());
        return to_python(guarded([&] { return build_projection(task, *index, costs, limits); }));
    }
    const Puzzle& puzzle = *nb::cast<const BoundPuzzle&>(self.owner).puzzle;
    auto* index = dynamic_cast<const PieceIndex*>(self.index.get());
    if (self.index->size() > kMostStates) throw std::invalid_argument("the pattern has too many states");
    if (!index || index->order != IndexOrder::MyrvoldRuskey)
        throw std::invalid_argument("databases are built in Myrvold-Ruskey order and compressed afterwards");
    return to_python(guarded([&] {
        if (auto* tiles = dynamic_cast<const SlidingTiles*>(&puzzle))
            return build_tiles(*tiles, *index, additive, limits);
        return build_pieces(dynamic_cast<const PiecePuzzle&>(puzzle), *index, limits);
    }));
}

Grouping make_grouping(const std::string& kind, uint64_t number) {
    if (kind == "none") return {};
    if (kind == "div") return {Grouping::Kind::Divide, number};
    if (kind == "mod") return {Grouping::Kind::Modulo, number};
    throw std::invalid_argument("unknown grouping '" + kind + "'");
}

TableView make_view(const Bytes& bytes, uint64_t cells, int bits, const Ints& levels) {
    if (bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 32)
        throw std::invalid_argument("entries have 2, 4, 8, 16 or 32 bits");
    if (bytes.size() != TableView::num_bytes(cells, bits))
        throw std::invalid_argument("the table has " + std::to_string(bytes.size()) + " bytes instead of " +
                                    std::to_string(TableView::num_bytes(cells, bits)));
    TableView view{bytes.data(), cells, bits, {0, 0, 0, 0}};
    if (bits == 2) {
        if (levels.size() != 4) throw std::invalid_argument("a table of 2 bits has four levels");
        std::copy(levels.begin(), levels.end(), view.levels);
    }
    return view;
}

void make_pdb(BoundPdb* self, const BoundIndex& index, const std::string& kind, uint64_t number, Bytes bytes,
              int bits, const Ints& levels, nb::object base) {
    Grouping grouping = make_grouping(kind, number);
    if (number == 0) throw std::invalid_argument("groups have at least one member");
    TableView view = make_view(bytes, grouping.num_cells(index.index->size()), bits, levels);
    std::shared_ptr<const Pdb> rest;
    if (!base.is_none()) rest = nb::cast<const BoundPdb&>(base).pdb;
    // The array is a Python object, and the last to use it may be a search without the GIL.
    std::shared_ptr<const void> memory(new Bytes(bytes), [](const void* array) {
        nb::gil_scoped_acquire acquire;
        delete static_cast<const Bytes*>(array);
    });
    new (self) BoundPdb{index, std::make_shared<Pdb>(index.index, grouping, view, memory, rest)};
}

std::vector<PdbEvaluator::Sum> to_sums(const nb::list& sums) {
    std::vector<PdbEvaluator::Sum> result;
    for (nb::handle sum : sums) {
        result.emplace_back();
        for (nb::handle pdb : nb::cast<nb::list>(sum))
            if (nb::isinstance<BoundLearnedPdb>(pdb))
                result.back().push_back(nb::cast<const BoundLearnedPdb&>(pdb).learned);
            else
                result.back().push_back(nb::cast<const BoundPdb&>(pdb).pdb);
    }
    return result;
}

}  // namespace

nb::object look_up(const BoundIndex& index, const PatternHeuristic& heuristic, States given) {
    const StateRows states(given);
    index.check_states(states);
    std::vector<uint32_t> values(states.count);
    std::vector<float> h(values.size());
    {
        nb::gil_scoped_release release;
        const StateBatch batch = states.batch();
        heuristic.lookup(batch.values, batch.count, batch.num_variables, values.data());
        for (size_t i = 0; i < values.size(); ++i)
            h[i] = values[i] == kUnreached ? kDeadEnd : to_float_below(values[i]);
    }
    return to_numpy(std::move(h), {states.count});
}

std::unique_ptr<BoundHeuristic> make_pdb_heuristic(nb::object space, const nb::list& sums) {
    return std::make_unique<BoundHeuristic>(space, std::make_unique<PdbEvaluator>(to_sums(sums)));
}

void bind_pdb(nb::module_& m) {
    nb::class_<BoundIndex>(m, "PatternIndex")
        .def_static("pieces", &piece_index, nb::arg("puzzle"), nb::arg("variables"), nb::arg("order"),
                    nb::arg("symmetric"))
        .def_static("projection", &projection_index, nb::arg("task"), nb::arg("variables"))
        .def_prop_ro("size", [](const BoundIndex& b) { return b.index->size(); })
        .def_prop_ro("variables", [](const BoundIndex& b) { return b.index->variables(); })
        .def_prop_ro("multiplicities", [](const BoundIndex& b) { return b.index->multiplicities(); })
        .def("rank", &rank)
        .def("unrank", &unrank)
        .def("build", &build, nb::arg("additive"), nb::arg("cost"), nb::arg("deadline"),
             nb::arg("memory_bytes"));
    nb::class_<BoundPdb>(m, "Pdb")
        .def("__init__", &make_pdb, nb::arg("index"), nb::arg("grouping"), nb::arg("number"),
             nb::arg("table"), nb::arg("bits"), nb::arg("levels"), nb::arg("base").none())
        .def("lookup", [](const BoundPdb& b, States states) { return look_up(b.index, *b.pdb, states); })
        .def("regrouped",
             [](const BoundPdb& b, const BoundIndex& to, const std::string& kind, uint64_t number,
                double deadline, uint64_t memory_bytes) {
                 Grouping grouping = make_grouping(kind, std::max<uint64_t>(number, 1));
                 Limits limits = make_limits(deadline, memory_bytes);
                 return to_python(guarded([&] { return regrouped(*b.pdb, *to.index, grouping, limits); }));
             })
        .def("subtracted",
             [](const BoundPdb& b, const BoundPdb& base, double deadline, uint64_t memory_bytes) {
                 Limits limits = make_limits(deadline, memory_bytes);
                 return to_python(guarded([&] { return subtracted(*b.pdb, *base.pdb, limits); }));
             })
        .def("quantized", [](const BoundPdb& b, const Ints& levels, double deadline, uint64_t memory_bytes) {
            if (levels.size() != 4) throw std::invalid_argument("a table of 2 bits has four levels");
            uint8_t narrow[4];
            std::copy(levels.begin(), levels.end(), narrow);
            Limits limits = make_limits(deadline, memory_bytes);
            return to_python(guarded([&] { return quantized(b.pdb->table(), narrow, limits); }));
        });
    m.def("table_histogram", [](Bytes bytes, uint64_t cells, int bits, const Ints& levels,
                                const std::vector<uint32_t>& weights) {
        TableView view = make_view(bytes, cells, bits, levels);
        return guarded([&] { return histogram(view, weights, {}); });
    });
    m.def("task_fingerprint", [](const BoundTask& b) { return fingerprint(b.task); });
}

}  // namespace hstar::bindings
