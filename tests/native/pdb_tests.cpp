// Puzzles and pattern databases: numbering, tables of moves, builders and searches against plain versions.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>

#include "pdb/build.hpp"
#include "pdb/pdb.hpp"
#include "pdb/piece_moves.hpp"
#include "pdb/piece_walker.hpp"
#include "pdb/projection.hpp"
#include "pdb/symmetry.hpp"
#include "search/search.hpp"
#include "spaces/puzzle_space.hpp"
#include "task/successors.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

std::vector<int> some_pieces(const PieceGroup& group, int count, std::mt19937& random) {
    std::vector<int> pieces(group.count);
    std::iota(pieces.begin(), pieces.end(), group.first);
    std::shuffle(pieces.begin(), pieces.end(), random);
    pieces.resize(std::min(count, group.count));
    return pieces;
}

State scrambled(const Puzzle& puzzle, int moves, int seed) {
    State state = puzzle.goal, next = state;
    for (int move : puzzle.random_moves(moves, static_cast<uint64_t>(seed))) {
        puzzle.apply(move, state.data(), next.data());
        state.swap(next);
    }
    return state;
}

void test_permutations(int seed) {
    int n = 1 + seed % 6, k = 1 + seed / 6 % n;
    for (IndexOrder order : {IndexOrder::MyrvoldRuskey, IndexOrder::Lexicographic}) {
        PartialPermutations permutations(n, k, order);
        std::vector<std::vector<int>> all;
        bool same = true;
        for (uint64_t i = 0; i < permutations.size(); ++i) {
            std::vector<int> location(k);
            permutations.unrank(i, location.data());
            same &= permutations.rank(location.data()) == i;
            all.push_back(location);
        }
        check(same, "ranking a permutation gives back its number", seed);
        if (order == IndexOrder::Lexicographic)
            check(std::is_sorted(all.begin(), all.end()), "the lexicographic order is one", seed);
        std::sort(all.begin(), all.end());
        check(std::adjacent_find(all.begin(), all.end()) == all.end(), "no permutation has two numbers",
              seed);
    }
}

void test_move_tables(const PiecePuzzle& puzzle, const PieceIndex& index, int seed) {
    PieceMoves moves(puzzle, index, Limits());
    State state = scrambled(puzzle, 15, seed), next = state;
    bool same = true;
    for (int move = 0; move < puzzle.num_moves(); ++move) {
        puzzle.apply(move, state.data(), next.data());
        uint32_t entry = moves.row(static_cast<uint32_t>(index.rank_permutation(state.data())))[move];
        uint32_t orientation = static_cast<uint32_t>(index.rank_orientation(state.data()));
        same &= moves.permutation(entry) == index.rank_permutation(next.data());
        same &= moves.orientation(orientation, moves.vector(entry)) == index.rank_orientation(next.data());
    }
    check(same, "tables of moves lead where the moves lead", seed);
}

// Distances by breadth-first search over indices; -1 where there is no way.
std::vector<int> plain_distances(const Puzzle& puzzle, const PieceIndex& index) {
    std::vector<int> distance(index.size(), -1);
    std::deque<uint64_t> queue{index.rank(puzzle.goal.data())};
    distance[queue.front()] = 0;
    State state = puzzle.goal, next = state;
    std::vector<int> moves;
    while (!queue.empty()) {
        uint64_t i = queue.front();
        queue.pop_front();
        index.unrank(i, state.data());
        moves.clear();
        puzzle.applicable(state.data(), moves);
        for (int move : moves) {
            puzzle.apply(move, state.data(), next.data());
            uint64_t j = index.rank(next.data());
            if (distance[j] >= 0) continue;
            distance[j] = distance[i] + 1;
            queue.push_back(j);
        }
    }
    return distance;
}

bool equal(const std::vector<int>& plain, const TableView& view) {
    for (uint64_t i = 0; i < view.size; ++i)
        if (view.get(i) != (plain[i] < 0 ? kUnreached : static_cast<uint32_t>(plain[i]))) return false;
    return view.size == plain.size();
}

void test_builders(const PiecePuzzle& puzzle, int pieces, std::mt19937& random, int seed) {
    for (const PieceGroup& group : puzzle.groups) {
        PieceIndex index(group, some_pieces(group, pieces, random), IndexOrder::MyrvoldRuskey);
        test_move_tables(puzzle, index, seed);
        Table table = build_pieces(puzzle, index, Limits());
        check(equal(plain_distances(puzzle, index), table.view()), "a database holds the distances", seed);
    }
}

