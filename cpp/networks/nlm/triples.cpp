// Classes of triples, and what the reductions of the first layer's triples depend on.
#include <algorithm>
#include <cstring>

#include "networks/nlm/input.hpp"
#include "runtime/hash.hpp"
#include "runtime/sort_unique.hpp"

namespace hstar {

// A class is a key made of three types; permuting a triple permutes its types, so the keys that occur follow
// from those of ascending triples, and rows of triples are found through a table of keys.
void NlmInputBuilder::build_classes(NlmInput& input, Arena& arena) {
    const int n = input.n, types = input.types.count;
    const int64_t pairs = static_cast<int64_t>(n) * n, num_keys = static_cast<int64_t>(types) * types * types;
    int* scaled = arena.take<int>(pairs);
    for (int64_t pair = 0; pair < pairs; ++pair) scaled[pair] = input.types.of_pair[pair] * types;
    int* table = arena.take_zeros<int>(num_keys);
    const int apart = shape_.exclude_self ? 1 : 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + apart; j < n; ++j) {
            int* base = table + static_cast<int64_t>(scaled[static_cast<int64_t>(i) * n + j]) * types;
            const int* ik = scaled + static_cast<int64_t>(i) * n;
            const int* jk = input.types.of_pair + static_cast<int64_t>(j) * n;
            for (int k = j + apart; k < n; ++k) base[ik[k] + jk[k]] = 1;
        }
    table[0] = 1;  // there is always one class, for triples that are left out
    // The key of a permuted triple, from the types of (i, j), (i, k), (j, k).
    const int* transposed = input.types.transposed;
    auto permuted = [&](int ij, int ik, int jk, int p) {
        const int forth[3] = {ij, ik, jk}, back[3] = {transposed[ij], transposed[ik], transposed[jk]};
        auto type = [&](int a, int b) { return a < b ? forth[a + b - 1] : back[a + b - 1]; };
        const int* order = kPermutations[p];
        return (type(order[0], order[1]) * types + type(order[0], order[2])) * types +
               type(order[1], order[2]);
    };
    auto for_each_class = [&](auto visit) {
        for (int ij = 0, key = 0; ij < types; ++ij)
            for (int ik = 0; ik < types; ++ik)
                for (int jk = 0; jk < types; ++jk, ++key)
                    if (table[key]) visit(key, ij, ik, jk);
    };
    for_each_class([&](int, int ij, int ik, int jk) {
        for (int p = 1; p < 6; ++p) table[permuted(ij, ik, jk, p)] = 1;
    });
    int count = 0;
    for_each_class([&](int, int, int, int) { ++count; });
    int *pairs_of[3], *permuted_of[6];
    for (int q = 0; q < 3; ++q) input.classes.pair[q] = pairs_of[q] = arena.take<int>(count);
    for (int p = 0; p < 6; ++p) input.classes.permuted[p] = permuted_of[p] = arena.take<int>(count);
    int number = 0;
    for_each_class([&](int key, int ij, int ik, int jk) {
        pairs_of[0][number] = ij;
        pairs_of[1][number] = ik;
        pairs_of[2][number] = jk;
        for (int p = 0; p < 6; ++p) permuted_of[p][number] = permuted(ij, ik, jk, p);
        table[key] = number++;
    });
    for (int*& keys : permuted_of)
        for (int c = 0; c < count; ++c) keys[c] = table[keys[c]];
    input.classes.count = count;
    input.triple_class = {nullptr, table, input.types.of_pair, scaled, types};
    const int pitch = pitch_of(shape_.channels[3]);
    if (pitch > 0) input.class_rows = arena.take_zeros<float>(static_cast<int64_t>(count) * pitch);
}

// Per object: the types it occurs with and the objects of each as bits, and the objects of types other than
// 0.
void NlmInputBuilder::list_neighbours(const NlmInput& input) {
    const int n = input.n;
    const size_t words = (static_cast<size_t>(n) + 63) / 64;
    present_begin_.assign(1, 0);
    present_type_.clear();
    present_bits_.clear();
    neighbour_begin_.assign(1, 0);
    neighbours_.clear();
    slot_of_type_.assign(input.types.count, -1);
    for (int i = 0; i < n; ++i) {
        const int* type = input.types.of_pair + static_cast<int64_t>(i) * n;
        for (int k = 0; k < n; ++k) {
            int& slot = slot_of_type_[type[k]];
            if (slot < present_begin_.back()) {
                slot = static_cast<int>(present_type_.size());
                present_type_.push_back(type[k]);
                present_bits_.resize(present_bits_.size() + words, 0);
            }
            present_bits_[slot * words + k / 64] |= uint64_t{1} << (k % 64);
            if (type[k] != 0) neighbours_.push_back(k);
        }
        present_begin_.push_back(static_cast<int>(present_type_.size()));
        neighbour_begin_.push_back(static_cast<int>(neighbours_.size()));
    }
}

