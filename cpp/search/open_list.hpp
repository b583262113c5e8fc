// OPEN: entries ordered by (f, h), first in first out among equals.
//
// Buckets in a sorted map: heuristics have few distinct values, so most operations hit the bucket used last.
// Entries are links of 12 bytes in one pool, reused once popped.
#pragma once
#include <cstdint>
#include <map>

#include "chunked_array.hpp"

namespace hstar {

struct OpenKey {
    double f;
    float h;
    auto operator<=>(const OpenKey&) const = default;
};

struct OpenEntry {
    uint32_t state;
    int op;  // lazy search: the operator to apply to the state; eager search: unused
};

class OpenList {
  public:
    void push(OpenKey key, OpenEntry entry);
    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    OpenKey best_key() const { return buckets_.begin()->first; }
    OpenEntry top() const { return pool_[buckets_.begin()->second.first].entry; }
    OpenEntry pop();

  private:
    static constexpr uint32_t kNil = 0xffffffffu;
    struct Link {
        OpenEntry entry;
        uint32_t next;
    };
    struct Bucket {
        uint32_t first = kNil, last = kNil;
    };
    using Buckets = std::map<OpenKey, Bucket>;
    Buckets buckets_;
    Buckets::iterator recent_ = buckets_.end();
    ChunkedArray<Link> pool_;
    uint32_t pool_size_ = 0;
    uint32_t free_ = kNil;
    size_t size_ = 0;
};

}  // namespace hstar
