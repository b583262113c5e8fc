// Vectors for large tables that are read at random.
#pragma once
#include <vector>

#include "runtime/cache_aligned.hpp"

namespace hstar {

template <class T>
using HugeVector = std::vector<T, CacheAligned<T>>;

}  // namespace hstar
