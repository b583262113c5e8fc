#include "networks/nlm/input.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "runtime/hash.hpp"

namespace hstar {

void NlmInputBuilder::collect(int arity, std::span<const NlmEntry> entries, std::span<const float> values,
                              int64_t tuples, SparseRows& rows) {
    const int channels = shape_.channels[arity], pitch = pitch_of(channels);
    rows.tuples.clear();
    rows.contents.clear();
    rows.values.assign(pitch, 0.0f);
    rows.num_contents = 1;
    if (channels == 0) return;
    // Sum the entries per tuple.
    raw_.clear();
    row_of_.assign(tuples, -1);
    for (size_t e = 0; e < entries.size(); ++e) {
        if (entries[e].arity != arity) continue;
        const int tuple = entries[e].index / channels;
        int& row = row_of_[tuple];
        if (row < 0) {
            row = static_cast<int>(rows.tuples.size());
            rows.tuples.push_back(tuple);
            raw_.resize(raw_.size() + channels, 0.0f);
        }
        raw_[static_cast<size_t>(row) * channels + (entries[e].index - tuple * channels)] += values[e];
    }
    // Number the distinct rows.
    numbering_.clear();
    numbering_.find_or_add(0, [](int) { return true; });  // number 0: zeros
    rows.contents.resize(rows.tuples.size());
    for (size_t r = 0; r < rows.tuples.size(); ++r) {
        float* row = raw_.data() + r * channels;
        bool is_zero = true;
        uint64_t hash = 0;
        for (int c = 0; c < channels; ++c) {
            row[c] += 0.0f;  // -0 becomes 0
            is_zero &= row[c] == 0.0f;
            hash = fold_multiply(hash ^ std::bit_cast<uint32_t>(row[c]), 0xA0761D6478BD642Full) + 1;
        }
        if (is_zero) {
            rows.contents[r] = 0;
            continue;
        }
        auto [number, is_new] = numbering_.find_or_add(hash, [&](int i) {
            return i > 0 && std::memcmp(rows.values.data() + static_cast<size_t>(i) * pitch, row,
                                        channels * sizeof(float)) == 0;
        });
        if (is_new) {
            rows.values.insert(rows.values.end(), row, row + channels);
            rows.values.resize(static_cast<size_t>(number + 1) * pitch, 0.0f);
        }
        rows.contents[r] = number;
    }
    rows.num_contents = numbering_.size();
}

void NlmInputBuilder::build_types(NlmInput& input, Arena& arena) {
    const int n = input.n, pitch = pitch_of(shape_.channels[2]);
    const int64_t size = static_cast<int64_t>(n) * n;
    int* type = arena.take_zeros<int>(size);
    content_of_.assign(size, 0);
    for (size_t r = 0; r < pairs_.tuples.size(); ++r) content_of_[pairs_.tuples[r]] = pairs_.contents[r];
    // A type is a pair of contents; number 0 is (zeros, zeros).
    numbering_.clear();
    keys_.clear();
    auto number = [&](int a, int b) {
        const uint64_t hash = fold_multiply((static_cast<uint64_t>(a) << 32) + b + 1, 0xA0761D6478BD642Full);
        auto [i, is_new] =
            numbering_.find_or_add(hash, [&](int j) { return keys_[2 * j] == a && keys_[2 * j + 1] == b; });
        if (is_new) keys_.insert(keys_.end(), {a, b});
        return i;
    };
    number(0, 0);
    for (int tuple : pairs_.tuples) {
        const int mirrored = tuple % n * n + tuple / n;
        const int a = content_of_[tuple], b = content_of_[mirrored];
        type[tuple] = number(a, b);
        type[mirrored] = number(b, a);
    }
    const int count = numbering_.size();
    float* rows = arena.take<float>(static_cast<int64_t>(count) * pitch);
    int* transposed = arena.take<int>(count);
    for (int i = 0; i < count; ++i) {
        std::copy_n(pairs_.values.data() + static_cast<size_t>(keys_[2 * i]) * pitch, pitch,
                    rows + static_cast<size_t>(i) * pitch);
        transposed[i] = number(keys_[2 * i + 1], keys_[2 * i]);
    }
    input.types = {count, type, transposed};
    input.type_rows = rows;
}

// For each row, the row of its representative pair mirrored; representative_ holds pairs.
const int* NlmInputBuilder::mirrored_rows(const NlmInput& input, const PairIndex& index, Arena& arena) {
    const int n = input.n;
    int* transposed = arena.take<int>(index.count);
    for (int i = 0; i < index.count; ++i) {
        const int pair = representative_[i];
        transposed[i] = index.of_pair[pair % n * n + pair / n];
    }
    return transposed;
}

void NlmInputBuilder::build_colours(NlmInput& input, Arena& arena) {
    const int n = input.n;
    const int64_t size = static_cast<int64_t>(n) * n;
    content_of_.assign(n, 0);
    for (size_t r = 0; r < objects_.tuples.size(); ++r)
        content_of_[objects_.tuples[r]] = objects_.contents[r];
    // Reductions of triples matter to the first layer only if there are atoms of arity 3.
    const bool with_sets = shape_.breadth == 3 && shape_.channels[3] > 0;
    const uint64_t contents = objects_.num_contents, types = input.types.count;
    const uint64_t sets = with_sets ? input.sets.count : 1;
    const bool direct = contents < 64 && types * sets < 4096 && contents * contents * types * sets <= 8192;
    if (direct)
        keys_.assign(contents * contents * types * sets, -1);
    else
        numbering_.clear();
    int* colour = arena.take<int>(size);
    representative_.clear();
    int pair = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j, ++pair) {
            const int set = with_sets ? input.sets.of_pair[pair] : 0;
            bool is_new;
            if (direct) {
                int& number =
                    keys_[((content_of_[i] * contents + content_of_[j]) * types + input.types.of_pair[pair]) *
                              sets +
                          set];
                is_new = number < 0;
                if (is_new) number = static_cast<int>(representative_.size());
                colour[pair] = number;
            } else {
                const int key[4] = {content_of_[i], content_of_[j], input.types.of_pair[pair], set};
                std::tie(colour[pair], is_new) = numbering_.find_or_add(hash_ints(key, 4, 0), [&](int c) {
                    const int other = representative_[c];
                    return content_of_[other / n] == key[0] && content_of_[other % n] == key[1] &&
                           input.types.of_pair[other] == key[2] &&
                           (!with_sets || input.sets.of_pair[other] == set);
                });
            }
            if (is_new) representative_.push_back(pair);
        }
    const int count = static_cast<int>(representative_.size());
    int* parts[4];
    for (int*& part : parts) part = arena.take<int>(count);
    for (int c = 0; c < count; ++c) {
        const int other = representative_[c];
        parts[0][c] = other / n;
        parts[1][c] = other % n;
        parts[2][c] = input.types.of_pair[other];
        parts[3][c] = with_sets ? input.sets.of_pair[other] : 0;
    }
    input.colours = {count, colour, nullptr};
    input.colours.transposed = mirrored_rows(input, input.colours, arena);
    input.colour_pairs = {count, {parts[0], parts[1]}, {parts[2], nullptr, parts[3]}};
}

