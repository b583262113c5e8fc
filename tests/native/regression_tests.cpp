// Regression: h^2 excludes no pair of a reachable state, completions contain their pre-images, and from each
// of them the operators of the walk lead to the goal.
#include <algorithm>
#include <set>

#include "regression/regression.hpp"
#include "search/walks.hpp"
#include "spaces/task_space.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

using Facts = std::set<int>;

Facts facts_of(const Rows<int>& rows, int row) {
    return {rows[row].begin(), rows[row].end()};
}

// The set after an operator, or the empty set if it is not applicable.
Facts progressed(const SetTask& task, const Facts& state, int op) {
    for (Assignment needed : task.task.pre[op])
        if (!state.contains(task.task.fact(needed))) return {};
    Facts next = state;
    for (int fact : task.deletes[op]) next.erase(fact);
    for (Assignment effect : task.task.effects[op]) {
        for (int fact = task.task.first_fact[effect.variable];
             fact < task.task.first_fact[effect.variable + 1]; ++fact)
            next.erase(fact);
        if (task.is_fact[task.task.fact(effect)]) next.insert(task.task.fact(effect));
    }
    return next;
}

bool leads_to_goal(const SetTask& task, const PreImages& images, int image, Facts state) {
    for (; images.parent[image] >= 0; image = images.parent[image])
        state = progressed(task, state, images.op[image]);
    return std::all_of(task.task.goal.begin(), task.task.goal.end(),
                       [&](Assignment goal) { return state.contains(task.task.fact(goal)); });
}

bool contradicts_itself(const Task& task, const Mutexes& mutexes) {
    for (Assignment a : task.goal)
        for (Assignment b : task.goal)
            if (mutexes.exclusive(task.fact(a), task.fact(b))) return true;
    return false;
}

}  // namespace

void test_regression(const Task& task, const std::map<State, int>& states, int seed) {
    SetTask sets(task);
    Mutexes mutexes(sets, Limits());
    sets.keep_only(mutexes.add_h2(sets, Limits()));
    bool is_sound = true;
    for (const auto& [state, distance] : states)
        for (int a = 0; a < task.num_variables(); ++a)
            for (int b = 0; b <= a; ++b) {
                const int first = task.fact({a, state[a]}), second = task.fact({b, state[b]});
                if (sets.is_fact[first] && sets.is_fact[second])
                    is_sound &= !mutexes.exclusive(first, second);
            }
    check(is_sound, "h^2 excludes no reachable pair", seed);
    if (task.goal_is_false || contradicts_itself(task, mutexes)) return;

    const BackwardWalkOptions options{3, 8, static_cast<Novelty>(seed % 4), static_cast<uint64_t>(seed)};
    const PreImages images = walk_backwards(sets, mutexes, options, Limits());
    std::vector<int> chosen{-1};
    for (int image = 0; image < images.size(); ++image) chosen.push_back(image);
    bool contains = true, reaches = true;
    for (auto way : {Completion::Atoms, Completion::Exclusive, Completion::Variables}) {
        const Rows<int> completed = complete(sets, mutexes, images, chosen, way, 1, Limits());
        for (int image = 0; image < images.size(); ++image) {
            const Facts state = facts_of(completed, image + 1), needed = facts_of(images.facts, image);
            contains &= std::includes(state.begin(), state.end(), needed.begin(), needed.end());
            reaches &= leads_to_goal(sets, images, image, state);
        }
        const auto depths = smallest_depths(sets, images, completed, Limits());
        for (int image = 0; image < images.size(); ++image)
            contains &= depths[image + 1] >= 0 && depths[image + 1] <= images.depth[image];
    }
    check(contains, "a completion contains its pre-image", seed);
    check(reaches, "the operators of a walk lead from every completion to the goal", seed);

    const FocusedOptions focus{60, 0.3, 0, 1 + seed % 3, static_cast<uint64_t>(seed)};
    check(sample_focused(sets, mutexes, focus, Limits()).size() <= 60, "sampling keeps to its count", seed);
    const SuccessorGenerator generator(task);
    const TaskSpace space(task, generator, task.initial_state);
    const auto walked = random_walks(space, 4, 6, static_cast<uint64_t>(seed), Limits());
    check(walked.size() == 4 * static_cast<size_t>(task.num_variables()), "every walk ends in a state", seed);
}
