// An allocator for vectors that begin with a cache line. Large ones get pages of 2 MB where the system has
// them: they are read at random, and that saves most page table walks.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace hstar {

template <class T>
struct CacheAligned {
    using value_type = T;
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(size_t count) {
        void* memory = ::operator new(count * sizeof(T), alignment(count));
#ifdef MADV_HUGEPAGE
        if (alignment(count) == kHugePage) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // mere advice
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, size_t count) { ::operator delete(memory, alignment(count)); }
    bool operator==(const CacheAligned&) const { return true; }

  private:
    static constexpr std::align_val_t kCacheLine{64}, kHugePage{size_t{1} << 21};
    static constexpr std::align_val_t alignment(size_t count) {
        return count * sizeof(T) < (size_t{1} << 22) ? kCacheLine : kHugePage;
    }
};
template <class T>
using AlignedVector = std::vector<T, CacheAligned<T>>;

}  // namespace hstar
