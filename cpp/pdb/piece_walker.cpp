#include "pdb/piece_walker.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "pdb/piece_moves.hpp"
#include "search/ida_star.hpp"

namespace hstar {

inline TrackedPattern::Place TrackedPattern::place(uint32_t permutation, uint32_t orientation) const {
    const uint64_t rank = static_cast<uint64_t>(orientation) * moves->num_permutations() + permutation;
    return {permutation, orientation, pdb->grouping().cell(rank)};
}

namespace {

constexpr size_t kMaxPatterns = 16;
constexpr uint64_t kMaxTableBytes = uint64_t{1} << 30;  // of moves; above it, states are ranked instead

class PieceWalker {
  public:
    static constexpr uint64_t kStepsPerCheck = 1024;

    PieceWalker(const Puzzle& puzzle, const std::vector<int>& start,
                const std::vector<TrackedPattern>& patterns)
        : puzzle_(puzzle), start_(start), patterns_(patterns) {
        for (int last = -1; last < puzzle.num_moves(); ++last) {
            allowed_.emplace_back();
            for (int move = 0; move < puzzle.num_moves(); ++move)
                if (puzzle.may_follow(last, move)) allowed_.back().push_back(move);
        }
    }

    void reset(SearchCounters& counters) {
        path_.clear();
        levels_.assign(1, {});
        Level& root = levels_[0];
        for (const TrackedPattern& pattern : patterns_) {
            root.end.push_back(
                pattern.place(static_cast<uint32_t>(pattern.index->rank_permutation(start_.data())),
                              static_cast<uint32_t>(pattern.index->rank_orientation(start_.data()))));
            root.end_h = std::max(root.end_h, pattern.table.get(root.end.back().cell));
        }
        start_h_ = root.end_h == kUnreached ? kDeadEnd : static_cast<float>(root.end_h);
        ++counters.evaluated;
    }
    float start_h() const { return start_h_; }

    bool is_goal() const {
        if (levels_[path_.size()].end_h != 0) return false;
        std::vector<int> state = start_, next = start_;
        for (int move : path_) {
            puzzle_.apply(move, state.data(), next.data());
            state.swap(next);
        }
        return state == puzzle_.goal;
    }

    int expand(int last, double budget, SearchCounters& counters) {
        Level& level = levels_[path_.size()];
        const std::vector<int>& moves = allowed_[last + 1];
        size_t count = moves.size(), tracked = patterns_.size();
        level.children.resize(count);
        level.places.resize(count * tracked);
        for (size_t i = 0; i < count; ++i) level.children[i] = {moves[i], 0};
        const double largest = budget - 1;  // the h that a child may have
        uint32_t smallest_over = kUnreached;
        counters.generated += count;
        counters.evaluated += count;
        // The first database rules out most children; only the rest is looked up in the others. Memory is
        // prefetched before any value is used.
        auto follow = [&](size_t first_pattern, size_t last_pattern) {
            for (size_t k = first_pattern; k < last_pattern; ++k)
                for (size_t i = 0; i < count; ++i) prepare(level, i, k);
            for (size_t k = first_pattern; k < last_pattern; ++k) {
                size_t kept = 0;
                for (size_t i = 0; i < count; ++i) {
                    uint32_t value = patterns_[k].table.get(level.places[i * tracked + k].cell);
                    if (value > largest) {
                        smallest_over = std::min(smallest_over, value);
                        continue;
                    }
                    level.children[i].h = std::max(level.children[i].h, value);
                    if (kept < i) move_child(level, i, kept);
                    ++kept;
                }
                count = kept;
            }
        };
        follow(0, 1);
        follow(1, tracked);
        // Prefetch the rows that the next expansions begin with.
        for (size_t i = 0; i < count; ++i)
            for (size_t k = 0; k < tracked; ++k) {
                const uint32_t* row = patterns_[k].moves->row(level.places[i * tracked + k].permutation);
                __builtin_prefetch(row);
                __builtin_prefetch(row + patterns_[k].moves->num_moves() - 1);
            }
        smallest_left_out_ =
            smallest_over == kUnreached ? static_cast<double>(kDeadEnd) : smallest_over + 1.0;
        return static_cast<int>(count);
    }
    // Only a lower bound: children that one database rules out are not looked up in the next.
    double smallest_left_out() const { return smallest_left_out_; }
    int op(int i) const { return levels_[path_.size()].children[i].move; }
    int cost(int) const { return 1; }
    float h(int i) const { return static_cast<float>(levels_[path_.size()].children[i].h); }