void test_compression(const PiecePuzzle& puzzle, std::mt19937& random, int seed) {
    const PieceGroup& group = puzzle.groups.back();
    auto pieces = some_pieces(group, 3, random);
    auto index = std::make_shared<PieceIndex>(group, pieces, IndexOrder::MyrvoldRuskey);
    auto sorted = std::make_shared<PieceIndex>(group, pieces, IndexOrder::Lexicographic);
    auto part = std::make_shared<PieceIndex>(group, std::vector<int>{pieces[1]}, IndexOrder::MyrvoldRuskey);
    Table table = build_pieces(puzzle, *index, Limits()), small = build_pieces(puzzle, *part, Limits());
    auto whole = std::make_shared<Pdb>(index, Grouping{}, table.view(), nullptr, nullptr);
    auto base = std::make_shared<Pdb>(part, Grouping{}, small.view(), nullptr, nullptr);
    Table rest = subtracted(*whole, *base, Limits());
    Pdb difference(index, Grouping{}, rest.view(), nullptr, base);
    bool same = true, lower = true;
    for (Grouping grouping :
         {Grouping{}, Grouping{Grouping::Kind::Divide, 5}, Grouping{Grouping::Kind::Modulo, 17}}) {
        Table grouped = regrouped(difference, *sorted, grouping, Limits());
        Pdb compressed(sorted, grouping, grouped.view(), nullptr, base);
        for (int i = 0; i < 50; ++i) {
            State state = scrambled(puzzle, i % 12, seed * 100 + i);
            const auto of = [&](const Pdb& pdb) {
                uint32_t value = 0;
                pdb.lookup({state.data(), 1, puzzle.num_variables()}, &value);
                return value;
            };
            const uint32_t exact = of(*whole), value = of(compressed);
            same &= of(difference) == exact;
            lower &= grouping.kind == Grouping::Kind::None ? value == exact : value <= exact;
        }
    }
    check(same, "a difference and its base add up", seed);
    check(lower, "compressed values never exceed the original", seed);
}

void test_deepening(const Puzzle& puzzle, int length, std::mt19937& random, int seed) {
    const PieceGroup& group = puzzle.groups.back();
    std::vector<std::vector<std::shared_ptr<const PatternHeuristic>>> sums;
    std::vector<std::shared_ptr<Table>> tables;
    for (int pattern = 0; pattern < 2; ++pattern) {
        auto pieces = some_pieces(group, 3, random);
        auto* tiles = dynamic_cast<const SlidingTiles*>(&puzzle);
        if (tiles && std::find(pieces.begin(), pieces.end(), 0) == pieces.end()) pieces[0] = 0;
        auto index = std::make_shared<PieceIndex>(group, pieces, IndexOrder::MyrvoldRuskey);
        tables.push_back(std::make_shared<Table>(
            tiles ? build_tiles(*tiles, *index, false, Limits())
                  : build_pieces(dynamic_cast<const PiecePuzzle&>(puzzle), *index, Limits())));
        if (tiles)
            check(equal(plain_distances(puzzle, *index), tables.back()->view()), "tiles with the blank",
                  seed);
        sums.push_back({std::make_shared<Pdb>(index, Grouping{}, tables.back()->view(), nullptr, nullptr)});
    }
    PdbEvaluator evaluator(sums);
    PuzzleSpace space(puzzle, scrambled(puzzle, length, seed));
    std::vector<size_t> lengths;
    auto record = [&](const SearchResult& result) {
        State state = space.initial_state, next = state;
        for (int move : result.plan) {
            puzzle.apply(move, state.data(), next.data());
            state.swap(next);
        }
        check(result.status == SearchStatus::Solved && state == puzzle.goal, "a solution leads to the goal",
              seed);
        lengths.push_back(result.plan.size());
    };
    for (const char* algorithm : {"bfs", "astar", "idastar"}) {
        record(run_search(space, {&evaluator}, options_of(algorithm)));
    }
    if (auto deepening = PieceDeepening::make(puzzle, evaluator, Limits()))
        record(deepening->search(space.initial_state, SearchOptions()));
    check(std::all_of(lengths.begin(), lengths.end(), [&](size_t l) { return l == lengths[0]; }),
          "breadth-first search, A* and IDA* find equal lengths", seed);
}

