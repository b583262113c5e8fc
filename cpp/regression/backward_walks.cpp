#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "regression/regression.hpp"
#include "runtime/hash.hpp"
#include "runtime/numbering.hpp"

namespace hstar {

namespace {

constexpr uint64_t kStepWork = 2000;  // about what a step takes, in units of WorkMeter

std::vector<int> goal_facts(const Task& task) {
    std::vector<int> facts;
    for (Assignment needed : task.goal) facts.push_back(task.fact(needed));
    std::sort(facts.begin(), facts.end());
    return facts;
}

void add(PreImages& images, std::vector<int> facts, int depth, int parent, int op, int walk) {
    images.facts.add_row(facts);
    images.depth.push_back(depth);
    images.parent.push_back(parent);
    images.op.push_back(op);
    images.walk.push_back(walk);
}

// What a walk has met, to score operators by novelty.
class Memory {
  public:
    Memory(const SetTask& task, Novelty novelty)
        : task_(task.task), novelty_(novelty), met_(task.task.num_facts()), always_(task.task.num_facts()) {}

    void start(const std::vector<int>& goal) {
        std::fill(met_.begin(), met_.end(), 0);
        std::fill(always_.begin(), always_.end(), 0);
        for (int fact : goal) met_[fact] = always_[fact] = 1;
    }

    // `set` is the set before the operator is applied.
    int score(int op, const Regression& set) const {
        int found = 0;
        if (novelty_ == Novelty::Preconditions || novelty_ == Novelty::Both)
            for (Assignment needed : task_.pre[op]) found += !met_[task_.fact(needed)];
        if (novelty_ == Novelty::Deletes || novelty_ == Novelty::Both)
            for (Assignment effect : task_.effects[op]) {
                int fact = task_.fact(effect);
                found += always_[fact] && set.contains(fact);
            }
        return found;
    }

    void note(int op, const Regression& after) {
        for (Assignment needed : task_.pre[op]) met_[task_.fact(needed)] = 1;
        for (Assignment effect : task_.effects[op]) {
            int fact = task_.fact(effect);
            if (!after.contains(fact)) always_[fact] = 0;
        }
    }

  private:
    const Task& task_;
    const Novelty novelty_;
    std::vector<char> met_, always_;  // per fact: in some set so far, in all sets so far
};

int choose(std::vector<int>& ops, Novelty novelty, const Memory& memory, const Regression& set,
           Random& random) {
    if (novelty == Novelty::None) return ops[random.below(static_cast<uint32_t>(ops.size()))];
    random.shuffle(std::span(ops));
    int best = ops[0], most = -1;
    for (int op : ops)
        if (int score = memory.score(op, set); score > most) best = op, most = score;
    return best;
}

uint64_t hash_of(const std::vector<int>& facts) {
    return hash_ints(facts.data(), facts.size(), 0);
}

}  // namespace

PreImages walk_backwards(const SetTask& task, const Mutexes& mutexes, const BackwardWalkOptions& options,
                         const Limits& limits) {
    PreImages images;
    Regression set(task, mutexes);
    Random random(options.seed);
    Memory memory(task, options.novelty);
    WorkMeter meter(limits);
    const auto goal = goal_facts(task.task);
    for (int walk = 0; walk < options.count; ++walk) {
        set.set(goal);
        memory.start(goal);
        add(images, goal, 0, -1, -1, walk);
        for (int depth = 0; depth < options.length;) {
            meter.spend(kStepWork);
            auto ops = set.operators();
            if (ops.empty()) break;
            int op = choose(ops, options.novelty, memory, set, random);
            set.apply(op);
            memory.note(op, set);
            depth += !task.task.is_artificial(op);
            add(images, set.facts(), depth, images.size() - 1, op, walk);
        }
    }
    return images;
}

namespace {

class FocusedSampler {
  public:
    FocusedSampler(const SetTask& task, const Mutexes& mutexes, const FocusedOptions& options,
                   const Limits& limits)
        : task_(task), options_(options), meter_(limits), set_(task, mutexes), random_(options.seed) {}

    PreImages run() {
        const auto goal = goal_facts(task_.task);
        is_new(goal);
        add(images_, goal, 0, -1, -1, 0);
        search_breadth_first();
        walk_from_leaves();
        return std::move(images_);
    }

