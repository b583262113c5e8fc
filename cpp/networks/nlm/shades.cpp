// Triples by the labels of their pairs; and shades, what their values in the second layer depend on.
#include "networks/nlm/input.hpp"

namespace hstar {

namespace {

// Permuting by p and then by q is permuting by kProduct[p][q].
constexpr auto kProduct = [] {
    std::array<std::array<int, 6>, 6> product{};
    for (int p = 0; p < 6; ++p)
        for (int q = 0; q < 6; ++q)
            for (int r = 0; r < 6; ++r) {
                bool is_product = true;
                for (int x = 0; x < 3; ++x)
                    is_product &= kPermutations[r][x] == kPermutations[p][kPermutations[q][x]];
                if (is_product) product[p][q] = r;
            }
    return product;
}();

}  // namespace

// A row is a key made of three labels; permuting a triple permutes its labels. So only ascending triples are
// looked up, and a new key brings in those of all permutations.
TripleIndex NlmInputBuilder::number_triples(int n, const PairIndex& labels, int* of_triple, Arena& arena) {
    constexpr int kBits = 21;  // enough for all pairs of so many objects that their triples can be numbered
    const int* label = labels.of_pair;
    auto key_of = [](uint64_t ij, uint64_t ik, uint64_t jk) { return (ij << kBits | ik) << kBits | jk; };
    auto parts_of = [&](uint64_t key, int* parts) {
        constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
        parts[0] = static_cast<int>(key >> (2 * kBits));
        parts[1] = static_cast<int>(key >> kBits & kMask);
        parts[2] = static_cast<int>(key & kMask);
    };
    auto permuted = [&](const int* forth, int p) {
        auto part = [&](int a, int b) {
            return a < b ? forth[a + b - 1] : labels.transposed[forth[a + b - 1]];
        };
        const int* order = kPermutations[p];
        return key_of(part(order[0], order[1]), part(order[0], order[2]), part(order[1], order[2]));
    };
    numbering_.clear();
    triple_keys_.clear();
    permuted_keys_.clear();
    auto number = [&](uint64_t key) {
        const uint64_t product = key * 0x9E3779B97F4A7C15ull;
        const uint64_t hash = product ^ product >> 32;  // one to one, so equal hashes are equal keys
        auto [row, is_new] = numbering_.find_or_add(hash, [](int) { return true; });
        if (is_new) triple_keys_.push_back(key);
        return row;
    };
    auto find_or_add = [&](uint64_t key) {
        const int row = number(key);
        if (static_cast<size_t>(row) < permuted_keys_.size()) return row;
        int forth[3], rows[6] = {row};
        parts_of(key, forth);
        for (int p = 1; p < 6; ++p) rows[p] = number(permuted(forth, p));
        permuted_keys_.resize(triple_keys_.size());
        for (int p = 0; p < 6; ++p)
            for (int q = 0; q < 6; ++q) permuted_keys_[rows[p]][q] = rows[kProduct[p][q]];
        return row;
    };
    const int64_t square = static_cast<int64_t>(n) * n;
    // With exclude_self nothing depends on triples with equal members: they may have any row.
    const int apart = shape_.exclude_self ? 1 : 0;
    find_or_add(key_of(label[0], label[0], label[0]));
    if (apart)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                of_triple[i * square + i * n + j] = of_triple[i * square + j * n + i] =
                    of_triple[j * square + i * n + i] = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + apart; j < n; ++j) {
            const uint64_t ij = label[i * n + j];
            for (int k = j + apart; k < n; ++k) {
                const std::array<int, 6>& rows =
                    permuted_keys_[find_or_add(key_of(ij, label[i * n + k], label[j * n + k]))];
                of_triple[i * square + j * n + k] = rows[0];
                of_triple[i * square + k * n + j] = rows[1];
                of_triple[j * square + i * n + k] = rows[2];
                of_triple[j * square + k * n + i] = rows[3];
                of_triple[k * square + i * n + j] = rows[4];
                of_triple[k * square + j * n + i] = rows[5];
            }
        }
    TripleIndex index;
    index.count = numbering_.size();
    index.of_triple = of_triple;
    int *permuted_of[6], *pairs_of[3];
    for (int p = 0; p < 6; ++p) index.permuted[p] = permuted_of[p] = arena.take<int>(index.count);
    for (int q = 0; q < 3; ++q) index.pair[q] = pairs_of[q] = arena.take<int>(index.count);
    for (int row = 0; row < index.count; ++row) {
        int forth[3];
        parts_of(triple_keys_[row], forth);
        for (int q = 0; q < 3; ++q) pairs_of[q][row] = forth[q];
        for (int p = 0; p < 6; ++p) permuted_of[p][row] = permuted_keys_[row][p];
    }
    return index;
}

void NlmInputBuilder::build_shades(NlmInput& input, Arena& arena) {
    const int n = input.n;
    if (n == 0) return;
    const int64_t square = static_cast<int64_t>(n) * n;
    int* shade = arena.take<int>(square * n);
    input.shades = number_triples(n, input.colours, shade, arena);
    int* classes = arena.take_zeros<int>(input.shades.count);
    const NlmRowMap& map = input.triple_class;
    const int* type = input.colour_pairs.index[0];
    const int* const* pair = input.shades.pair;
    for (int s = 0; map.table && s < input.shades.count; ++s)
        classes[s] = map.table[(static_cast<int64_t>(type[pair[0][s]]) * map.num_types + type[pair[1][s]]) *
                                   map.num_types +
                               type[pair[2][s]]];
    for (int64_t triple = 0; map.direct && triple < square * n; ++triple) {
        const int64_t i = triple / square, j = triple / n % n, k = triple % n;
        if (!shape_.exclude_self || (i != j && i != k && j != k)) classes[shade[triple]] = map.direct[triple];
    }
    input.shade_class = classes;
}

}  // namespace hstar
