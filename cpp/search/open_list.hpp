// OPEN: entries ordered by (f, h), first in first out among equals.
//
// Buckets in a sorted map: heuristics have few distinct values, so most operations hit the bucket used last.
// Entries are links in one pool, reused once popped.
#pragma once
#include <cstdint>
#include <map>

#include "runtime/chunked_array.hpp"

namespace hstar {

struct OpenKey {
    double f;
    float h;
    auto operator<=>(const OpenKey&) const = default;
};

template <class Entry>
class OpenList {
  public:
    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    const Entry& top() const { return pool_[buckets_.begin()->second.first].entry; }

    void push(OpenKey key, Entry entry) {
        uint32_t link = free_;
        if (link != kNil) {
            free_ = pool_[link].next;
        } else {
            link = pool_size_++;
            pool_.grow_to(pool_size_);
        }
        pool_[link] = {entry, kNil};
        if (recent_ == buckets_.end() || recent_->first != key) recent_ = buckets_.try_emplace(key).first;
        Bucket& bucket = recent_->second;
        if (bucket.last == kNil)
            bucket.first = link;
        else
            pool_[bucket.last].next = link;
        bucket.last = link;
        ++size_;
    }

    Entry pop() {
        auto best = buckets_.begin();
        Bucket& bucket = best->second;
        uint32_t link = bucket.first;
        Entry entry = pool_[link].entry;
        bucket.first = pool_[link].next;
        pool_[link].next = free_;
        free_ = link;
        if (bucket.first == kNil) {
            if (recent_ == best) recent_ = buckets_.end();
            buckets_.erase(best);
        }
        --size_;
        return entry;
    }

  private:
    static constexpr uint32_t kNil = 0xffffffffu;
    struct Link {
        Entry entry;
        uint32_t next;
    };
    struct Bucket {
        uint32_t first = kNil, last = kNil;
    };
    using Buckets = std::map<OpenKey, Bucket>;
    Buckets buckets_;
    typename Buckets::iterator recent_ = buckets_.end();
    ChunkedArray<Link> pool_;
    uint32_t pool_size_ = 0;
    uint32_t free_ = kNil;
    size_t size_ = 0;
};

}  // namespace hstar
