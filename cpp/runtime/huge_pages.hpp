// Vectors for large tables that are read at random. Pages of 2 MB instead of 4 KB save most page table walks.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace hstar {

template <class T>
struct HugePageAllocator {
    using value_type = T;
    HugePageAllocator() = default;
    template <class U>
    HugePageAllocator(const HugePageAllocator<U>&) {}

    T* allocate(size_t count) {
        constexpr size_t kPage = size_t{1} << 21;
        size_t bytes = count * sizeof(T);
        bool is_large = bytes >= 2 * kPage;
        if (is_large) bytes = (bytes + kPage - 1) / kPage * kPage;
        void* memory = is_large ? std::aligned_alloc(kPage, bytes) : std::malloc(bytes);
        if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);  // only advice, so failure does no harm
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t) { std::free(memory); }
    bool operator==(const HugePageAllocator&) const { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace hstar
