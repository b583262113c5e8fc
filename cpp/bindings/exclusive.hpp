// Keeps threads from using an object of the core at once, where it has work space of its own.
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/limits.hpp"
#include "runtime/require.hpp"

namespace hstar::bindings {

namespace nb = nanobind;

struct StoppedError : std::runtime_error {
    using std::runtime_error::runtime_error;
    explicit StoppedError(Stopped stopped) : StoppedError(kReasons[static_cast<int>(stopped.reason)]) {}
    static constexpr const char* kReasons[] = {"time", "memory", "interrupt", "terminate"};
};

class Exclusive {
  public:
    using Lock = std::unique_lock<std::timed_mutex>;

    // Waits without the GIL, whether or not the caller has it; signals end that. A function of Python that a
    // search calls must not wait for what this search holds: it would wait forever.
    // Throws std::invalid_argument, StoppedError.
    Lock lock() {
        for (const Holder* holder = innermost_; holder; holder = holder->outer_)
            require(!holder->held_.contains(this),
                    "the search that calls this function, or one that takes turns with it, uses the same "
                    "heuristic; bind or make another one for the function");
        Lock lock(mutex_, std::try_to_lock);
        if (lock) return lock;
        std::optional<nb::gil_scoped_release> release;
        if (PyGILState_Check()) release.emplace();
        while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
            try {
                Limits().check();
            } catch (const Stopped& stopped) {
                throw StoppedError(stopped);
            }
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return lock;
    }

    using Set = std::set<Exclusive*>;
    // Everyone locks them in this order, and all at once, so that nobody waits in a circle.
    static std::vector<Lock> lock_all(const Set& set) {
        std::vector<Lock> locks;
        for (Exclusive* one : set) locks.push_back(one->lock());
        return locks;
    }

    // While it exists, this thread works for someone who holds the set.
    class Holder {
      public:
        explicit Holder(const Set& held) : held_(held), outer_(innermost_) { innermost_ = this; }
        ~Holder() { innermost_ = outer_; }
        Holder(const Holder&) = delete;
        Holder& operator=(const Holder&) = delete;

      private:
        friend class Exclusive;
        const Set& held_;
        const Holder* outer_;
    };

  private:
    static inline thread_local const Holder* innermost_ = nullptr;
    std::timed_mutex mutex_;
};

}  // namespace hstar::bindings
