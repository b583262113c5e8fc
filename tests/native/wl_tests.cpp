// Weisfeiler-Leman features: following states gives what starting from scratch gives.
#include <algorithm>
#include <cmath>
#include <random>

#include "learned/output_model.hpp"
#include "runtime/sort_unique.hpp"
#include "tests.hpp"
#include "wl/operators.hpp"

using namespace hstar;

namespace {

// From scratch, as the definition says: the colours of all vertices after each round.
std::vector<WlColour> wl_colours(const WlGraph& graph, const int* values) {
    const auto vertices = graph.vertices(values);
    const auto keys = graph.position_keys();
    std::vector<WlColour> objects, atoms, all;
    for (int o = 0; o < graph.num_objects(); ++o) objects.push_back(graph.object_colour(o));
    for (auto [atom, look] : vertices) atoms.push_back(graph.atom(atom).colour[look]);
    const auto append = [&] {
        all.insert(all.end(), objects.begin(), objects.end());
        all.insert(all.end(), atoms.begin(), atoms.end());
    };
    append();
    for (int round = 1; round <= graph.rounds(); ++round) {
        std::vector<std::vector<uint64_t>> shares(objects.size());  // what each object's neighbours add
        std::vector<WlColour> new_atoms;
        for (size_t a = 0; a < atoms.size(); ++a) {
            const auto args = graph.args(vertices[a].atom);
            uint64_t sum = 0;
            for (size_t position = 0; position < args.size(); ++position) {
                sum += neighbour_share(keys[position], objects[args[position]]);
                shares[args[position]].push_back(neighbour_share(keys[position], atoms[a]));
            }
            new_atoms.push_back(next_colour(atoms[a], round, sum));
        }
        for (size_t o = 0; o < objects.size(); ++o) {
            if (graph.is_set()) sort_unique(shares[o]);
            uint64_t sum = 0;
            for (uint64_t share : shares[o]) sum += share;
            objects[o] = next_colour(objects[o], round, sum);
        }
        atoms = new_atoms;
        append();
    }
    return all;
}

std::vector<int> plain_counts(const WlGraph& graph, const ColourTable& table, const State& state) {
    std::vector<int> counts(table.num_features());
    for (WlColour colour : wl_colours(graph, state.data()))
        if (table.feature(colour) >= 0) ++counts[table.feature(colour)];
    return counts;
}

// Two thirds of the colours of some states.
std::vector<WlColour> some_colours(const WlGraph& graph, const std::map<State, int>& states,
                                   std::mt19937& random) {
    std::vector<WlColour> colours;
    for (const auto& [state, distance] : states) {
        if (random() % 4 != 0 && !colours.empty()) continue;
        const auto found = wl_colours(graph, state.data());
        colours.insert(colours.end(), found.begin(), found.end());
    }
    std::sort(colours.begin(), colours.end());
    colours.erase(std::unique(colours.begin(), colours.end()), colours.end());
    std::erase_if(colours, [&](WlColour) { return random() % 3 == 0; });
    return colours;
}

}  // namespace

void test_wl(const Task& task, const std::map<State, int>& states, int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<const State*> order;
    for (const auto& [state, distance] : states) order.push_back(&state);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(std::min<size_t>(order.size(), 25));

    WlOptions options{seed % (kMaxWlRounds + 1), seed % 2 == 0, seed % 3 == 0, {}, {}, seed % 7 < 4};
    for (int o = 0; o < static_cast<int>(task.lifted->objects.size()); ++o)
        if (random() % 4 == 0) options.constants.push_back(o);
    const WlGraph graph(task, options);
    const auto colours = some_colours(graph, states, random);
    const ColourTable table(colours);
    IncrementalWl wl(graph, table);
    bool same_state = true, same_successor = true, same_colours = true, is_bounded = true;
    State next(task.num_variables());
    for (const State* state : order) {
        wl.move_to(state->data());
        same_state &= wl.counts() == plain_counts(graph, table, *state);
        auto all = wl.colours(), plain = wl_colours(graph, state->data());
        is_bounded &= static_cast<int64_t>(plain.size()) <= graph.most_vertices() * (options.rounds + 1);
        std::sort(all.begin(), all.end());
        std::sort(plain.begin(), plain.end());
        same_colours &= all == plain;
        for (int op : applicable_by_scan(task, *state)) {
            task.apply(op, state->data(), next.data());
            auto counts = wl.counts();
            const auto& [lost, gained] = wl.successor(op, next.data());
            for (int feature : lost) --counts[feature];
            for (int feature : gained) ++counts[feature];
            same_successor &= counts == plain_counts(graph, table, next);
        }
        same_state &= wl.counts() == plain_counts(graph, table, *state);
    }
    check(same_state, "features that follow states are those from scratch", seed);
    check(same_successor, "features of successors are those from scratch", seed);
    check(same_colours, "colours that follow states are those from scratch", seed);
    check(is_bounded, "no state has more vertices than most_vertices()", seed);

    if (colours.empty()) return;
    std::vector<MlpLayer> layers(1);
    layers[0].bias = {0.25f};
    for (size_t i = 0; i < colours.size(); ++i)
        layers[0].weights.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
    const auto linear = [&] { return make_wl_network(IncrementalWl(graph, table), layers, std::nullopt); };
    const auto follows = linear();
    bool same_bits = true, is_close = true;
    const std::vector<int> first{0};
    for (const State* state : order) {
        const StateBatch batch{state->data(), 1, task.num_variables()};
        float followed, afresh;
        follows->outputs(batch, first, &followed);
        linear()->outputs(batch, first, &afresh);
        same_bits &= followed == afresh;
        double sum = layers[0].bias[0];
        const auto counts = plain_counts(graph, table, *state);
        for (size_t i = 0; i < counts.size(); ++i) sum += counts[i] * layers[0].weights[i];
        is_close &= std::fabs(sum - afresh) < 1e-5 * (1 + std::fabs(sum));
    }
    // Ranks of operators do not depend on where the model was before.
    IncrementalWl anywhere(graph, table);
    const WlOperators operators(task, {});
    std::vector<WlColour> of_operator, ranked;
    for (const State* state : order) {
        anywhere.move_to(state->data());
        for (int op : applicable_by_scan(task, *state)) {
            if (task.is_artificial(op)) continue;
            operators.colours(anywhere, op, of_operator);
            ranked.push_back(of_operator[random() % of_operator.size()]);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    const auto repeated = std::ranges::unique(ranked);
    ranked.erase(repeated.begin(), repeated.end());
    std::vector<float> weights;
    for (size_t i = 0; i < ranked.size(); ++i) weights.push_back(static_cast<float>(random() % 100));
    const auto ranking = [&] {
        return make_wl_network(IncrementalWl(graph, table), layers, WlRanking(operators, ranked, weights));
    };
    const auto ranks = ranking();
    bool same_ranks = ranks->ranks_operators();
    for (const State* state : order) {
        const std::vector<int> ops = applicable_by_scan(task, *state);
        std::vector<float> followed(ops.size()), afresh(ops.size());
        ranks->rank_operators(state->data(), ops, followed.data());
        ranking()->rank_operators(state->data(), ops, afresh.data());
        same_ranks &= followed == afresh;
    }
    check(same_ranks, "ranks of operators that follow states are those from scratch", seed);
    check(same_bits, "a linear function that follows states has the bits of one from scratch", seed);
    check(is_close, "a linear function is the sum of weights and counts", seed);
}
