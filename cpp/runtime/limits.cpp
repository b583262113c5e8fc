#include "runtime/limits.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace hstar {

namespace {
volatile sig_atomic_t g_signal = 0;
void note_signal(int signal) {
    g_signal = signal;
}

uint64_t read_status_kb(const char* field) {
    FILE* file = std::fopen("/proc/self/status", "r");
    if (!file) return 0;
    char line[256];
    unsigned long kb = 0;
    while (std::fgets(line, sizeof line, file))
        if (std::strncmp(line, field, std::strlen(field)) == 0) {
            std::sscanf(line + std::strlen(field), " %lu", &kb);
            break;
        }
    std::fclose(file);
    return kb;
}
}  // namespace

double monotonic_seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

uint64_t resident_bytes() {
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long total = 0, resident = 0;
    int read = std::fscanf(file, "%lu %lu", &total, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

uint64_t peak_resident_bytes() {
    return read_status_kb("VmHWM:") * 1024;
}

void Limits::check_signals() const {
    if (g_signal == SIGINT) throw Stopped{StopReason::Interrupt};
    if (g_signal == SIGTERM) throw Stopped{StopReason::Terminate};
}

void Limits::check() const {
    check_signals();
    if (deadline > 0 && monotonic_seconds() > deadline) throw Stopped{StopReason::Time};
    if (memory_bytes > 0 && resident_bytes() > memory_bytes) throw Stopped{StopReason::Memory};
}

SignalScope::SignalScope() {
    g_signal = 0;
    old_interrupt_ = signal(SIGINT, note_signal);
    old_terminate_ = signal(SIGTERM, note_signal);
}

SignalScope::~SignalScope() {
    signal(SIGINT, old_interrupt_);
    signal(SIGTERM, old_terminate_);
}

}  // namespace hstar
