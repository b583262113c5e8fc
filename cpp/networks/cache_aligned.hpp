// An allocator for vectors that begin with a cache line.
#pragma once
#include <cstddef>
#include <new>

namespace hstar {

template <class T>
struct CacheAligned {
    using value_type = T;
    static constexpr std::align_val_t kAlignment{64};
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
    void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
    bool operator==(const CacheAligned&) const { return true; }
};

}  // namespace hstar