  private:
    // Layer by layer, each in random order. The predecessors of a set are added only if all fit.
    void search_breadth_first() {
        const int most = std::max(1, static_cast<int>(options_.breadth_first * options_.count));
        std::vector<int> layer{0}, next;
        for (int depth = 0; !layer.empty(); ++depth, layer.swap(next)) {
            next.clear();
            random_.shuffle(std::span(layer));
            for (int image : layer) {
                meter_.spend(kStepWork);
                set_.set(images_.facts[image]);
                const auto ops = set_.operators();
                if (images_.size() + static_cast<int>(ops.size()) > most) {
                    leaves_.push_back(image);
                    continue;
                }
                for (int op : ops)
                    if (extend(image, op)) next.push_back(images_.size() - 1);
            }
        }
        if (leaves_.empty()) leaves_.push_back(0);
    }

    // Adds the regression of a pre-image, which set_ holds, if it is new. Restores set_.
    bool extend(int image, int op) {
        set_.apply(op);
        const auto facts = set_.facts();
        set_.set(images_.facts[image]);
        if (!is_new(facts)) return false;
        add(images_, facts, images_.depth[image] + !task_.task.is_artificial(op), image, op, 0);
        return true;
    }

    auto equals(const std::vector<int>& facts) const {
        return [&](int image) { return std::ranges::equal(images_.facts[image], facts); };
    }
    // Whether the breadth-first search has not met the set yet; the next pre-image must be this one.
    bool is_new(const std::vector<int>& facts) {
        return known_.find_or_add(hash_of(facts), equals(facts)).second;
    }

    // Random walks that visit no set twice, nor any of the breadth-first search.
    void walk_from_leaves() {
        const int length = options_.length > 0 ? options_.length : usual_length();
        int failures = 0;
        for (int walk = 1; images_.size() < options_.count && failures < kMostFailures; ++walk) {
            const int before = images_.size();
            walk_from(leaves_[random_.below(static_cast<uint32_t>(leaves_.size()))], length, walk);
            failures = images_.size() == before ? failures + 1 : 0;
        }
    }

    void walk_from(int leaf, int length, int walk) {
        set_.set(images_.facts[leaf]);
        visited_.clear();
        int depth = images_.depth[leaf], parent = leaf;
        for (int unlisted = static_cast<int>(random_.below(options_.stride)); depth < length; --unlisted) {
            meter_.spend(kStepWork);
            const int op = step();
            if (op < 0 || images_.size() >= options_.count) return;
            depth += !task_.task.is_artificial(op);
            if (unlisted > 0) continue;
            unlisted = options_.stride;
            const bool has_parent = options_.stride == 1;
            add(images_, set_.facts(), depth, has_parent ? parent : -1, has_parent ? op : -1, walk);
            parent = images_.size() - 1;
        }
    }

    // Moves set_ to a set that the walk has not visited. The operator, or -1 if there is none.
    int step() {
        const auto here = set_.facts();
        auto ops = set_.operators();
        random_.shuffle(std::span(ops));
        for (int op : ops) {
            set_.apply(op);
            const auto facts = set_.facts();
            const uint64_t hash = hash_of(facts);
            if (known_.find(hash, equals(facts)) < 0 && visited_.insert(hash).second) return op;
            set_.set(here);
        }
        return -1;
    }

    int usual_length() const {
        const Task& task = task_.task;
        const auto effects = std::ranges::count_if(
            task.effects.data, [&](Assignment effect) { return task_.is_fact[task.fact(effect)]; });
        const auto facts = static_cast<double>(std::ranges::count(task_.is_fact, 1));
        if (effects == 0) return 1;
        return static_cast<int>(std::ceil(facts * task.num_operators() / static_cast<double>(effects)));
    }

    static constexpr int kMostFailures = 100;  // walks in a row that found nothing new
    const SetTask& task_;
    const FocusedOptions& options_;
    WorkMeter meter_;
    Regression set_;
    Random random_;
    PreImages images_;
    Numbering known_;  // the numbers of those that the breadth-first search found
    std::vector<int> leaves_;
    std::unordered_set<uint64_t> visited_;  // hashes of the sets of a walk
};

}  // namespace

PreImages sample_focused(const SetTask& task, const Mutexes& mutexes, const FocusedOptions& options,
                         const Limits& limits) {
    return FocusedSampler(task, mutexes, options, limits).run();
}

}  // namespace hstar
