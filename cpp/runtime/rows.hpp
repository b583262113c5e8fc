// Ragged arrays: row i is data[offset[i] .. offset[i+1]). One allocation for any number of rows.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hstar {

template <class T>
struct Rows {
    std::vector<uint32_t> offset{0};
    std::vector<T> data;

    int size() const { return static_cast<int>(offset.size()) - 1; }
    std::span<const T> operator[](int row) const {
        return {data.data() + offset[row], data.data() + offset[row + 1]};
    }
    std::span<T> operator[](int row) { return {data.data() + offset[row], data.data() + offset[row + 1]}; }
    void push(T item) { data.push_back(item); }
    void close_row() { offset.push_back(static_cast<uint32_t>(data.size())); }
    template <class Range>
    void add_row(const Range& items) {
        data.insert(data.end(), items.begin(), items.end());
        close_row();
    }
};

// Inverts "row -> items" into "item -> rows", both ascending.
template <class Table>
Rows<int> transpose(const Table& rows, int num_items) {
    const int num_rows = static_cast<int>(rows.size());
    Rows<int> inverse;
    inverse.offset.assign(num_items + 1, 0);
    for (int row = 0; row < num_rows; ++row)
        for (int item : rows[row]) ++inverse.offset[item + 1];
    for (int i = 0; i < num_items; ++i) inverse.offset[i + 1] += inverse.offset[i];
    inverse.data.resize(inverse.offset.back());
    std::vector<uint32_t> next(inverse.offset.begin(), inverse.offset.end() - 1);
    for (int row = 0; row < num_rows; ++row)
        for (int item : rows[row]) inverse.data[next[item]++] = row;
    return inverse;
}

// An array in chunks: elements keep their address, growing allocates one chunk and never copies.
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