void NlmInputBuilder::build_triples(NlmInput& input, Arena& arena) {
    const int64_t n = input.n, types = input.types.count;
    const bool is_simple = triples_.num_contents == 1 && types < 1000 &&
                           types * types * types <= std::max<int64_t>(4096, n * n * n);
    is_simple ? build_classes(input, arena) : build_special_classes(input, arena);
    if (is_simple && types <= kMostSetTypes) build_sets(input, arena);
}

NlmInput NlmInputBuilder::build(int n, std::span<const NlmEntry> entries, std::span<const float> values,
                                Arena& arena) {
    float* nullary = arena.take_zeros<float>(pitch_of(shape_.channels[0]));
    for (size_t e = 0; e < entries.size(); ++e)
        if (entries[e].arity == 0) nullary[entries[e].index] += values[e];
    collect(1, entries, values, n, objects_);
    const int pitch = pitch_of(shape_.channels[1]);
    float* unary = arena.take_zeros<float>(static_cast<int64_t>(n) * pitch);
    for (size_t r = 0; r < objects_.tuples.size(); ++r)
        std::copy_n(objects_.values.data() + static_cast<size_t>(objects_.contents[r]) * pitch, pitch,
                    unary + static_cast<int64_t>(objects_.tuples[r]) * pitch);
    // Layer 0 reads one arity more than it computes; a tensor of an arity without channels is not read.
    const int computed = shape_.top_arity(0), read = std::min(shape_.breadth, computed + 1);
    const bool has_triples = read == 3 && (computed == 3 || shape_.channels[3] > 0);
    if (read >= 2) collect(2, entries, values, static_cast<int64_t>(n) * n, pairs_);
    if (has_triples) collect(3, entries, values, static_cast<int64_t>(n) * n * n, triples_);
    NlmInput input;
    if (read >= 2) {
        // Often only static relations have these arities; then nothing changes from state to state.
        if (!has_kept_ || kept_.n != n || pairs_ != kept_pairs_ || triples_ != kept_triples_) {
            has_kept_ = false;  // also if memory runs out on the way
            kept_arena_.clear();
            kept_ = NlmInput{};
            kept_.n = n;
            kept_pairs_ = pairs_;
            kept_triples_ = triples_;
            build_types(kept_, kept_arena_);
            if (has_triples) build_triples(kept_, kept_arena_);
            has_kept_ = true;
        }
        input = kept_;
    }
    input.n = n;
    input.nullary = nullary;
    input.unary = unary;
    if (computed >= 2 && (shape_.breadth < 3 || shape_.channels[3] == 0 || input.sets.of_pair))
        build_colours(input, arena);
    // Triples of the second layer are stored only if the third has triples, too.
    if (input.colours.of_pair && shape_.depth > 2 && shape_.top_arity(2) == 3) build_shades(input, arena);
    return input;
}

}  // namespace hstar
