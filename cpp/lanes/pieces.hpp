// Cuts rows and vectors into tiles of sizes that the compiler knows. Everything has internal linkage: each
// translation unit that includes this is compiled for its own instruction set, and the linker must not mix
// them.
#pragma once

namespace {

// Calls work<n>(first) for pieces of 0 .. count: as many of n = size as fit, and one of what is left.
template <int size, class Work>
inline void in_tiles(int count, Work&& work, int first = 0) {
    for (; first + size <= count; first += size) work.template operator()<size>(first);
    if constexpr (size > 1) in_tiles<size - 1>(count, work, first);
}

// Calls work<size>(first) for pieces of 0 .. count: as many of the first size as fit, then of the next, the
// last of which is 1.
template <int size, int... others, class Count, class Work>
inline void in_pieces(Count count, Work&& work, Count first = 0) {
    for (; first + size <= count; first += size) work.template operator()<size>(first);
    if constexpr (sizeof...(others) > 0) in_pieces<others...>(count, work, first);
}

}  // namespace
