// Threads that take turns: one of them runs, the others wait. So each has its share of one core, whatever
// else the machine does, and none loses what it has done when its turn ends.
#pragma once
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace hstar {

class Turns {
  public:
    // How many seconds the turns of each thread have.
    explicit Turns(std::vector<double> seconds)
        : is_here_(seconds.size(), true), seconds_(std::move(seconds)) {}

    void enter(size_t who);  // waits for the first turn
    void pass(size_t who);   // lets the next one run if the turn is over; throws Stopped if all is over
    // The thread needs no more turns; with `all` nobody does.
    void leave(size_t who, bool all);

  private:
    void wait(std::unique_lock<std::mutex>& lock, size_t who);
    void hand_over();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<bool> is_here_;
    std::vector<double> seconds_;
    size_t running_ = 0;
    double end_ = 0;  // of the present turn
    bool is_over_ = false;
};

}  // namespace hstar
