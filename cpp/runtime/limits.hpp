// Limits of time and memory, and signals, for all long-running code. Such code calls check() regularly, which
// throws Stopped; the owner of the work catches it and returns what is known so far.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hstar {

enum class StopReason { Time, Memory, Interrupt, Terminate };

struct Stopped {
    StopReason reason;
};

class Turns;

struct Limits {
    double deadline = 0;        // seconds of the monotonic clock; 0: none
    uint64_t memory_bytes = 0;  // resident size of the process; 0: none
    Turns* turns = nullptr;     // with others that check() lets run now and then
    size_t place = 0;           // among them

    void check() const;  // reads the clock and the resident size: call it every millisecond or so
};

// Checks limits about every `kUnits` units of work (about ten nanoseconds each), however the work is spread
// over calls.
class WorkMeter {
  public:
    explicit WorkMeter(const Limits& limits) : limits_(limits) {}
    void spend(uint64_t units = 1) {
        if ((spent_ += units) < kUnits) return;
        spent_ = 0;
        limits_.check();
    }

  private:
    static constexpr uint64_t kUnits = 1 << 14;
    const Limits& limits_;
    uint64_t spent_ = 0;
};

double monotonic_seconds();
uint64_t peak_resident_bytes();

// Checks limits every few milliseconds, however often it is asked.
class LimitClock {
  public:
    explicit LimitClock(const Limits& limits) : limits_(limits) {}
    void check() {
        const double now = monotonic_seconds();
        if (now < next_check_) return;
        limits_.check();
        next_check_ = now + 0.005;
    }

  private:
    const Limits& limits_;
    double next_check_ = 0;
};

// While at least one exists, in any thread, SIGINT and SIGTERM are recorded for check() instead of ending the
// process. A signal stops all work that calls check(). If nothing has been stopped by the time the last scope
// ends, the signal is raised again for the previous handlers, so it is never lost.
class SignalScope {
  public:
    SignalScope();
    ~SignalScope();
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;
};

}  // namespace hstar
