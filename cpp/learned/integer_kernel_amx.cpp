// Dense layers in tiles of the AMX unit: one instruction multiplies the 64 activations of 16 states with the
// weights of 16 outputs. Two tiles of states and two of outputs make four of sums, so that every load serves
// two products and the products do not wait for each other.
//
// Rescaling the sums takes the vector units about as long as multiplying takes the tiles. So finished sums
// are put aside, and rescaled between the products of the sums that come next.
#include <immintrin.h>

#include <atomic>

#include "learned/integer_lanes.hpp"

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

// The tiles of this thread, for at most two tiles of states, until the end of the scope.
class Tiles {
  public:
    explicit Tiles(int states) {
        TileShapes shapes;
        const int first = states < kRows ? states : kRows, second = states - first;
        const int rows[8] = {
            first, first, second ? second : first, second ? second : first, first, second ? second : first,
            kRows, kRows};
        for (int t = 0; t < 8; ++t) {
            shapes.bytes[t] = kBytes;
            shapes.rows[t] = static_cast<uint8_t>(rows[t]);
        }
        // To the compiler, the instruction reads a pointer's worth of this only.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        _tile_loadconfig(&shapes);
    }
    ~Tiles() { _tile_release(); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
};

// Sums of kStateTiles x kOutputTiles tiles, put aside.
struct Finished {
    alignas(64) int32_t sums[4 * kTileSums];
    int state, states;      // the first, and how many
    int output, outputs;    // blocks of 16
    int next = 0, end = 0;  // rows (a state and a block) to be rescaled

