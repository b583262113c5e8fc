// Limits of time and memory, and signals, for everything that may run long. Code calls check() now and then;
// it throws Stopped, and whoever owns the work returns what is known so far.
#pragma once
#include <cstdint>

namespace hstar {

enum class StopReason { Time, Memory, Interrupt, Terminate };

struct Stopped {
    StopReason reason;
};

struct Limits {
    double deadline = 0;        // seconds of the monotonic clock; 0: none
    uint64_t memory_bytes = 0;  // resident size of the process; 0: none

    void check() const;          // reads the clock and the resident size: call it every millisecond or so
    void check_signals() const;  // cheap
};

double monotonic_seconds();
uint64_t resident_bytes();
uint64_t peak_resident_bytes();

// While one exists, SIGINT and SIGTERM are noted for check() instead of ending the process.
class SignalScope {
  public:
    SignalScope();
    ~SignalScope();
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;

  private:
    void (*old_interrupt_)(int);
    void (*old_terminate_)(int);
};

}  // namespace hstar
