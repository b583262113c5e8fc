// A pattern database as a heuristic: a state's index, the cell that holds it, the value of the cell.
//
//     h(state) = table[cell(index(state))] + base(state)
//
// An uncompressed database has a cell per index and no base. Every form of compression only lowers values:
//   grouping   a cell holds the minimum over the indices i with the same i / k (neighbours) or i mod m
//   order      which indices are neighbours: Myrvold-Ruskey or lexicographic
//   levels     cells of 2 bits choose among four values, each value rounded down to the next of them
//   delta      cells hold what is left after subtracting a smaller database, the base
//   symmetry   an index per class of symmetric states; nothing is lost
#pragma once
#include <algorithm>
#include <map>
#include <memory>

#include "heuristics/evaluator.hpp"
#include "pdb/table.hpp"
#include "runtime/limits.hpp"
#include "runtime/require.hpp"
#include "spaces/pattern_index.hpp"

namespace hstar {

struct Grouping {
    enum class Kind { None, Divide, Modulo };
    Kind kind = Kind::None;
    uint64_t number = 1;  // the divisor k or the modulus m

    uint64_t cell(uint64_t index) const {
        return kind == Kind::None ? index : kind == Kind::Divide ? index / number : index % number;
    }
    uint64_t num_cells(uint64_t indices) const {
        return kind == Kind::None     ? indices
               : kind == Kind::Divide ? (indices + number - 1) / number
                                      : std::min(number, indices);
    }
};

// A heuristic on the variables of a pattern: a database, or a network that replaces one.
class PatternHeuristic {
  public:
    virtual ~PatternHeuristic() = default;
    // A value per state; kUnreached for dead ends.
    virtual void lookup(const StateBatch& batch, uint32_t* values) const = 0;
    virtual const PatternIndex& index() const = 0;
    // Multiplications per state: 0 for tables. Heuristics with a cost are evaluated last, and cached.
    virtual uint64_t work() const { return 0; }
};

class Pdb : public PatternHeuristic {
  public:
    // `memory` keeps the table alive; null if the caller does that. Throws std::invalid_argument unless the
    // table has one entry per cell.
    Pdb(std::shared_ptr<const PatternIndex> index, Grouping grouping, TableView table,
        std::shared_ptr<const void> memory, std::shared_ptr<const Pdb> base)
        : index_(std::move(index)),
          grouping_(grouping),
          table_(table),
          memory_(std::move(memory)),
          base_(std::move(base)) {
        uint64_t cells = grouping_.num_cells(index_->size());
        if (table_.size != cells) refuse("the table has ", table_.size, " entries instead of ", cells);
    }

    const PatternIndex& index() const override { return *index_; }
    const Grouping& grouping() const { return grouping_; }
    const TableView& table() const { return table_; }
    const Pdb* base() const { return base_.get(); }

    uint32_t at(uint64_t index) const { return table_.get(grouping_.cell(index)); }
    // Prefetches all memory before it uses any.
    void lookup(const StateBatch& batch, uint32_t* values) const override {
        constexpr int kBlock = 64;
        uint64_t cells[kBlock];
        for (int first = 0; first < batch.count; first += kBlock) {
            int block = std::min(kBlock, batch.count - first);
            for (int i = 0; i < block; ++i) {
                cells[i] = grouping_.cell(index_->rank(batch.row(first + i)));
                table_.prefetch(cells[i]);
            }
            for (int i = 0; i < block; ++i) values[first + i] = table_.get(cells[i]);
        }
        if (base_) base_->add_to(batch, values);
    }
    // Adds the value of each state to what is there; kUnreached stays, or comes.
    void add_to(const StateBatch& batch, uint32_t* values) const {
        std::vector<uint32_t> own(batch.count);
        lookup(batch, own.data());
        for (int i = 0; i < batch.count; ++i)
            values[i] = values[i] == kUnreached || own[i] == kUnreached ? kUnreached : values[i] + own[i];
    }

  private:
    std::shared_ptr<const PatternIndex> index_;
    Grouping grouping_;
    TableView table_;
    std::shared_ptr<const void> memory_;
    std::shared_ptr<const Pdb> base_;
};

// The same values with cells over another index: `to` is the pattern's own index in another order, or that
// of its symmetry classes.
Table regrouped(const Pdb& source, const PatternIndex& to, const Grouping& grouping, const Limits& limits);
// The values minus those of the base. Throws std::invalid_argument if the base is larger anywhere.
Table subtracted(const Pdb& source, const Pdb& base, const Limits& limits);
// Cells of 2 bits; `levels` ascending, and the first no larger than any value.
Table quantized(const TableView& source, const std::array<uint8_t, 4>& levels, const Limits& limits);
// How often each value occurs, with cell i counted weights[i % weights.size()] times; the last count is for
// kUnreached.
std::vector<uint64_t> histogram(const TableView& table, const std::vector<uint32_t>& weights,
                                const Limits& limits);

// A cache of a network's values by index: states with the same pattern are computed once.
//
// If there are few indices, all are kept. Otherwise a new index replaces the old one in its slot: depth-first
// search meets an index again soon or not at all.
class ValueCache {
  public:
    explicit ValueCache(uint64_t indices) : entries_(indices <= kMostEntries ? indices : kMostEntries) {}

