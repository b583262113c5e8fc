#include "runtime/turns.hpp"

namespace hstar {

void Turns::enter(size_t who) {
    std::unique_lock lock(mutex_);
    wait(lock, who);
}

void Turns::pass(size_t who) {
    std::unique_lock lock(mutex_);
    const double used = clock_() - start_;
    if (used < seconds_[who]) return;
    used_[who] += used;
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
    start_ = clock_();
}

void Turns::hand_over() {
    const size_t count = is_here_.size();
    size_t chosen = count;  // who has had least of its share, the next one if several have
    for (size_t step = 1; step <= count; ++step) {
        const size_t next = (running_ + step) % count;
        if (!is_here_[next]) continue;
        if (chosen == count || used_[next] / seconds_[next] < used_[chosen] / seconds_[chosen]) chosen = next;
    }
    if (chosen == count) return;
    running_ = chosen;
    changed_.notify_all();
}

}  // namespace hstar
