// Dense layers in tiles of the AMX unit: one instruction multiplies the 64 activations of 16 states with the
// weights of 16 outputs. Two tiles of states and two of outputs make four of sums, so that every load serves
// two products and the products do not wait for each other.
//
// Rescaling 16 sums takes the vector units half as long as the tiles need for 512 inputs of these sums. So
// finished sums are set aside and rescaled between the products of the next sums.
#include <immintrin.h>

#include <atomic>

#include "networks/integer/lanes.hpp"

namespace hstar {

namespace {

constexpr int kRows = 16;   // of a tile: states, or groups of four inputs
constexpr int kBytes = 64;  // of a row: inputs, or four inputs of 16 outputs, or sums of 16 outputs
constexpr int kTileSums = kRows * kIntegerBlock;

// Tiles 0 .. 3 hold sums, 4 and 5 activations, 6 and 7 weights.
struct alignas(64) TileShapes {
    uint8_t palette = 1, start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t bytes[16] = {};
    uint8_t rows[16] = {};
};

// Sets up the tiles of this thread for one or two tiles of states.
inline void load_tile_shapes(int states) {
    const int first = states < kRows ? states : kRows, second = states > kRows ? states - kRows : first;
    const int rows[8] = {first, first, second, second, first, second, kRows, kRows};
    TileShapes shapes;
    for (int t = 0; t < 8; ++t) {
        shapes.bytes[t] = kBytes;
        shapes.rows[t] = static_cast<uint8_t>(rows[t]);
    }
    // The compiler believes that the instruction reads only as much as a pointer.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    _tile_loadconfig(&shapes);
}

// Four tiles of sums, set aside.
struct Finished {
    alignas(64) int32_t sums[4 * kTileSums];
    int state[4], output[4];  // the first of each tile
    int rows[4] = {};         // states of each tile