    void start(int first_state, int num_states, int first_output, int num_outputs) {
        state = first_state;
        states = num_states;
        output = first_output;
        outputs = num_outputs;
        next = 0;
        end = num_states * num_outputs;
    }
    // Calls finish(state, output, count, sums) for some states in a row at a time.
    template <class Finish>
    void advance(int rows, Finish finish) {
        while (rows > 0 && next < end) {
            const int block = next / states, row = next % states;
            int count = states - row < rows ? states - row : rows;
            if (row < kRows && row + count > kRows) count = kRows - row;
            // Two tiles of states: tile 2 * (row / 16) + block. One: tile `block`.
            const int tile = states > kRows ? 2 * (row / kRows) + block : block;
            finish(state + row, output + block * kIntegerBlock, count,
                   sums + tile * kTileSums + row % kRows * kIntegerBlock);
            next += count;
            rows -= count;
        }
    }
};

inline void store_sums(int32_t* sums) {
    _tile_stored(0, sums, kBytes);
    _tile_stored(1, sums + kTileSums, kBytes);
    _tile_stored(2, sums + 2 * kTileSums, kBytes);
    _tile_stored(3, sums + 3 * kTileSums, kBytes);
}

// Up to 32 states and two blocks of outputs; `between` is called after each 64 inputs.
template <int kOutputTiles, class Between>
inline void multiply_two(const IntegerDense& layer, const uint8_t* x, int output, int32_t* sums,
                         Between between) {
    const int64_t stride = activation_stride(layer.inputs), block_bytes = stride * kIntegerBlock;
    const int8_t* weights = layer.weights + output / kIntegerBlock * block_bytes;
    const uint8_t* lower = x + kRows * stride;
    // A stride of zero: the bias in each row.
    _tile_loadd(0, layer.bias + output, 0);
    _tile_loadd(2, layer.bias + output, 0);
    if constexpr (kOutputTiles == 2) {
        _tile_loadd(1, layer.bias + output + kIntegerBlock, 0);
        _tile_loadd(3, layer.bias + output + kIntegerBlock, 0);
    }
    for (int64_t i = 0; i < stride; i += kBytes) {
        _tile_loadd(6, weights + i * kIntegerBlock, kBytes);
        _tile_loadd(4, x + i, stride);
        _tile_dpbusd(0, 4, 6);
        _tile_loadd(5, lower + i, stride);
        _tile_dpbusd(2, 5, 6);
        if constexpr (kOutputTiles == 2) {
            _tile_loadd(7, weights + block_bytes + i * kIntegerBlock, kBytes);
            _tile_dpbusd(1, 4, 7);
            _tile_dpbusd(3, 5, 7);
        }
        between();
    }
    store_sums(sums);
}

// Up to 16 states and four blocks of outputs.
template <int kOutputTiles, class Between>
inline void multiply_one(const IntegerDense& layer, const uint8_t* x, int output, int32_t* sums,
                         Between between) {
    const int64_t stride = activation_stride(layer.inputs), block_bytes = stride * kIntegerBlock;
    const int8_t* weights = layer.weights + output / kIntegerBlock * block_bytes;
    const int32_t* bias = layer.bias + output;
    _tile_loadd(0, bias, 0);
    if constexpr (kOutputTiles > 1) _tile_loadd(1, bias + kIntegerBlock, 0);
    if constexpr (kOutputTiles > 2) _tile_loadd(2, bias + 2 * kIntegerBlock, 0);
    if constexpr (kOutputTiles > 3) _tile_loadd(3, bias + 3 * kIntegerBlock, 0);
    for (int64_t i = 0; i < stride; i += kBytes) {
        const int8_t* w = weights + i * kIntegerBlock;
        _tile_loadd(4, x + i, stride);
        _tile_loadd(6, w, kBytes);
        _tile_dpbusd(0, 4, 6);
        if constexpr (kOutputTiles > 1) {
            _tile_loadd(7, w + block_bytes, kBytes);
            _tile_dpbusd(1, 4, 7);
        }
        if constexpr (kOutputTiles > 2) {
            _tile_loadd(6, w + 2 * block_bytes, kBytes);
            _tile_dpbusd(2, 4, 6);
        }
        if constexpr (kOutputTiles > 3) {
            _tile_loadd(7, w + 3 * block_bytes, kBytes);
            _tile_dpbusd(3, 4, 7);
        }
        between();
    }
    store_sums(sums);
}

// All outputs of all states; finish(state, output, count, sums) is given 16 sums for each of `count` states.
template <class Finish>
inline void for_all_outputs(const IntegerDense& layer, const uint8_t* x, int count, Finish finish) {
    Finished buffers[2];
    Finished *newest = buffers, *before = buffers + 1;
    const int64_t stride = activation_stride(layer.inputs);
    const int steps = static_cast<int>(stride / kBytes);
    // A tile of sums stays within one of four steps, or of eight.
    const int rows = steps >= 8 ? 8 : steps >= 4 ? 16 : 64;
    auto between = [&] { before->advance(rows, finish); };
    auto finished = [&](int state, int states, int output, int outputs) {
        before->advance(4 * kRows, finish);
        newest->start(state, states, output, outputs);
        Finished* other = newest;
        newest = before;
        before = other;
    };
    auto states_of_tiles = [&](int first, int end) {
        Tiles tiles(end - first < 2 * kRows ? end - first : 2 * kRows);
        for (int output = 0; output < layer.outputs; output += 2 * kIntegerBlock) {
            const int blocks = output + kIntegerBlock < layer.outputs ? 2 : 1;
            for (int state = first; state < end; state += 2 * kRows) {
                if (blocks == 2)
                    multiply_two<2>(layer, x + state * stride, output, newest->sums, between);
                else
                    multiply_two<1>(layer, x + state * stride, output, newest->sums, between);
                finished(state, end - state < 2 * kRows ? end - state : 2 * kRows, output, blocks);
            }
        }
    };
    const int whole = count / (2 * kRows) * (2 * kRows);
    if (whole > 0) states_of_tiles(0, whole);
    if (count - whole > kRows) {
        states_of_tiles(whole, count);
    } else if (count > whole) {
        Tiles tiles(count - whole);
        for (int output = 0; output < layer.outputs;) {
            const int blocks = (layer.outputs - output) / kIntegerBlock;
            const uint8_t* states = x + whole * stride;
            if (blocks >= 4)
                multiply_one<4>(layer, states, output, newest->sums, between);
            else if (blocks >= 2)
                multiply_one<2>(layer, states, output, newest->sums, between);
            else
                multiply_one<1>(layer, states, output, newest->sums, between);
            const int taken = blocks >= 4 ? 4 : blocks >= 2 ? 2 : 1;
            finished(whole, count - whole, output, taken);
            output += taken * kIntegerBlock;
        }
    }
    before->advance(4 * kRows, finish);
}

void dense(const IntegerDense& layer, const uint8_t* x, const uint8_t* skipped, int count, uint8_t* y) {
    const int64_t stride = activation_stride(layer.outputs);
    for_all_outputs(layer, x, count, [&](int state, int output, int states, const int32_t* sums) {
        const Rescaler rescale(layer.rescale, output);
        const int64_t place = state * stride + output;
        const uint8_t* old = skipped ? skipped + place : nullptr;
        for (int s = 0; s < states; ++s)
            rescale(Sums::load(sums + s * kIntegerBlock), old ? old + s * stride : nullptr,
                    y + place + s * stride);
    });
}

void logits(const IntegerDense& layer, const uint8_t* x, int count, int32_t* logits) {
    for_all_outputs(layer, x, count, [&](int state, int output, int states, const int32_t* sums) {
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