void test_additive_tiles(int seed) {
    SlidingTiles puzzle(2, 3);
    PieceIndex one(puzzle.groups[0], {1, 2}, IndexOrder::MyrvoldRuskey);
    PieceIndex two(puzzle.groups[0], {3, 4, 5}, IndexOrder::MyrvoldRuskey);
    PieceIndex all(puzzle.groups[0], {0, 1, 2, 3, 4, 5}, IndexOrder::MyrvoldRuskey);
    Table first = build_tiles(puzzle, one, true, Limits()), second = build_tiles(puzzle, two, true, Limits());
    std::vector<int> exact = plain_distances(puzzle, all);
    State state = puzzle.goal;
    bool admissible = true;
    for (uint64_t i = 0; i < all.size(); ++i) {
        if (exact[i] < 0) continue;
        all.unrank(i, state.data());
        uint32_t sum = first.view().get(one.rank(state.data())) + second.view().get(two.rank(state.data()));
        admissible &= sum <= static_cast<uint32_t>(exact[i]);
    }
    check(admissible, "sums of additive databases never exceed the distance", seed);
}

void test_symmetry() {
    auto cube = make_puzzle("cube3");
    CornerSymmetryIndex index(cube->groups[0]);
    check(index.multiplicities().size() == 984, "the corner permutations have 984 classes", 0);
    bool same = true;
    State state = cube->goal;
    for (uint64_t i = 0; i < index.size(); i += 997) {
        index.unrank(i, state.data());
        same &= index.rank(state.data()) == i;
    }
    check(same, "representatives of symmetry classes are numbered as they are", 0);
    PieceIndex all(cube->groups[0], index.variables(), IndexOrder::MyrvoldRuskey);
    std::vector<uint64_t> ranks;
    std::vector<int> values(index.variables().size());
    for (uint64_t p = 0; p < all.permutations.size(); p += 1013) {
        index.rank_all(p, ranks);
        for (uint64_t o = 0; o < ranks.size(); o += 17) {
            all.unrank_parts(p, o, state.data());
            same &= index.rank(state.data()) == ranks[o];
            index.representative(state.data(), values.data());
            index.unrank(ranks[o], state.data());
            for (size_t v = 0; v < values.size(); ++v) same &= values[v] == state[index.variables()[v]];
        }
    }
    check(same, "symmetric states are numbered alike, one by one and all at once", 0);
}

}  // namespace

void test_puzzles(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    test_permutations(seed);
    if (seed == 0) test_symmetry();
    if (seed == 0) test_additive_tiles(seed);
    if (seed % 10) return;
    for (const char* name : {"cube3", "cube2", "pancake-6", "topspin-7-4"}) {
        auto puzzle = make_puzzle(name);
        auto& pieces = dynamic_cast<const PiecePuzzle&>(*puzzle);
        test_builders(pieces, 1 + seed / 10 % 3, random, seed);
        test_compression(pieces, random, seed);
        test_deepening(*puzzle, 4, random, seed);
    }
    test_deepening(SlidingTiles(3, 2), 12, random, seed);
}

void test_projection(const Task& task, int seed) {
    if (task.num_variables() == 0) return;
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<int> variables(task.num_variables());
    std::iota(variables.begin(), variables.end(), 0);
    std::shuffle(variables.begin(), variables.end(), random);
    variables.resize(std::min<size_t>(3, variables.size()));
    ProjectionIndex index(task, variables);
    Table table = build_projection(task, index, task.cost, Limits());
    // No operator lowers the value by more than it costs, goals have none, and dead ends stay dead.
    State state = task.initial_state, next = state;
    SuccessorGenerator generator(task);
    bool consistent = true;
    for (int step = 0; step < 200; ++step) {
        uint32_t h = table.view().get(index.rank(state.data()));
        if (task.is_goal(state.data())) consistent &= h == 0;
        std::vector<int> ops;
        generator.applicable([&](int variable) { return state[variable]; }, ops);
        if (ops.empty()) break;
        for (int op : ops) {
            task.apply(op, state.data(), next.data());
            uint32_t after = table.view().get(index.rank(next.data()));
            consistent &= after == kUnreached ||
                          h <= static_cast<uint64_t>(after) + static_cast<uint64_t>(task.cost[op]);
        }
        task.apply(ops[random() % ops.size()], state.data(), next.data());
        state.swap(next);
    }
    check(consistent, "a projection is consistent", seed);
}