    // Tiles are finished in halves. Calls finish(state, output, sums, count).
    static constexpr int kPieces = 8, kPieceRows = kRows / 2;
    template <class Finish>
    void finish_piece(int piece, Finish finish) const {
        const int tile = piece / 2, row = piece % 2 * kPieceRows;
        const int32_t* from = sums + tile * kTileSums + row * kIntegerBlock;
        if (rows[tile] >= row + kPieceRows)  // nearly always; the compiler then knows the count
            finish(state[tile] + row, output[tile], from, kPieceRows);
        else if (rows[tile] > row)
            finish(state[tile] + row, output[tile], from, rows[tile] - row);
    }
};

// Sums of one or two blocks of outputs for 17 to 32 states (`is_pair`), or of one, two or four for fewer;
// between(step) is called after each 64 inputs.
template <bool is_pair, class Between>
inline void multiply(int blocks, const IntegerDense& layer, const uint8_t* x, int output, int32_t* sums,
                     Between between) {
    const int64_t stride = activation_stride(layer.inputs), block_bytes = stride * kIntegerBlock;
    const int8_t* weights = layer.weights + output / kIntegerBlock * block_bytes;
    const int32_t* bias = layer.bias + output;
    const uint8_t* lower = x + kRows * stride;
    _tile_loadd(0, bias, 0);  // a stride of zero: the same in each row
    if (is_pair) _tile_loadd(2, bias, 0);
    if (blocks > 1) _tile_loadd(1, bias + kIntegerBlock, 0);
    if (blocks > 1 && is_pair) _tile_loadd(3, bias + kIntegerBlock, 0);
    if (blocks > 2) {
        _tile_loadd(2, bias + 2 * kIntegerBlock, 0);
        _tile_loadd(3, bias + 3 * kIntegerBlock, 0);
    }
    for (int64_t i = 0; i < stride; i += kBytes) {
        const int8_t* w = weights + i * kIntegerBlock;
        _tile_loadd(6, w, kBytes);
        _tile_loadd(4, x + i, stride);
        _tile_dpbusd(0, 4, 6);
        if (is_pair) {
            _tile_loadd(5, lower + i, stride);
            _tile_dpbusd(2, 5, 6);
        }
        if (blocks > 1) {
            _tile_loadd(7, w + block_bytes, kBytes);
            _tile_dpbusd(1, 4, 7);
            if (is_pair) _tile_dpbusd(3, 5, 7);
        }
        if (blocks > 2) {
            _tile_loadd(6, w + 2 * block_bytes, kBytes);
            _tile_dpbusd(2, 4, 6);
            _tile_loadd(7, w + 3 * block_bytes, kBytes);
            _tile_dpbusd(3, 4, 7);
        }
        between(static_cast<int>(i / kBytes));
    }
    _tile_stored(0, sums, kBytes);
    _tile_stored(1, sums + kTileSums, kBytes);
    _tile_stored(2, sums + 2 * kTileSums, kBytes);
    _tile_stored(3, sums + 3 * kTileSums, kBytes);
}

// All outputs of all states; finish(state, output, sums, count) is given 16 sums for each of `count` states.
// States are the outer loop, so that they stay in the nearest cache and weights are read in order.
template <class Finish>
inline void for_all_outputs(const IntegerDense& layer, const uint8_t* x, int count, Finish finish) {
    Finished buffers[2];
    int newest = 0;
    const int64_t stride = activation_stride(layer.inputs);
    const int steps = static_cast<int>(stride / kBytes);
    const int pieces_per_step = (Finished::kPieces + steps - 1) / steps;
    auto between = [&](int step) {
        const int first = step * pieces_per_step;
        for (int p = first; p < first + pieces_per_step && p < Finished::kPieces; ++p)
            buffers[1 - newest].finish_piece(p, finish);
    };
    for (int state = 0; state < count; state += 2 * kRows) {
        const int states = count - state < 2 * kRows ? count - state : 2 * kRows;
        const bool is_pair = states > kRows;
        if (state == 0 || states < 2 * kRows) load_tile_shapes(states);
        int output = 0;
        while (output < layer.outputs) {
            Finished& sums = buffers[newest];
            const int left = (layer.outputs - output) / kIntegerBlock;
            const int blocks = is_pair ? (left > 1 ? 2 : 1) : left > 3 ? 4 : left > 1 ? 2 : 1;
            if (is_pair)
                multiply<true>(blocks, layer, x + state * stride, output, sums.sums, between);
            else
                multiply<false>(blocks, layer, x + state * stride, output, sums.sums, between);
            for (int t = 0; t < 4; ++t) {
                const int block = is_pair ? t % 2 : t, row = is_pair ? t / 2 * kRows : 0;
                sums.state[t] = state + row;
                sums.output[t] = output + block * kIntegerBlock;
                sums.rows[t] = block >= blocks ? 0 : states - row < kRows ? states - row : kRows;
            }
            output += blocks * kIntegerBlock;
            newest = 1 - newest;
        }
    }
    for (int p = 0; p < Finished::kPieces; ++p) buffers[1 - newest].finish_piece(p, finish);
    _tile_release();
}

void dense(const IntegerDense& layer, const uint8_t* x, const uint8_t* skipped, int count, uint8_t* y) {
    const int64_t stride = activation_stride(layer.outputs);
    for_all_outputs(layer, x, count, [&](int state, int output, const int32_t* sums, int states) {
        const int64_t place = state * stride + output;
        Rescaler(layer.rescale, output)
            .states(sums, states, stride, skipped ? skipped + place : nullptr, y + place);
    });
}

void logits(const IntegerDense& layer, const uint8_t* x, int count, int32_t* logits) {
    for_all_outputs(layer, x, count, [&](int state, int output, const int32_t* sums, int states) {
        for (int s = 0; s < states; ++s)
            rescale_logits(layer.rescale, output, sums + s * kIntegerBlock,
                           logits + static_cast<int64_t>(state + s) * layer.outputs + output);
    });
}

}  // namespace

IntegerKernel integer_amx() {
    return {"amx", embed, dense, logits};
}

}  // namespace hstar
