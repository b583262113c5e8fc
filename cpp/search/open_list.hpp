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
    const Entry& top() const { return is_heap_ ? heap_.front().entry : buckets_.begin()->second.front(); }
    Entry& top() { return const_cast<Entry&>(std::as_const(*this).top()); }

    void push(OpenKey key, Entry entry) {
        ++size_;
        if (is_heap_) {
            heap_.push_back({key, entry, pushed_++});
            std::push_heap(heap_.begin(), heap_.end(), comes_later);
            return;
        }
        const bool is_known = recent_ != buckets_.end() && recent_->first == key;
        if (!is_known) recent_ = buckets_.try_emplace(key).first;
        recent_->second.entries.push_back(entry);
        if (!is_known && buckets_.size() > kFewBuckets && buckets_.size() * kPerBucket > size_) make_heap();
    }

    Entry pop() {
        --size_;
        const Entry entry = top();
        if (is_heap_) {
            std::pop_heap(heap_.begin(), heap_.end(), comes_later);
            heap_.pop_back();
        } else if (const auto best = buckets_.begin(); best->second.drop_front()) {
            if (recent_ == best) recent_ = buckets_.end();
            buckets_.erase(best);
        }
        return entry;
    }

  private:
    static constexpr size_t kFewBuckets = 1024, kPerBucket = 4;
    struct Bucket {
        std::vector<Entry> entries;
        size_t first = 0;  // those before it were taken

        const Entry& front() const { return entries[first]; }
        // True if it was the last.
        bool drop_front() {
            if (++first == entries.size()) return true;
            if (first % 1024 != 0 || 2 * first < entries.size()) return false;
            entries.erase(entries.begin(), entries.begin() + static_cast<int64_t>(std::exchange(first, 0)));
            return false;
        }
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
            for (size_t i = bucket.first; i < bucket.entries.size(); ++i)
                heap_.push_back({key, bucket.entries[i], pushed_++});
        std::make_heap(heap_.begin(), heap_.end(), comes_later);
        buckets_.clear();
        is_heap_ = true;
    }

    using Buckets = std::map<OpenKey, Bucket>;
    Buckets buckets_;
    typename Buckets::iterator recent_ = buckets_.end();
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
