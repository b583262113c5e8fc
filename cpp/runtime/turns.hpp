// Threads that take turns: one of them runs, the others wait. So each has its share of one core, whatever
// else the machine does, and none loses what it has done when its turn ends. The shares are as the lengths of
// the turns, also where a thread looks at the clock too late: the others then have turns until they are even.
#pragma once
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/limits.hpp"

namespace hstar {

class Turns {
  public:
    // How many seconds the turns of each thread have; all are positive.
    explicit Turns(std::vector<double> seconds, double (*clock)() = monotonic_seconds)
        : clock_(clock),
          is_here_(seconds.size(), true),
          used_(seconds.size(), 0.0),
          seconds_(std::move(seconds)) {}

    void enter(size_t who);  // waits for the first turn
    void pass(size_t who);   // lets the next one run if the turn is over; throws Stopped if all is over
    // The thread needs no more turns, even if it never entered; with `all` nobody does.
    void leave(size_t who, bool all);

  private:
    void wait(std::unique_lock<std::mutex>& lock, size_t who);
    void hand_over();

    double (*clock_)();
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<bool> is_here_;
    std::vector<double> used_;  // how many seconds each thread has run
    std::vector<double> seconds_;
    size_t running_ = 0;
    double start_ = 0;  // of the present turn
    bool is_over_ = false;
};

}  // namespace hstar
