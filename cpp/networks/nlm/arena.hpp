// An arena allocator: pieces are freed all at once, and the memory is reused for the next state. Pieces are
// aligned to 64 bytes and not initialised.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace hstar {

class Arena {
  public:
    template <class T>
    T* take(int64_t count) {
        size_t bytes = (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
#ifdef __SANITIZE_ADDRESS__
        add_block(static_cast<size_t>(count) *
                  sizeof(T));  // a piece of its own, so that its ends are guarded
        return reinterpret_cast<T*>(blocks_.back().memory.get());
#endif
        while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].size) {
            ++block_;
            used_ = 0;
        }
        if (block_ == blocks_.size()) add_block(bytes);
        T* piece = reinterpret_cast<T*>(blocks_[block_].memory.get() + used_);
        used_ += bytes;
        return piece;
    }
    template <class T>
    T* take_zeros(int64_t count) {
        T* piece = take<T>(count);
        std::memset(static_cast<void*>(piece), 0, static_cast<size_t>(count) * sizeof(T));
        return piece;
    }
    template <class T>
    std::span<const T> copy(std::span<const T> items) {
        T* piece = take<T>(static_cast<int64_t>(items.size()));
        std::uninitialized_copy(items.begin(), items.end(), piece);
        return {piece, items.size()};
    }
    void clear() {
        block_ = used_ = 0;
#ifdef __SANITIZE_ADDRESS__
        blocks_.clear();
#endif
    }

  private:
    static constexpr size_t kBlockBytes = size_t{1} << 20;
    struct Free {
        void operator()(unsigned char* p) const { ::operator delete(p, std::align_val_t(64)); }
    };
    struct Block {
        std::unique_ptr<unsigned char, Free> memory;
        size_t size;
    };
    void add_block(size_t bytes) {
        size_t size = bytes > kBlockBytes ? bytes : kBlockBytes;
#ifdef __SANITIZE_ADDRESS__
        size = bytes;
#endif
        auto* memory = static_cast<unsigned char*>(::operator new(size, std::align_val_t(64)));
        blocks_.push_back({std::unique_ptr<unsigned char, Free>(memory), size});
        used_ = 0;
    }
    std::vector<Block> blocks_;
    size_t block_ = 0, used_ = 0;
};

}  // namespace hstar
