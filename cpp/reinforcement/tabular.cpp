#include "reinforcement/tabular.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/random.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

// The decision process after shaping, and the table of its values.
class ShapedProcess {
  public:
    ShapedProcess(const StateTable& table, const Shaping& shaping, std::span<const double> h)
        : V(table.size(), 0),
          is_terminal(table.is_goal),
          table_(table),
          shaping_(shaping),
          phi_(table.size(), 0) {
        require(!h.empty() || shaping.potential == Shaping::Potential::None,
                "a potential needs the heuristic value of every state");
        require(h.empty() || h.size() == table.size(), "there are ", table.size(), " states, but ", h.size(),
                " heuristic values");
        for (StateId s = 0; s < h.size(); ++s) {
            require(h[s] >= 0, "the heuristic value of state ", s, " is ", h[s], ", but must be at least 0");
            if (!table.is_goal[s]) phi_[s] = shaping.phi(h[s]);
        }
        for (StateId s = 0; s < table.size(); ++s)
            if (!table.is_goal[s] && (table.successors[s].empty() || (!h.empty() && std::isinf(h[s]))))
                set_dead_end(s);
    }

    void set_dead_end(StateId s) {
        V[s] = shaping_.dead_end_value() - phi_[s];
        is_terminal[s] = true;
    }
    // Q(s, a) per operator that is applicable in s.
    const std::vector<double>& q_values(StateId s) {
        q_.clear();
        for (StateId next : table_.successors[s]) {
            const double reward =
                shaping_.step_reward(table_.is_goal[next]) + shaping_.gamma * phi_[next] - phi_[s];
            q_.push_back(reward + shaping_.gamma * V[next]);
        }
        return q_;
    }

    std::vector<double> V;
    std::vector<uint8_t> is_terminal;

  private:
    const StateTable& table_;
    const Shaping& shaping_;
    std::vector<double> phi_;  // [N]; 0 in goals
    std::vector<double> q_;
};

double max_of(const std::vector<double>& q) {
    return *std::max_element(q.begin(), q.end());
}

// pi(a) = exp(Q(s, a) / tau) / sum; its limit if tau is 0.
std::vector<double> softmax(const std::vector<double>& q, double tau) {
    const double best = max_of(q);
    std::vector<double> pi;
    for (double value : q) pi.push_back(tau > 0 ? std::exp((value - best) / tau) : value == best);
    const double sum = std::accumulate(pi.begin(), pi.end(), 0.0);
    for (double& p : pi) p /= sum;
    return pi;
}

size_t draw(const std::vector<double>& pi, Random& random) {
    double left = static_cast<double>(random.bits() >> 11) * 0x1p-53;  // uniform in [0, 1)
    for (size_t a = 0; a + 1 < pi.size(); ++a)
        if ((left -= pi[a]) < 0) return a;
    return pi.size() - 1;
}

}  // namespace

std::optional<StateTable> tabulate(const StateSpace& space, const std::function<bool(int)>& is_no_step,
                                   size_t max_states, const Limits& limits) {
    std::optional<StateGraph> graph = explore_exhaustively(space, max_states, limits);
    if (!graph) return std::nullopt;
    const size_t count = graph->h.size(), variables = static_cast<size_t>(space.num_variables());
    StateTable table{std::move(graph->states), std::vector<uint8_t>(count), std::vector<uint8_t>(count),
                     std::vector<std::vector<StateId>>(count)};
    for (StateId s = 0; s < count; ++s) {
        table.is_goal[s] = space.is_goal(table.states.data() + s * variables);
        table.goal_is_reachable[s] = !std::isinf(graph->h[s]);
    }
    for (const Edge& edge : graph->edges) {
        if (is_no_step(edge.op))
            table.is_goal[edge.parent] = true;
        else
            table.successors[edge.parent].push_back(edge.child);
    }
    return table;
}

std::vector<double> value_iteration(const StateTable& table, const Shaping& shaping,
                                    std::span<const double> h, double tolerance, const Limits& limits) {
    require(tolerance >= 0, "the tolerance must be at least 0, not ", tolerance);
    ShapedProcess process(table, shaping, h);
    // Sweeps would approach the value of these states too slowly: in 10^7 sweeps if gamma is 0.999999. All
    // others get theirs in as many sweeps as they are steps away from the goal, up to rounding.
    for (StateId s = 0; s < table.size(); ++s)
        if (!table.goal_is_reachable[s]) process.set_dead_end(s);
    LimitClock clock(limits);
    double change;
    do {
        change = 0;
        for (StateId s = 0; s < table.size(); ++s) {
            clock.check();
            if (process.is_terminal[s]) continue;
            const double value = max_of(process.q_values(s));
            change = std::max(change, std::abs(value - process.V[s]));
            process.V[s] = value;
        }
    } while (change > tolerance);
    return std::move(process.V);
}

TabularResult tabular_rtdp(const StateTable& table, const Shaping& shaping, std::span<const double> h,
                           const TabularOptions& options, const Limits& limits) {
    require(options.depth >= 1, "an episode needs at least one step");
    require(options.temperature >= 0 && std::isfinite(options.temperature),
            "the temperature must be a number of at least 0, not ", options.temperature);
    ShapedProcess process(table, shaping, h);
    std::vector<StateId> starts;
    for (StateId s = 0; s < (options.random_starts ? table.size() : 1); ++s)
        if (!process.is_terminal[s]) starts.push_back(s);
    TabularResult result;
    Random random(options.seed);
    LimitClock clock(limits);
    for (uint64_t step = 0; step < options.steps && !starts.empty(); ++result.episodes) {
        StateId s = starts[random.below(static_cast<uint32_t>(starts.size()))];
        for (uint64_t t = 0; t < options.depth && step < options.steps && !process.is_terminal[s];
             ++t, ++step) {
            clock.check();
            const std::vector<double>& q = process.q_values(s);
            const std::vector<double> pi = softmax(q, options.temperature);
            process.V[s] =
                options.expectation ? std::inner_product(q.begin(), q.end(), pi.begin(), 0.0) : max_of(q);
            const size_t best = static_cast<size_t>(std::max_element(q.begin(), q.end()) - q.begin());
            s = table.successors[s][options.sample ? draw(pi, random) : best];
        }
        result.goals += table.is_goal[s];
    }
    result.values = std::move(process.V);
    return result;
}

}  // namespace hstar
