#include "search/open_list.hpp"

namespace hstar {

void OpenList::push(OpenKey key, OpenEntry entry) {
    uint32_t link;
    if (free_ != kNil) {
        link = free_;
        free_ = pool_[link].next;
        pool_[link] = {entry, kNil};
    } else {
        link = pool_size_++;
        pool_.grow_to(pool_size_);
        pool_[link] = {entry, kNil};
    }
    if (recent_ == buckets_.end() || recent_->first != key) recent_ = buckets_.try_emplace(key).first;
    Bucket& bucket = recent_->second;
    if (bucket.last == kNil)
        bucket.first = link;
    else
        pool_[bucket.last].next = link;
    bucket.last = link;
    ++size_;
}

OpenEntry OpenList::pop() {
    auto best = buckets_.begin();
    Bucket& bucket = best->second;
    uint32_t link = bucket.first;
    OpenEntry entry = pool_[link].entry;
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

}  // namespace hstar
