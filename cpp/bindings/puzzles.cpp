#include "bindings/puzzles.hpp"

#include <algorithm>

#include "spaces/cube_geometry.hpp"
#include "spaces/puzzle_space.hpp"

namespace hstar::bindings {

Numpy<int64_t> rank_rows(const PatternIndex& index, const StateRows& states) {
    std::vector<int64_t> ranks(states.count);
    for (size_t i = 0; i < states.count; ++i) ranks[i] = static_cast<int64_t>(index.rank(states.row(i)));
    return to_numpy(std::move(ranks));
}

namespace {

class BlindPuzzle : public Evaluator {
  public:
    explicit BlindPuzzle(const Puzzle& puzzle) : goal_(puzzle.goal) {}
    bool is_trivial() const override { return true; }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        for (int i = 0; i < batch.count; ++i)
            h[i] = std::equal(goal_.begin(), goal_.end(), batch.row(i)) ? 0 : 1;
    }

  private:
    const std::vector<int>& goal_;
};

const PatternIndex& whole_index(const BoundPuzzle& bound) {
    if (!bound.puzzle->index())
        refuse("the states of ", bound.puzzle->name,
               " cannot be numbered in 64 bits; number a pattern instead");
    return *bound.puzzle->index();
}

Numpy<int64_t> rank(const BoundPuzzle& bound, States given) {
    return rank_rows(whole_index(bound), bound.checked(given));
}

Numpy<int, 2> unrank(const BoundPuzzle& bound, Indices ranks) {
    const PatternIndex& index = whole_index(bound);
    size_t variables = bound.puzzle->num_variables();
    Ints states;
    for (int64_t rank : copied(ranks)) {
        if (static_cast<uint64_t>(rank) >= index.size()) refuse("there is no state ", rank);
        Ints state = bound.puzzle->unrank(static_cast<uint64_t>(rank));
        states.insert(states.end(), state.begin(), state.end());
    }
    return to_numpy(std::move(states), {ranks.shape(0), variables});
}

}  // namespace

std::unique_ptr<Evaluator> BoundPuzzle::make_evaluator(const std::string& name, CostType,
                                                       const Limits&) const {
    if (name == "blind") return std::make_unique<BlindPuzzle>(*puzzle);
    refuse("puzzles have no heuristic '", name, "'");
}

std::unique_ptr<StateSpace> BoundPuzzle::make_space(Ints initial_state, const Limits&) const {
    return std::make_unique<PuzzleSpace>(*puzzle, std::move(initial_state));
}

void bind_puzzles(nb::module_& m) {
    nb::class_<BoundPuzzle, BoundSpace>(m, "Puzzle")
        .def(nb::init<const std::string&>())
        .def_prop_ro("name", [](const BoundPuzzle& b) { return b.puzzle->name; })
        .def_prop_ro("goal", [](const BoundPuzzle& b) { return b.puzzle->goal; })
        .def_prop_ro("move_names", [](const BoundPuzzle& b) { return b.puzzle->move_names; })
        .def_prop_ro("inverse_moves", [](const BoundPuzzle& b) { return b.puzzle->inverse; })
        .def_prop_ro("groups",
                     [](const BoundPuzzle& b) {
                         std::vector<std::tuple<std::string, int, int, int, int>> groups;
                         for (const PieceGroup& g : b.puzzle->groups)
                             groups.emplace_back(g.name, g.first, g.count, g.locations, g.orientations);
                         return groups;
                     })
        .def_prop_ro("num_states",
                     [](const BoundPuzzle& b) -> std::optional<uint64_t> {
                         if (!b.puzzle->index()) return std::nullopt;
                         return b.puzzle->index()->size();
                     })
        .def("check", [](const BoundPuzzle& b, States states) { b.checked(states); })
        .def("rank", &rank)
        .def("unrank", &unrank)
        .def("random_moves", [](const BoundPuzzle& b, int count, uint64_t seed) {
            return b.puzzle->random_moves(count, seed);
        });
    m.def("cube_place_names", [] { return std::pair(cube::kCornerNames, cube::kEdgeNames); });
}

}  // namespace hstar::bindings
