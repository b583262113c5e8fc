#include "runtime/turns.hpp"

#include "runtime/limits.hpp"

namespace hstar {

void Turns::enter(size_t who) {
    std::unique_lock lock(mutex_);
    wait(lock, who);
}

void Turns::pass(size_t who) {
    std::unique_lock lock(mutex_);
    if (monotonic_seconds() < end_) return;
    hand_over();
    wait(lock, who);
}

void Turns::leave(size_t who, bool all) {
    std::lock_guard lock(mutex_);
    is_here_[who] = false;
    is_over_ |= all;
    if (running_ == who) hand_over();
    changed_.notify_all();
}

void Turns::wait(std::unique_lock<std::mutex>& lock, size_t who) {
    changed_.wait(lock, [&] { return is_over_ || running_ == who; });
    if (is_over_) throw Stopped{StopReason::Time};
    end_ = monotonic_seconds() + seconds_[who];
}

void Turns::hand_over() {
    for (size_t step = 1; step <= is_here_.size(); ++step) {
        const size_t next = (running_ + step) % is_here_.size();
        if (!is_here_[next]) continue;
        running_ = next;
        changed_.notify_all();
        return;
    }
}

}  // namespace hstar
