#include "runtime/limits.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>

#include "runtime/turns.hpp"

namespace hstar {

namespace {
std::atomic<int> g_signal{0};            // the signal that arrived, 0 if none
std::atomic<bool> g_is_reported{false};  // some check() has thrown because of it
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may not lock");
void note_signal(int signal) {
    g_signal = signal;
}

// Signal handlers are global to the process, so all scopes share them.
constexpr int kSignals[] = {SIGINT, SIGTERM};
std::mutex g_scopes_mutex;
int g_num_scopes = 0;
struct sigaction g_old_handlers[2];

uint64_t resident_bytes() {
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long total = 0, resident = 0;
    int read = std::fscanf(file, "%lu %lu", &total, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}
}  // namespace

double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t peak_resident_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (uint64_t kilobytes; word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
    return 0;
}

void Limits::check() const {
    if (const int signal = g_signal) {
        g_is_reported = true;
        throw Stopped{signal == SIGINT ? StopReason::Interrupt : StopReason::Terminate};
    }
    if (deadline > 0 && monotonic_seconds() > deadline) throw Stopped{StopReason::Time};
    if (memory_bytes > 0 && resident_bytes() > memory_bytes) throw Stopped{StopReason::Memory};
    if (turns) turns->pass(place);
}

SignalScope::SignalScope() {
    std::lock_guard lock(g_scopes_mutex);
    if (g_num_scopes++ > 0) return;
    struct sigaction ours = {};
    ours.sa_handler = note_signal;
    ours.sa_flags = SA_RESTART;
    for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &ours, &g_old_handlers[i]);
}

SignalScope::~SignalScope() {
    int unreported = 0;
    {
        std::lock_guard lock(g_scopes_mutex);
        if (--g_num_scopes > 0) return;
        for (int i = 0; i < 2; ++i) {
            struct sigaction current;
            sigaction(kSignals[i], nullptr, &current);
            // A handler that someone else installed in the meantime stays.
            if (current.sa_handler == note_signal) sigaction(kSignals[i], &g_old_handlers[i], nullptr);
        }
        if (!g_is_reported) unreported = g_signal;
        g_signal = 0;
        g_is_reported = false;
    }
    if (unreported) raise(unreported);
}

}  // namespace hstar