// Which types of (i, k) and (j, k) occur together: bit type(i, k) * types + type(j, k). By whatever of i and
// j is shorter, the lists of neighbours or the lists of types.
void NlmInputBuilder::mark_together(const NlmInput& input, int i, int j, uint64_t* mask) const {
    const int n = input.n, types = input.types.count;
    const bool exclude = shape_.exclude_self;
    if (exclude && i == j) return;
    const int words = (n + 63) / 64;
    const int i_begin = neighbour_begin_[i], i_end = neighbour_begin_[i + 1];
    const int j_begin = neighbour_begin_[j], j_end = neighbour_begin_[j + 1];
    const int i_types = present_begin_[i + 1] - present_begin_[i];
    const int j_types = present_begin_[j + 1] - present_begin_[j];
    if ((i_end - i_begin) + (j_end - j_begin) <= i_types * j_types * words) {
        const int* ik = input.types.of_pair + static_cast<int64_t>(i) * n;
        const int* jk = input.types.of_pair + static_cast<int64_t>(j) * n;
        int others = exclude ? n - 2 : n;
        auto mark = [&](int k) {
            if (exclude && (k == i || k == j)) return;
            const int bit = ik[k] * types + jk[k];
            mask[bit / 64] |= uint64_t{1} << (bit % 64);
            --others;
        };
        for (int a = i_begin; a < i_end; ++a) mark(neighbours_[a]);
        for (int a = j_begin; a < j_end; ++a)
            if (ik[neighbours_[a]] == 0) mark(neighbours_[a]);
        if (others > 0) mask[0] |= 1;
        return;
    }
    for (int p = present_begin_[i]; p < present_begin_[i + 1]; ++p)
        for (int q = present_begin_[j]; q < present_begin_[j + 1]; ++q) {
            uint64_t together = 0;
            for (int w = 0; w < words; ++w) {
                uint64_t both = present_bits_[static_cast<size_t>(p) * words + w] &
                                present_bits_[static_cast<size_t>(q) * words + w];
                if (exclude && i / 64 == w) both &= ~(uint64_t{1} << (i % 64));
                if (exclude && j / 64 == w) both &= ~(uint64_t{1} << (j % 64));
                together |= both;
            }
            const int bit = present_type_[p] * types + present_type_[q];
            mask[bit / 64] |= static_cast<uint64_t>(together != 0) << (bit % 64);
        }
}

void NlmInputBuilder::build_sets(NlmInput& input, Arena& arena) {
    const int n = input.n, types = input.types.count;
    const size_t words = (static_cast<size_t>(types) * types + 63) / 64;
    uint64_t mask[kMostSetTypes * kMostSetTypes / 64];
    list_neighbours(input);
    int* set = arena.take<int>(static_cast<int64_t>(n) * n);
    numbering_.clear();
    representative_.clear();
    masks_.clear();
    for (int i = 0, pair = 0; i < n; ++i)
        for (int j = 0; j < n; ++j, ++pair) {
            std::fill_n(mask, words, 0);
            mark_together(input, i, j, mask);
            const int type = input.types.of_pair[pair];
            uint64_t hash = static_cast<uint64_t>(type) + 1;
            for (size_t w = 0; w < words; ++w)
                hash = fold_multiply(hash ^ mask[w], 0xA0761D6478BD642Full) + w;
            auto [number, is_new] = numbering_.find_or_add(hash, [&](int s) {
                return input.types.of_pair[representative_[s]] == type &&
                       std::equal(mask, mask + words, masks_.data() + s * words);
            });
            set[pair] = number;
            if (!is_new) continue;
            representative_.push_back(pair);
            masks_.insert(masks_.end(), mask, mask + words);
            // Not worth it if most pairs differ.
            if (number > 16 + pair / 4) return;
        }
    const int count = static_cast<int>(representative_.size());
    int* begin = arena.take<int>(count + 1);
    keys_.clear();
    for (int s = 0; s < count; ++s) {
        begin[s] = static_cast<int>(keys_.size());
        const int* base = input.triple_class.table +
                          static_cast<int64_t>(input.types.of_pair[representative_[s]]) * types * types;
        for (size_t w = 0; w < words; ++w)
            for (uint64_t bits = masks_[s * words + w]; bits; bits &= bits - 1)
                keys_.push_back(base[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))]);
    }
    begin[count] = static_cast<int>(keys_.size());
    int* classes = arena.take<int>(static_cast<int64_t>(keys_.size()));
    std::copy(keys_.begin(), keys_.end(), classes);
    input.sets = {count, set, nullptr};
    input.sets.transposed = mirrored_rows(input, input.sets, arena);
    input.set_begin = begin;
    input.set_classes = classes;
}

