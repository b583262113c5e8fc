// An array in chunks: elements keep their address, growing allocates one chunk and never copies.
#pragma once
#include <memory>
#include <vector>

namespace hstar {

template <class T>
class ChunkedArray {
  public:
    static constexpr size_t kShift = 12, kChunk = size_t{1} << kShift;
    void grow_to(size_t size) {
        while (chunks_.size() * kChunk < size) chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
    }
    T& operator[](size_t i) { return chunks_[i >> kShift][i & (kChunk - 1)]; }
    const T& operator[](size_t i) const { return chunks_[i >> kShift][i & (kChunk - 1)]; }

  private:
    std::vector<std::unique_ptr<T[]>> chunks_;
};

}  // namespace hstar
