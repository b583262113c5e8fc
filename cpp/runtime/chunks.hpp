// Runs many independent chunks of work on several threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hstar {

// Each thread calls make(thread number) once and then work(result of make, chunk) for one chunk after the
// other, in any order, until none is left. The caller's thread is number 0. If the system refuses a thread,
// the others do its work. Throws the first exception of any thread, after all threads have ended.
template <class Make, class Work>
void for_each_chunk(uint64_t chunks, int threads, Make make, Work work) {
    std::atomic<uint64_t> next{0};
    std::exception_ptr error;
    std::mutex mutex;
    auto run = [&](int thread) {
        try {
            auto worker = make(thread);
            for (uint64_t chunk = next++; chunk < chunks; chunk = next++) work(*worker, chunk);
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
            next = chunks;
        }
    };
    std::vector<std::thread> others;
    try {
        for (int t = 1; t < threads && static_cast<uint64_t>(t) < chunks; ++t) others.emplace_back(run, t);
    } catch (const std::exception&) {  // no thread or no memory left: go on with fewer
    }
    run(0);
    for (std::thread& other : others) other.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace hstar