// The general case. Triples with atoms of their own, in any order of their members, have classes by those
// atoms, too.
void NlmInputBuilder::build_special_classes(NlmInput& input, Arena& arena) {
    const int n = input.n;
    int* triple_class = arena.take<int>(static_cast<int64_t>(n) * n * n);
    TripleIndex& classes = input.classes = number_triples(n, input.types, triple_class, arena);
    input.triple_class.direct = triple_class;
    auto has_equal_members = [n](int64_t t) {
        const int64_t i = t / n / n, j = t / n % n, k = t % n;
        return i == j || i == k || j == k;
    };
    auto permuted = [n](int64_t t, int p) {
        const int64_t members[3] = {t / n / n, t / n % n, t % n};
        const int* order = kPermutations[p];
        return (members[order[0]] * n + members[order[1]]) * n + members[order[2]];
    };
    std::vector<std::pair<int64_t, int>> content;  // sorted
    for (size_t r = 0; r < triples_.tuples.size(); ++r)
        if (triples_.contents[r] != 0) content.emplace_back(triples_.tuples[r], triples_.contents[r]);
    std::sort(content.begin(), content.end());
    auto content_of = [&](int64_t t) {
        auto it = std::lower_bound(content.begin(), content.end(), std::pair<int64_t, int>{t, 0});
        return it != content.end() && it->first == t ? it->second : 0;
    };
    std::vector<int64_t> special;
    for (auto [t, c] : content)
        for (int p = 0; p < 6; ++p)
            if (!shape_.exclude_self || !has_equal_members(t)) special.push_back(permuted(t, p));
    sort_unique(special);

    // Their classes come after those by the types of pairs.
    const int plain = classes.count;
    std::vector<std::array<int, 7>> told_apart;  // the class by types, and the contents of all permutations
    representative_.clear();
    numbering_.clear();
    for (int64_t t : special) {
        std::array<int, 7> key{triple_class[t]};
        for (int p = 0; p < 6; ++p) key[p + 1] = content_of(permuted(t, p));
        auto [number, is_new] = numbering_.find_or_add(hash_ints(key.data(), key.size(), 0),
                                                       [&](int c) { return told_apart[c] == key; });
        if (is_new) {
            told_apart.push_back(key);
            representative_.push_back(static_cast<int>(t));
        }
        triple_class[t] = plain + number;
    }
    classes.count += static_cast<int>(told_apart.size());
    auto extend = [&](const int*& rows, auto of_special) {
        int* all = arena.take<int>(classes.count);
        std::copy_n(rows, plain, all);
        for (int c = plain; c < classes.count; ++c) all[c] = of_special(c - plain);
        rows = all;
    };
    for (int p = 0; p < 6; ++p)
        extend(classes.permuted[p], [&](int c) { return triple_class[permuted(representative_[c], p)]; });
    for (const int*& pair : classes.pair)
        extend(pair, [before = pair, &told_apart](int c) { return before[told_apart[c][0]]; });
    const int pitch = pitch_of(shape_.channels[3]);
    if (pitch == 0) return;
    float* rows = arena.take_zeros<float>(static_cast<int64_t>(classes.count) * pitch);
    for (size_t c = 0; c < told_apart.size(); ++c)
        std::copy_n(triples_.values.data() + static_cast<int64_t>(told_apart[c][1]) * pitch, pitch,
                    rows + (plain + static_cast<int64_t>(c)) * pitch);
    input.class_rows = rows;
}

}  // namespace hstar
