// OPEN: entries ordered by (f, h), first in first out among equals.
//
// Most heuristics have few distinct values. Then a list is a sorted map of buckets, and most operations use
// the bucket of the one before. Learned values are almost all distinct: when a list has hardly more entries
// than buckets, it turns into a heap, which needs less time and memory per entry. Both have the same order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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
    bool is_heap() const { return is_heap_; }
    const Entry& top() const {
        return is_heap_ ? heap_.front().entry : pool_[buckets_.begin()->second.first].entry;
    }
    Entry& top() { return const_cast<Entry&>(std::as_const(*this).top()); }

    void push(OpenKey key, Entry entry) {
        ++size_;
        if (is_heap_) {
            heap_.push_back({key, entry, pushed_++});
            std::push_heap(heap_.begin(), heap_.end(), comes_later);
            return;
        }
        uint32_t link = free_;
        if (link != kNil) {
            free_ = pool_[link].next;
        } else {
            link = pool_size_++;
            pool_.grow_to(pool_size_);
        }
        pool_[link] = {entry, kNil};
        bool is_known = recent_ != buckets_.end() && recent_->first == key;
        if (!is_known) recent_ = buckets_.try_emplace(key).first;
        Bucket& bucket = recent_->second;
        if (bucket.last == kNil)
            bucket.first = link;
        else
            pool_[bucket.last].next = link;
        bucket.last = link;
        if (!is_known && buckets_.size() > kFewBuckets && buckets_.size() * kPerBucket > size_) make_heap();
    }

    Entry pop() {
        --size_;
        if (is_heap_) {
            std::pop_heap(heap_.begin(), heap_.end(), comes_later);
            Entry entry = heap_.back().entry;
            heap_.pop_back();
            return entry;
        }
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
        return entry;
    }

  private:
    static constexpr uint32_t kNil = 0xffffffffu;
    static constexpr size_t kFewBuckets = 1024, kPerBucket = 4;
    struct Link {
        Entry entry;
        uint32_t next;
    };
    struct Bucket {
        uint32_t first = kNil, last = kNil;
    };
    struct Item {
        OpenKey key;
        Entry entry;
        uint64_t number;  // ascends with time
    };
    static bool comes_later(const Item& a, const Item& b) {
        return a.key != b.key ? a.key > b.key : a.number > b.number;
    }

    void make_heap() {
        heap_.reserve(2 * size_);
        for (const auto& [key, bucket] : buckets_)
            for (uint32_t link = bucket.first; link != kNil; link = pool_[link].next)
                heap_.push_back({key, pool_[link].entry, pushed_++});
        std::make_heap(heap_.begin(), heap_.end(), comes_later);
        buckets_.clear();
        pool_ = {};
        is_heap_ = true;
    }

    using Buckets = std::map<OpenKey, Bucket>;
    Buckets buckets_;
    typename Buckets::iterator recent_ = buckets_.end();
    ChunkedArray<Link> pool_;
    uint32_t pool_size_ = 0;
    uint32_t free_ = kNil;
    size_t size_ = 0;
    bool is_heap_ = false;
    std::vector<Item> heap_;
    uint64_t pushed_ = 0;
};

// Several lists that take turns: the next entry comes from the list that had the fewest turns.
template <class Entry>
class AlternatingLists {
  public:
    explicit AlternatingLists(size_t count) : lists_(count), turns_(count) {}
    OpenList<Entry>& operator[](size_t list) { return lists_[list]; }
    bool empty() const {
        return std::all_of(lists_.begin(), lists_.end(), [](const auto& list) { return list.empty(); });
    }
    // Whose turn it is; not all may be empty.
    size_t next() const {
        size_t best = lists_.size();
        for (size_t i = 0; i < lists_.size(); ++i)
            if (!lists_[i].empty() && (best == lists_.size() || turns_[i] < turns_[best])) best = i;
        return best;
    }
    Entry pop(size_t list) {
        ++turns_[list];
        return lists_[list].pop();
    }
    // A turn that leaves the entry in its place.
    void stay(size_t list) { ++turns_[list]; }
    void boost(size_t list, int turns) { turns_[list] -= turns; }

  private:
    std::vector<OpenList<Entry>> lists_;
    std::vector<int64_t> turns_;
};

}  // namespace hstar
