// Shades of triples: what their values in the second layer depend on.
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

// A shade is a key made of three colours; permuting a triple permutes its colours. So only ascending
// triples are looked up, and a new key brings in those of all permutations.
void NlmInputBuilder::build_shades(NlmInput& input, Arena& arena) {
    const int n = input.n;
    constexpr int kBits = 21;
    if (n == 0 || input.colours.count >= 1 << kBits) return;
    const int* colour = input.colours.of_pair;
    const int* transposed = input.colours.transposed;
    auto key_of = [](uint64_t ij, uint64_t ik, uint64_t jk) { return (ij << kBits | ik) << kBits | jk; };
    auto parts_of = [&](uint64_t key, int* parts) {
        constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
        parts[0] = static_cast<int>(key >> (2 * kBits));
        parts[1] = static_cast<int>(key >> kBits & kMask);
        parts[2] = static_cast<int>(key & kMask);
    };
    auto permuted = [&](const int* forth, int p) {
        auto part = [&](int a, int b) { return a < b ? forth[a + b - 1] : transposed[forth[a + b - 1]]; };
        const int* order = kPermutations[p];
        return key_of(part(order[0], order[1]), part(order[0], order[2]), part(order[1], order[2]));
    };
    numbering_.clear();
    shade_keys_.clear();
    permuted_shades_.clear();
    auto number = [&](uint64_t key) {
        const uint64_t product = key * 0x9E3779B97F4A7C15ull;
        const uint64_t hash = product ^ product >> 32;  // one to one, so equal hashes are equal keys
        auto [shade, is_new] = numbering_.find_or_add(hash, [](int) { return true; });
        if (is_new) shade_keys_.push_back(key);
        return shade;
    };
    auto find_or_add = [&](uint64_t key) {
        const int shade = number(key);
        if (static_cast<size_t>(shade) < permuted_shades_.size()) return shade;
        int forth[3], row[6] = {shade};
        parts_of(key, forth);
        for (int p = 1; p < 6; ++p) row[p] = number(permuted(forth, p));
        permuted_shades_.resize(shade_keys_.size());
        for (int p = 0; p < 6; ++p)
            for (int q = 0; q < 6; ++q) permuted_shades_[row[p]][q] = row[kProduct[p][q]];
        return shade;
    };
    const int64_t square = static_cast<int64_t>(n) * n;
    int* shade = arena.take<int>(square * n);
    // With exclude_self nothing depends on triples with equal members: they may have any shade.
    const int apart = shape_.exclude_self ? 1 : 0;
    find_or_add(key_of(colour[0], colour[0], colour[0]));
    if (apart)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                shade[i * square + i * n + j] = shade[i * square + j * n + i] =
                    shade[j * square + i * n + i] = 0;
    for (int i = 0; i < n; ++i)
        for (int j = i + apart; j < n; ++j) {
            const uint64_t ij = colour[i * n + j];
            for (int k = j + apart; k < n; ++k) {
                const std::array<int, 6>& row =
                    permuted_shades_[find_or_add(key_of(ij, colour[i * n + k], colour[j * n + k]))];
                shade[i * square + j * n + k] = row[0];
                shade[i * square + k * n + j] = row[1];
                shade[j * square + i * n + k] = row[2];
                shade[j * square + k * n + i] = row[3];
                shade[k * square + i * n + j] = row[4];
                shade[k * square + j * n + i] = row[5];
            }
        }
    const int count = numbering_.size();
    int *permuted_of[6], *pairs_of[3], *classes = arena.take_zeros<int>(count);
    for (int p = 0; p < 6; ++p) input.permuted_shade[p] = permuted_of[p] = arena.take<int>(count);
    for (int q = 0; q < 3; ++q) input.shade_pair[q] = pairs_of[q] = arena.take<int>(count);
    const NlmRowMap& map = input.triple_class;
    for (int s = 0; s < count; ++s) {
        int forth[3];
        parts_of(shade_keys_[s], forth);
        for (int q = 0; q < 3; ++q) pairs_of[q][s] = forth[q];
        for (int p = 0; p < 6; ++p) permuted_of[p][s] = permuted_shades_[s][p];
        const int* type = input.colour_type;
        if (map.table)
            classes[s] = map.table[(static_cast<int64_t>(type[forth[0]]) * map.num_types + type[forth[1]]) *
                                       map.num_types +
                                   type[forth[2]]];
    }
    for (int64_t triple = 0; map.direct && triple < square * n; ++triple) {
        const int64_t i = triple / square, j = triple / n % n, k = triple % n;
        if (!apart || (i != j && i != k && j != k)) classes[shade[triple]] = map.direct[triple];
    }
    input.num_shades = count;
    input.triple_shade = shade;
    input.shade_class = classes;
}

}  // namespace hstar
