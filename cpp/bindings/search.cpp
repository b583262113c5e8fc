#include "search/search.hpp"

#include <nanobind/stl/optional.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "bindings/bindings.hpp"
#include "bindings/given_heuristics.hpp"
#include "runtime/turns.hpp"
#include "search/exhaustive.hpp"
#include "spaces/task_space.hpp"

namespace hstar::bindings {

namespace {

Dict to_dict(const BoundSpace& bound, const StateSpace& space, const SearchResult& result) {
    constexpr const char* kStatus[] = {"solved",        "unsolvable",  "gave up",   "out of time",
                                       "out of memory", "interrupted", "terminated"};
    Dict d;
    d["status"] = kStatus[static_cast<int>(result.status)];
    d["evaluated"] = result.counters.evaluated;
    d["evaluations"] = result.counters.evaluations;
    d["expanded"] = result.counters.expanded;
    d["generated"] = result.counters.generated;
    d["reopened"] = result.counters.reopened;
    d["deadends"] = result.counters.deadends;
    d["initial_h"] = result.initial_h;
    d["states"] = result.num_states;
    d["state_bytes"] = space.packing().num_bytes();
    d["search_time"] = result.seconds;
    nb::list plan;
    int64_t plan_cost = 0;
    for (int op : result.plan) {
        if (space.is_artificial(op)) continue;
        plan.append(bound.operator_name(op));
        plan_cost += space.cost(op);
    }
    d["plan"] = plan;
    d["plan_cost"] = plan_cost;
    return d;
}

// A search that is ready to run without Python, which reads its heuristics.
class PreparedSearch {
  public:
    PreparedSearch(const BoundSpace& bound, const nb::list& heuristics, const SearchOptions& options,
                   const Limits& limits)
        : options_(options) {
        options_.limits = limits;
        for (nb::handle heuristic : heuristics) {
            const bool is_first = evaluators_.empty();
            evaluators_.push_back(given_.add(bound, heuristic));
            if (is_first && nb::isinstance<BoundHeuristic>(heuristic))
                first_ = nb::cast<BoundHeuristic*>(heuristic);
        }
    }

    const Exclusive::Set& used() const { return given_.used(); }  // to be locked while it runs
    // `held` are locked, by this thread or by one that waits for it.
    SearchResult run(const StateSpace& space, const Exclusive::Set& held) const {
        const Exclusive::Holder holder(held);
        SearchResult result;
        result.run([&] {
            const bool deepens = options_.deepen && first_;
            const PieceDeepening* deepening = deepens ? first_->deepening(options_.limits) : nullptr;
            result = deepening ? deepening->search(space.initial_state, options_)
                               : run_search(space, evaluators_, options_);
        });
        return result;
    }

