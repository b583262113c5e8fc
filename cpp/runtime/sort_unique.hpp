#pragma once
#include <algorithm>

namespace hstar {

// Sorts and removes duplicates.
template <class Items>
void sort_unique(Items& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace hstar
