// Relaxed exploration of up to 32 states at once.
//
// Successors of one state agree on almost everything, so the exploration of 32 of them visits nearly the same
// facts and operators as that of one. Each fact has 32 costs side by side, and one vector instruction does
// for 32 states what the counter-based exploration does for one. Facts wait in buckets by the smallest cost
// that changed; a fact is processed again if some lane improves later (label correcting), which is rare among
// siblings. Of equal keys the newest comes first, which is faster unless operators are free: then a bucket
// fills from itself, and the oldest comes first.
//
// Costs are 16 bits. Where they may not suffice, explore() says so and the caller falls back to one state at
// a time. The kernel works on raw arrays only, because it is compiled once per instruction set.
#pragma once
#include <cstdint>

namespace hstar {

struct WideKernelData {
    // The relaxed task. A record is: cost, number of preconditions, number of effects, preconditions,
    // effects.
    const int* records;
    const uint32_t* consumer_begin;  // per fact, into consumers
    const int* consumers;            // positions of records
    const uint32_t* achiever_begin;  // per fact, into achievers
    const int* achievers;            // positions of records, ascending
    const int* achiever_origin;      // parallel to achievers: the task's operator
    const int* goals;
    int num_goals;
    int num_facts;
    int cost_limit;  // sums of costs below this cannot overflow

    // Work space.
    uint16_t* cost;        // num_facts x 32, aligned to 64 bytes
    uint16_t* free_steps;  // the same; null where no supporters are wanted or no operator is free
    int* next;          // doubly linked rings: a bucket, which is number num_facts + its key, and its facts
    int* previous;      // (num_facts + 65536 entries)
    int* queued_key;    // per fact, -1: not queued
    bool oldest_first;  // of equal keys

    // Relaxed plans, filled by extract().
    uint32_t* needed;   // per fact: lanes whose relaxed plan needs it
    uint32_t* pending;  // per fact: lanes not yet processed; all 0 between calls
    int* stack;         // per fact
    int* needed_facts;  // facts some lane needs: `needed` is to be cleared there
    int num_needed_facts;
    uint32_t* in_plan;  // per operator of the task: lanes; to be cleared for `plan`
    int* plan;          // operators with any lane
    int plan_size;
};

struct WideKernel {
    // `seeds`: facts that hold in some lane; their costs are 0 in those lanes, everything else 65535. All
    // free_steps are 0. False if 16 bits may not suffice.
    bool (*explore)(WideKernelData& data, const int* seeds, int num_seeds, bool sum);
    // After explore(sum = true), with free_steps if operators are free: the relaxed plans of the given lanes.
    void (*extract)(WideKernelData& data, uint32_t lanes);
};

WideKernel wide_portable(), wide_avx2(), wide_avx512();

}  // namespace hstar