    const uint32_t* find(uint64_t index) const {
        const Entry& entry = entries_[slot(index)];
        return entry.key == index + 1 ? &entry.value : nullptr;
    }
    void put(uint64_t index, uint32_t value) { entries_[slot(index)] = {index + 1, value}; }

  private:
    static constexpr int kBits = 20;
    static constexpr uint64_t kMostEntries = uint64_t{1} << kBits;
    struct Entry {
        uint64_t key = 0;  // index + 1; 0: empty
        uint32_t value = 0;
    };
    size_t slot(uint64_t index) const {
        return entries_.size() < kMostEntries ? index : (index * 0x9e3779b97f4a7c15u) >> (64 - kBits);
    }
    std::vector<Entry> entries_;
};

// The maximum over several sums of heuristics, each of them admissible.
class PdbEvaluator : public Evaluator {
  public:
    using Sum = std::vector<std::shared_ptr<const PatternHeuristic>>;
    explicit PdbEvaluator(std::vector<Sum> sums) : sums_(std::move(sums)) {
        auto work = [](const Sum& sum) {
            uint64_t total = 0;
            for (const auto& part : sum) total += part->work();
            return total;
        };
        std::stable_sort(sums_.begin(), sums_.end(),
                         [&](const Sum& a, const Sum& b) { return work(a) < work(b); });
    }
    void evaluate(const StateBatch& batch, float* h, Rows<int>*) override {
        evaluate_within(batch, nullptr, h);
    }
    // Networks see only the states that tables and smaller networks do not rule out.
    void evaluate_within(const StateBatch& batch, const double* most, float* h) override {
        values_.resize(batch.count);
        std::fill(h, h + batch.count, 0.0f);
        for (const Sum& sum : sums_) {
            totals_.assign(batch.count, 0);
            for (const auto& part : sum) {
                if (part->work())
                    compute(*part, batch, most, h);
                else
                    part->lookup(batch, values_.data());
                for (int i = 0; i < batch.count; ++i)
                    if (values_[i] == kUnreached)
                        h[i] = kDeadEnd;
                    else
                        totals_[i] += values_[i];
            }
            for (int i = 0; i < batch.count; ++i)
                h[i] = std::max(h[i], to_float_below(static_cast<int64_t>(totals_[i])));
        }
    }
    const std::vector<Sum>& sums() const { return sums_; }
    // How many states were evaluated by networks.
    uint64_t network_states() const { return network_states_; }

  private:
    // Fills values_ for states with h not over `most` (null: for all).
    void compute(const PatternHeuristic& network, const StateBatch& batch, const double* most,
                 const float* h) {
        const PatternIndex& index = network.index();
        ValueCache& cache = caches_.try_emplace(&network, index.size()).first->second;
        waiting_.clear();
        rows_.clear();
        for (int i = 0; i < batch.count; ++i) {
            values_[i] = 0;
            if (most && h[i] > most[i]) continue;
            uint64_t at = index.rank(batch.row(i));
            if (const uint32_t* known = cache.find(at)) {
                values_[i] = *known;
                continue;
            }
            waiting_.push_back({i, at});
            rows_.insert(rows_.end(), batch.row(i), batch.row(i) + batch.num_variables);
        }
        if (waiting_.empty()) return;
        computed_.resize(waiting_.size());
        network.lookup({rows_.data(), static_cast<int>(waiting_.size()), batch.num_variables},
                       computed_.data());
        for (size_t w = 0; w < waiting_.size(); ++w) {
            values_[waiting_[w].state] = computed_[w];
            cache.put(waiting_[w].index, computed_[w]);
        }
        network_states_ += waiting_.size();
    }

    struct Waiting {
        int state;
        uint64_t index;
    };
    std::vector<Sum> sums_;  // tables first, then networks, small ones first
    std::map<const PatternHeuristic*, ValueCache> caches_;
    std::vector<uint32_t> values_, computed_;
    std::vector<uint64_t> totals_;
    std::vector<Waiting> waiting_;
    std::vector<int> rows_;
    uint64_t network_states_ = 0;
};

}  // namespace hstar