  private:
    SearchOptions options_;
    GivenHeuristics given_;
    std::vector<Evaluator*> evaluators_;
    BoundHeuristic* first_ = nullptr;
};

Ints start_of(const BoundSpace& bound, const std::optional<States>& state) {
    if (state) {
        require(state->shape(0) == 1, "expected one state");
        return bound.checked(*state).values;
    }
    if (!bound.initial_state()) refuse("a search of a puzzle needs a state to start from");
    return *bound.initial_state();
}

using Heuristics = nb::typed<nb::list, nb::any>;

// Searches from one state in turns, until one finds a plan or proves that there is none. Returns the number
// of that search, or -1, and the results of all. The first one runs in this thread.
std::pair<int, std::vector<Dict>> search_in_turns(
    const Limits& limits, const BoundSpace& bound, std::optional<States> state,
    const std::vector<std::pair<Heuristics, SearchOptions>>& searches, std::vector<double> seconds) {
    const Ints initial = start_of(bound, state);
    if (searches.size() != seconds.size()) refuse("each search needs a length of its turns");
    for (double length : seconds)
        if (!(length > 0 && std::isfinite(length))) refuse("the length of turns must be positive and finite");
    Turns turns(std::move(seconds));
    std::vector<std::unique_ptr<PreparedSearch>> prepared;
    Exclusive::Set used;
    for (const auto& [heuristics, options] : searches) {
        const Limits own{limits.deadline, limits.memory_bytes, &turns, prepared.size()};
        prepared.push_back(std::make_unique<PreparedSearch>(bound, heuristics, options, own));
        for (Exclusive* one : prepared.back()->used())
            if (!used.insert(one).second) refuse("searches in turns cannot share a heuristic");
    }
    std::vector<std::unique_ptr<StateSpace>> spaces;
    std::vector<SearchResult> results(prepared.size());
    std::vector<std::exception_ptr> errors(prepared.size());
    std::atomic<int> winner = -1;
    auto run = [&](size_t i) {
        bool ends_all = true;
        try {
            turns.enter(i);
            results[i] = prepared[i]->run(*spaces[i], used);
            const SearchStatus status = results[i].status;
            ends_all = status == SearchStatus::Solved || status == SearchStatus::Unsolvable;
            if (ends_all) winner = static_cast<int>(i);
        } catch (const Stopped& stopped) {
            results[i].status = status_of(stopped.reason);
            ends_all = false;
        } catch (...) {
            errors[i] = std::current_exception();
        }
        turns.leave(i, ends_all);
    };
    guarded([&] {
        // Before the turns: whoever waits for a heuristic in a turn keeps all others waiting, and if one of
        // them holds it, forever.
        for (size_t i = 0; i < prepared.size(); ++i) spaces.push_back(bound.make_space(initial, limits));
        const auto locks = Exclusive::lock_all(used, limits.deadline);
        std::vector<std::thread> threads;
        threads.reserve(prepared.size());
        for (size_t i = 1; i < prepared.size(); ++i) try {
                threads.emplace_back(run, i);
            } catch (const std::exception&) {  // no memory for a thread: the others go on
                results[i].status = SearchStatus::OutOfMemory;
                turns.leave(i, false);
            }
        if (!prepared.empty()) run(0);
        for (std::thread& thread : threads) thread.join();
        for (const std::exception_ptr& error : errors)
            if (error) std::rethrow_exception(error);
        return 0;
    });
    std::vector<Dict> found;
    for (size_t i = 0; i < results.size(); ++i) found.push_back(to_dict(bound, *spaces[i], results[i]));
    return {winner.load(), std::move(found)};
}

using Explored = std::tuple<Numpy<int, 2>, Numpy<float>, std::vector<std::string>>;

std::optional<Explored> explore(const Limits& limits, const BoundTask& bound, size_t max_states) {
    std::optional<StateGraph> graph = guarded([&] {
        return explore_exhaustively(TaskSpace(bound.task, bound.generator(limits), bound.task.initial_state),
                                    max_states, limits);
    });
    if (!graph) return std::nullopt;
    std::vector<std::string> plan;
    for (int op : graph->plan)
        if (!bound.task.is_artificial(op)) plan.push_back(bound.task.operator_name(op));
    size_t count = graph->h.size(), variables = static_cast<size_t>(bound.task.num_variables());
    return Explored(to_numpy(std::move(graph->states), {count, variables}), to_numpy(std::move(graph->h)),
                    std::move(plan));
}

}  // namespace

void bind_search(nb::module_& m) {
    nb::class_<SearchOptions>(m, "SearchOptions")
        .def(nb::init<>())
        .def_rw("g_weight", &SearchOptions::g_weight)
        .def_rw("h_weight", &SearchOptions::h_weight)
        .def_rw("tie_by_h", &SearchOptions::tie_by_h)
        .def_rw("use_h", &SearchOptions::use_h)
        .def_rw("early_goal_test", &SearchOptions::early_goal_test)
        .def_rw("reopen", &SearchOptions::reopen)
        .def_rw("lazy", &SearchOptions::lazy)
        .def_rw("partial", &SearchOptions::partial)
        .def_rw("deepen", &SearchOptions::deepen)
        .def_rw("look_ahead", &SearchOptions::look_ahead)
        .def_rw("ranked", &SearchOptions::ranked)
        .def_rw("local_steps", &SearchOptions::local_steps)
        .def_rw("advisers", &SearchOptions::advisers)
        .def_rw("batch", &SearchOptions::batch)
        .def_rw("width", &SearchOptions::width)
        .def_rw("seed", &SearchOptions::seed)
        .def_rw("max_evaluations", &SearchOptions::max_evaluations)
        .def_rw("max_expansions", &SearchOptions::max_expansions)
        // Pairs: the number of the evaluator that orders it, and of the one that prefers or -1.
        .def("set_queues", [](SearchOptions& options, const std::vector<std::pair<int, int>>& queues) {
            options.queues.clear();
            for (auto [evaluator, preferred_by] : queues) options.queues.push_back({evaluator, preferred_by});
        });
    m.def("search_in_turns", limited(&search_in_turns));
    m.def("explore", limited(&explore));
}

}  // namespace hstar::bindings
