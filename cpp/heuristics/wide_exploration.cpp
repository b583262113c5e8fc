#include "heuristics/wide_exploration.hpp"

#include "lanes/cost_lanes.hpp"

namespace hstar {

static void unlink(WideKernelData& d, int fact) {
    int before = d.previous[fact], after = d.next[fact];
    if (before >= 0)
        d.next[before] = after;
    else
        d.bucket_head[d.queued_key[fact]] = after;
    if (after >= 0) d.previous[after] = before;
    d.queued_key[fact] = -1;
}

static void enqueue(WideKernelData& d, int fact, int key) {
    int head = d.bucket_head[key];
    d.queued_key[fact] = key;
    d.previous[fact] = -1;
    d.next[fact] = head;
    if (head >= 0) d.previous[head] = fact;
    d.bucket_head[key] = fact;
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

template <bool sum>
static WideResult explore_lanes(WideKernelData& d, const int* seeds, int num_seeds) {
    int queued = 0, key = 0, settled_goals = 0;
    LaneMask large = 0;
    const Lanes limit = fill(static_cast<uint16_t>(d.cost_limit));
    for (int i = 0; i < num_seeds; ++i)
        if (d.queued_key[seeds[i]] < 0) enqueue(d, seeds[i], 0), ++queued;
    while (queued > 0) {
        if (d.bucket_head[key] < 0) {
            // All costs up to this key are final; goals settled once stay settled.
            const Lanes bound = fill(static_cast<uint16_t>(key));
            while (settled_goals < d.num_goals &&
                   less(bound, load(d.cost + static_cast<int64_t>(d.goals[settled_goals]) * kLanes)) == 0)
                ++settled_goals;
            if (settled_goals == d.num_goals) break;
            ++key;
            continue;
        }
        int fact = d.bucket_head[key];
        unlink(d, fact);
        --queued;
        for (uint32_t c = d.consumer_begin[fact]; c < d.consumer_begin[fact + 1]; ++c) {
            const int* record = d.records + d.consumers[c];
            const Lanes value = operator_cost<sum>(d, record);
            const int* eff = record + 3 + record[1];
            for (int i = 0; i < record[2]; ++i) {
                uint16_t* place = d.cost + static_cast<int64_t>(eff[i]) * kLanes;
                const Lanes old = load(place);
                const LaneMask improved = less(value, old);
                if (!improved) continue;
                store(place, min(value, old));
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
    // A finite cost is exact; one that is missing may be missing because a sum overflowed.
    // Leave the queue empty for the next call.
    for (; queued > 0; ++key)
        while (d.bucket_head[key] >= 0) unlink(d, d.bucket_head[key]), --queued;
    while (settled_goals < d.num_goals &&
           less(load(d.cost + static_cast<int64_t>(d.goals[settled_goals]) * kLanes), fill(65535)) ==
               ~LaneMask{0})
        ++settled_goals;
    if (settled_goals == d.num_goals) return WideResult::Settled;
    return large ? WideResult::Overflow : WideResult::SomeUnreachable;
}

static WideResult explore(WideKernelData& d, const int* seeds, int num_seeds, bool sum) {
    return sum ? explore_lanes<true>(d, seeds, num_seeds) : explore_lanes<false>(d, seeds, num_seeds);
}

static void extract(WideKernelData& d, uint32_t lanes) {
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
        LaneMask open = d.pending[fact] & ~equal(cost, fill(0));
        d.pending[fact] = 0;
        // The first achiever of least cost supports the fact, as in the exploration of single states.
        for (uint32_t a = d.achiever_begin[fact]; open; ++a) {
            const int* record = d.records + d.achievers[a];
            const LaneMask chosen = open & equal(operator_cost<true>(d, record), cost);
            if (!chosen) continue;
            open &= ~chosen;
            const int op = d.achiever_origin[a];
            if (d.in_plan[op] == 0) d.plan[d.plan_size++] = op;
            d.in_plan[op] |= chosen;
            for (int i = 0; i < record[1]; ++i) need(record[3 + i], chosen);
        }
    }
}

WideKernel HSTAR_WIDE() {
    return {explore, extract};
}

}  // namespace hstar
