#include "heuristics/wide_exploration.hpp"

#include "lanes/cost_lanes.hpp"

namespace hstar {

static void link(WideKernelData& d, int before, int after) {
    d.next[before] = after;
    d.previous[after] = before;
}

static void unlink(WideKernelData& d, int fact) {
    link(d, d.previous[fact], d.next[fact]);
    d.queued_key[fact] = -1;
}

static void enqueue(WideKernelData& d, int fact, int key) {
    const int bucket = d.num_facts + key;
    const int before = d.oldest_first ? d.previous[bucket] : bucket, after = d.next[before];
    d.queued_key[fact] = key;
    link(d, before, fact);
    link(d, fact, after);
}

// Cost of the record's operator in all lanes.
template <bool sum>
static inline Lanes operator_cost(const WideKernelData& d, const int* record) {
    const int* pre = record + 3;
    Lanes total = load(d.cost + static_cast<int64_t>(pre[0]) * kLanes);
    for (int i = 1; i < record[1]; ++i) {
        Lanes other = load(d.cost + static_cast<int64_t>(pre[i]) * kLanes);
        total = sum ? add(total, other) : max(total, other);
    }
    return add(total, fill(static_cast<uint16_t>(record[0])));
}

// The free steps (relaxed_exploration.hpp) by which the record's operator reaches its effects at this cost.
static inline Lanes operator_free_steps(const WideKernelData& d, const int* record, Lanes value) {
    const int* pre = record + 3;
    Lanes steps = fill(0);
    if (record[0] > 0) return steps;
    for (int i = 0; i < record[1]; ++i) {
        const int64_t place = static_cast<int64_t>(pre[i]) * kLanes;
        const LaneMask same_cost = equal(load(d.cost + place), value);
        steps = max(steps, select(same_cost, add(load(d.free_steps + place), fill(1)), fill(0)));
    }
    return steps;
}

template <bool sum, bool with_free_steps>
static bool explore_lanes(WideKernelData& d, const int* seeds, int num_seeds) {
    int queued = 0, key = 0, settled_goals = 0;
    LaneMask large = 0;
    const Lanes limit = fill(static_cast<uint16_t>(d.cost_limit));
    for (int i = 0; i < num_seeds; ++i)
        if (d.queued_key[seeds[i]] < 0) enqueue(d, seeds[i], 0), ++queued;
    while (queued > 0) {
        const int fact = d.next[d.num_facts + key];
        if (fact >= d.num_facts) {
            // All costs up to this key are final; goals settled once stay settled.
            const Lanes bound = fill(static_cast<uint16_t>(key));
            while (settled_goals < d.num_goals &&
                   less(bound, load(d.cost + static_cast<int64_t>(d.goals[settled_goals]) * kLanes)) == 0)
                ++settled_goals;
            if (settled_goals == d.num_goals) break;
            ++key;
            continue;
        }
        unlink(d, fact);
        --queued;
        for (uint32_t c = d.consumer_begin[fact]; c < d.consumer_begin[fact + 1]; ++c) {
            const int* record = d.records + d.consumers[c];
            const Lanes value = operator_cost<sum>(d, record);
            const Lanes steps = with_free_steps ? operator_free_steps(d, record, value) : value;
            const int* eff = record + 3 + record[1];
            for (int i = 0; i < record[2]; ++i) {
                const int64_t place = static_cast<int64_t>(eff[i]) * kLanes;
                const Lanes old = load(d.cost + place);
                LaneMask improved = less(value, old);
                if (with_free_steps) {
                    const Lanes old_steps = load(d.free_steps + place);
                    improved |= equal(value, old) & less(steps, old_steps);
                    if (improved) store(d.free_steps + place, select(improved, steps, old_steps));
                }
                if (!improved) continue;
                store(d.cost + place, min(value, old));
                large |= improved & ~less(value, limit);
                const int new_key = smallest(value, improved);
                if (d.queued_key[eff[i]] >= 0) {
                    if (d.queued_key[eff[i]] <= new_key) continue;
                    unlink(d, eff[i]);
                    --queued;
                }
                enqueue(d, eff[i], new_key);
                ++queued;
            }
        }
    }
    // Leave the queue empty for the next call.
    for (; queued > 0; ++key)
        for (int fact; (fact = d.next[d.num_facts + key]) < d.num_facts; --queued) unlink(d, fact);
    // A finite cost is exact; one that is missing may be missing because a sum overflowed.
    if (!large) return true;
    while (settled_goals < d.num_goals &&
           less(load(d.cost + static_cast<int64_t>(d.goals[settled_goals]) * kLanes), fill(65535)) ==
               ~LaneMask{0})
        ++settled_goals;
    return settled_goals == d.num_goals;
}

static bool explore(WideKernelData& d, const int* seeds, int num_seeds, bool sum) {
    if (!sum) return explore_lanes<false, false>(d, seeds, num_seeds);
    return d.free_steps ? explore_lanes<true, true>(d, seeds, num_seeds)
                        : explore_lanes<true, false>(d, seeds, num_seeds);
}

template <bool with_free_steps>
static void extract_lanes(WideKernelData& d, uint32_t lanes) {
    int stack_size = 0;
    d.plan_size = 0;
    d.num_needed_facts = 0;
    auto need = [&](int fact, LaneMask by) {
        const LaneMask added = by & ~d.needed[fact];
        if (!added) return;
        if (!d.needed[fact]) d.needed_facts[d.num_needed_facts++] = fact;
        if (!d.pending[fact]) d.stack[stack_size++] = fact;
        d.needed[fact] |= added;
        d.pending[fact] |= added;
    };
    for (int i = 0; i < d.num_goals; ++i) need(d.goals[i], lanes);
    while (stack_size > 0) {
        const int fact = d.stack[--stack_size];
        const Lanes cost = load(d.cost + static_cast<int64_t>(fact) * kLanes);
        const Lanes steps =
            with_free_steps ? load(d.free_steps + static_cast<int64_t>(fact) * kLanes) : fill(0);
        LaneMask open = d.pending[fact] & ~(equal(cost, fill(0)) & equal(steps, fill(0)));
        d.pending[fact] = 0;
        // The first achiever of least cost and free steps supports the fact, as in the exploration of single
        // states.
        for (uint32_t a = d.achiever_begin[fact]; open; ++a) {
            const int* record = d.records + d.achievers[a];
            LaneMask chosen = open & equal(operator_cost<true>(d, record), cost);
            if (with_free_steps && chosen) chosen &= equal(operator_free_steps(d, record, cost), steps);
            if (!chosen) continue;
            open &= ~chosen;
            const int op = d.achiever_origin[a];
            if (d.in_plan[op] == 0) d.plan[d.plan_size++] = op;
            d.in_plan[op] |= chosen;
            for (int i = 0; i < record[1]; ++i) need(record[3 + i], chosen);
        }
    }
}

static void extract(WideKernelData& d, uint32_t lanes) {
    d.free_steps ? extract_lanes<true>(d, lanes) : extract_lanes<false>(d, lanes);
}

WideKernel HSTAR_WIDE() {
    return {explore, extract};
}

}  // namespace hstar
