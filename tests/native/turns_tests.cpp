// Threads that take turns: who runs when, by a clock that only the one that runs moves.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "runtime/turns.hpp"
#include "tests.hpp"

using namespace hstar;

namespace {

std::atomic<double> g_now = 0;

double now() {
    return g_now;
}

// What one thread does: steps that take so long, after each of which it looks whether its turn is over.
struct Part {
    double seconds_of_step = 1;
    int steps = 1;
    bool ends_all = false;
};

struct Run {
    std::string order;  // which thread made each step
    std::vector<bool> is_stopped;
};

// The order needs no lock: it is the turns that keep threads apart.
Run run(std::vector<double> seconds, const std::vector<Part>& parts, size_t num_started) {
    g_now = 0;
    Turns turns(std::move(seconds), now);
    Run result{"", std::vector<bool>(parts.size())};
    std::vector<char> is_stopped(parts.size());
    auto work = [&](size_t who) {
        bool ends_all = false;
        try {
            turns.enter(who);
            for (int step = 0; step < parts[who].steps; ++step) {
                if (step) turns.pass(who);
                result.order += static_cast<char>('a' + who);
                g_now = g_now + parts[who].seconds_of_step;
            }
            ends_all = parts[who].ends_all;
        } catch (const Stopped&) {
            is_stopped[who] = true;
        }
        turns.leave(who, ends_all);
    };
    std::vector<std::thread> threads;
    for (size_t who = 0; who < num_started; ++who) threads.emplace_back(work, who);
    for (size_t who = num_started; who < parts.size(); ++who) turns.leave(who, false);
    for (std::thread& thread : threads) thread.join();
    result.is_stopped.assign(is_stopped.begin(), is_stopped.end());
    return result;
}

}  // namespace

void test_turns(int seed) {
    Run plain = run({1, 1, 1}, {{1, 3}, {1, 2}, {1, 4}}, 3);
    check(plain.order == "abcabcacc", "threads take turns in order, until each has left", seed);
    check(std::count(plain.is_stopped.begin(), plain.is_stopped.end(), true) == 0, "none is stopped", seed);

    check(run({2, 4}, {{1, 4}, {1, 8}}, 2).order == "aabbbbaabbbb", "turns have their own lengths", seed);
    check(run({1, 1}, {{5, 2}, {1, 12}}, 2).order == "abbbbbabbbbbbb",
          "who runs for too long waits until the others have had as much", seed);
    check(run({1}, {{1, 3}}, 1).order == "aaa", "one thread has all turns", seed);

    Run ended = run({1, 1, 1}, {{1, 100}, {1, 3, true}, {1, 100}}, 3);
    check(ended.order == "abcabcab", "one thread ends all", seed);
    check(ended.is_stopped == std::vector<bool>{true, false, true}, "the others are stopped", seed);
    ended = run({1, 1}, {{1, 1, true}, {1, 100}}, 2);
    check(ended.order == "a" && ended.is_stopped[1], "who never had a turn is stopped, too", seed);

    check(run({1, 1, 1}, {{1, 2}, {1, 2}, {1, 2}}, 2).order == "abab", "who never comes is skipped", seed);
    check(run({1, 1}, {{1, 2}, {1, 2}}, 0).order.empty(), "nobody need come", seed);

    // Whatever threads do, nobody waits forever and nothing is lost.
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<double> seconds;
    std::vector<Part> parts;
    size_t steps = 0;
    for (size_t count = 1 + random() % 6; parts.size() < count;) {
        seconds.push_back(0.5 + static_cast<double>(random() % 4));
        parts.push_back({static_cast<double>(random() % 3), static_cast<int>(random() % 30)});
        steps += static_cast<size_t>(parts.back().steps);
    }
    check(run(seconds, parts, parts.size()).order.size() == steps, "every thread makes its steps", seed);
}