    void enter(int i) {
        if (levels_.size() < path_.size() + 2) levels_.resize(path_.size() + 2);
        const Level& level = levels_[path_.size()];
        Level& below = levels_[path_.size() + 1];
        size_t tracked = patterns_.size();
        below.end.resize(tracked);
        std::copy_n(level.places.begin() + static_cast<size_t>(i) * tracked, tracked, below.end.begin());
        below.end_h = level.children[i].h;
        path_.push_back(level.children[i].move);
    }
    void leave() { path_.pop_back(); }

  private:
    using Place = TrackedPattern::Place;
    struct Child {
        int move;
        uint32_t h;
    };
    struct Level {
        std::vector<Place> end;  // the node itself, in each pattern
        uint32_t end_h = 0;
        std::vector<Child> children;
        std::vector<Place> places;  // children x patterns
    };

    // Where child i is in pattern k.
    void prepare(Level& level, size_t i, size_t k) const {
        const TrackedPattern& pattern = patterns_[k];
        const PieceMoves& moves = *pattern.moves;
        uint32_t entry = moves.row(level.end[k].permutation)[level.children[i].move];
        Place& place = level.places[i * patterns_.size() + k];
        place = pattern.place(moves.permutation(entry),
                              moves.orientation(level.end[k].orientation, moves.vector(entry)));
        pattern.table.prefetch(place.cell);
    }

    void move_child(Level& level, size_t from, size_t to) const {
        size_t tracked = patterns_.size();
        level.children[to] = level.children[from];
        std::copy_n(level.places.begin() + from * tracked, tracked, level.places.begin() + to * tracked);
    }

    const Puzzle& puzzle_;
    std::vector<int> start_;
    const std::vector<TrackedPattern>& patterns_;
    std::vector<std::vector<int>> allowed_;  // after each move, and after none
    std::vector<int> path_;
    std::vector<Level> levels_;
    double smallest_left_out_ = 0;
    float start_h_ = 0;
};

// The mean of a sample. Databases with large values rule out the most, so they come first.
double sampled_mean(const TableView& table) {
    uint64_t samples = std::min<uint64_t>(4096, table.size), sum = 0;
    for (uint64_t i = 0; i < samples; ++i) {
        uint32_t value = table.get(i * (table.size / samples));
        sum += value == kUnreached ? 0 : value;
    }
    return static_cast<double>(sum) / static_cast<double>(samples);
}

}  // namespace

std::unique_ptr<PieceDeepening> PieceDeepening::make(const Puzzle& puzzle, const PdbEvaluator& evaluator,
                                                     const Limits& limits) {
    auto* pieces = dynamic_cast<const PiecePuzzle*>(&puzzle);
    if (!pieces || evaluator.sums().size() > kMaxPatterns || evaluator.sums().empty()) return nullptr;
    std::unique_ptr<PieceDeepening> made(new PieceDeepening(*pieces));
    for (const auto& sum : evaluator.sums()) {
        auto pdb = sum.size() == 1 ? std::dynamic_pointer_cast<const Pdb>(sum[0]) : nullptr;
        if (!pdb || pdb->base()) return nullptr;
        auto* index = dynamic_cast<const PieceIndex*>(&pdb->index());
        if (!index || index->permutations.size() * puzzle.num_moves() * 4 > kMaxTableBytes) return nullptr;
        made->patterns_.push_back({pdb, index, nullptr, {}, pdb->table()});
    }
    // By group, number of pieces, and order.
    std::map<std::tuple<int, size_t, IndexOrder>, std::shared_ptr<const PieceMoves>> shared;
    for (TrackedPattern& pattern : made->patterns_) {
        const PieceIndex& index = *pattern.index;
        auto& moves = shared[{index.group.first, index.variables().size(), index.order}];
        if (!moves) moves = std::make_shared<PieceMoves>(*pieces, index, limits);
        pattern.moves = moves;
        uint64_t bytes = TableView::num_bytes(pattern.table.size, pattern.table.bits);
        if (bytes > kMaxTableBytes) continue;
        pattern.memory.assign(pattern.table.data, pattern.table.data + bytes);
        pattern.table.data = pattern.memory.data();
    }
    std::stable_sort(made->patterns_.begin(), made->patterns_.end(), [](const auto& a, const auto& b) {
        return sampled_mean(a.table) > sampled_mean(b.table);
    });
    return made;
}

SearchResult PieceDeepening::search(const std::vector<int>& start, const SearchOptions& options) const {
    PieceWalker walker(puzzle_, start, patterns_);
    return IdaStar(walker, options).run();
}

}  // namespace hstar
