#include "networks/mlp/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

constexpr int kChunk = 96;  // rows whose activations stay in the nearer caches
constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
// After so many steps without a gradient its mean has shrunk by 10^23 and moves no weight any more.
constexpr int64_t kMostIdle = 512;
constexpr size_t kFewRows = 4;  // of so many live ones, a batch has less than one: only these are moved

}  // namespace

MlpTrainer::MlpTrainer(std::shared_ptr<const TrainingRows> rows, const std::vector<MlpLayer>& layers,
                       TrainingObjective objective, const std::string& kernel)
    : rows_(std::move(rows)),
      objective_(std::move(objective)),
      row_loss_(find_row_loss(objective_)),
      kernel_(choose_kernel(mlp_kernels(), kernel)) {
    require(layers.size() >= 2, "a network on facts needs at least two layers");
    check_layers(layers, static_cast<size_t>(rows_->num_atoms));
    require(layers.back().bias.size() == 1, "the last layer must have one output");
    require(!layers[1].has_skip, "a skip needs a layer before it that does not read facts");
    for (const MlpLayer& given : layers) {
        require(given.is_relu || &given == &layers.back(),
                "all layers but the last must be followed by relu");
        Layer layer(given, given.inputs());
        const size_t pitch = static_cast<size_t>(layer.output_pitch);
        const bool is_first = layers_.empty();
        const size_t weights = is_first ? given.inputs() * pitch : layer.size();
        for (int part = 0; part < 3; ++part) {
            layer.weights[part].assign(weights, 0.0f);
            layer.bias[part].assign(pitch, 0.0f);
        }
        layer.bias_gradient.assign(pitch, 0.0f);
        if (!is_first) {
            layer.weight_gradient.assign(weights, 0.0f);
            layer.transposed.assign(weights, 0.0f);
        }
        layer.values.assign(kChunk * pitch, 0.0f);
        layer.gradient.assign(kChunk * pitch, 0.0f);
        layers_.push_back(std::move(layer));
    }
    load(Part::Weights, layers);
    live_.assign(rows_->num_atoms, 0);
    up_to_.assign(rows_->num_atoms, 0);
    state_starts_.assign(rows_->num_atoms + 1, 0);
}

size_t MlpTrainer::place(const Layer& layer, int input, int output) const {
    return is_first(layer) ? static_cast<size_t>(input) * layer.output_pitch + output
                           : layer.place(input, output);
}

std::vector<MlpLayer> MlpTrainer::layers(Part part) {
    catch_up_all();
    std::vector<MlpLayer> result;
    for (const Layer& layer : layers_) {
        MlpLayer given{{}, {}, layer.is_relu, layer.has_skip};
        const AlignedVector<float>& bias = layer.bias[static_cast<int>(part)];
        given.bias.assign(bias.begin(), bias.begin() + layer.outputs);
        given.weights.resize(static_cast<size_t>(layer.inputs) * layer.outputs);
        for (int o = 0; o < layer.outputs; ++o)
            for (int i = 0; i < layer.inputs; ++i)
                given.weights[static_cast<size_t>(o) * layer.inputs + i] =
                    layer.weights[static_cast<int>(part)][place(layer, i, o)];
        result.push_back(std::move(given));
    }
    return result;
}

void MlpTrainer::load(Part part, const std::vector<MlpLayer>& layers) {
    check_layers(layers, static_cast<size_t>(rows_->num_atoms));
    require(std::ranges::equal(
                layers, layers_, {}, [](const MlpLayer& given) { return given.bias.size(); },
                [](const Layer& layer) { return static_cast<size_t>(layer.outputs); }),
            "these layers are not those of the network");
    catch_up_all();
    for (size_t l = 0; l < layers.size(); ++l) {
        Layer& layer = layers_[l];
        const MlpLayer& given = layers[l];
        std::copy(given.bias.begin(), given.bias.end(), layer.bias[static_cast<int>(part)].begin());
        for (int o = 0; o < layer.outputs; ++o)
            for (int i = 0; i < layer.inputs; ++i)
                layer.weights[static_cast<int>(part)][place(layer, i, o)] =
                    given.weights[static_cast<size_t>(o) * layer.inputs + i];
    }
    if (part == Part::Weights) transpose();
    if (part == Part::Mean) {  // an atom that was learned from may have a mean
        const Layer& first = layers_[0];
        for (int atom = 0; atom < first.inputs; ++atom) {
            const float* mean = first.weights[1].data() + static_cast<size_t>(atom) * first.output_pitch;
            live_[atom] = std::any_of(mean, mean + first.outputs, [](float x) { return x != 0; });
        }
    }
}

void MlpTrainer::set_steps(int64_t steps) {
    require(steps >= 0, "a number of steps is not negative");
    catch_up_all();
    steps_ = steps;
    std::fill(up_to_.begin(), up_to_.end(), steps);
}

void MlpTrainer::transpose() {
    for (size_t l = 1; l < layers_.size(); ++l) {
        Layer& layer = layers_[l];
        kernel_.transpose({layer.weights[0].data(), 0, layer.input_pitch},
                          {layer.transposed.data(), 0, layer.output_pitch});
    }
}

void MlpTrainer::check_rows(std::span<const int> rows) const {
    require(std::all_of(rows.begin(), rows.end(), [&](int row) { return row >= 0 && row < rows_->size(); }),
            "there is no row of such a number");
}

void MlpTrainer::forward(std::span<const int> chunk) {
    const int count = static_cast<int>(chunk.size());
    Layer& first = layers_[0];
    kernel_.sum_rows(first.weights[0].data(), first.bias[0].data(), first.output_pitch, lists(), chunk.data(),
                     count, first.values.data());
    for (size_t l = 1; l < layers_.size(); ++l) {
        Layer& layer = layers_[l];
        kernel_.multiply(layer.product(
            layer.weights[0].data(), layer.bias[0].data(), layers_[l - 1].values.data(),
            layer.has_skip ? layers_[l - 2].values.data() : nullptr, count, layer.values.data()));
    }
}

double MlpTrainer::slopes(std::span<const int> chunk, double factor) {
    if (!row_loss_) return slopes_of_pairs(chunk, factor);
    Layer& last = layers_.back();
    double sum = 0;
    for (size_t i = 0; i < chunk.size(); ++i) {
        const int row = chunk[i];
        const float y = last.values[i * last.output_pitch];
        const auto [loss, slope] =
            row_loss_(objective_, y, rows_->h[row], rows_->lower[row], rows_->upper[row]);
        sum += loss;
        const bool passes = !last.is_relu || y > 0;
        last.gradient[i * last.output_pitch] = passes ? static_cast<float>(factor * slope) : 0.0f;
    }
    return sum;
}

double MlpTrainer::slopes_of_pairs(std::span<const int> chunk, double factor) {
    Layer& last = layers_.back();
    const auto at = [&](size_t i) { return i * last.output_pitch; };
    for (size_t i = 0; i < chunk.size(); ++i) last.gradient[at(i)] = 0;
    double sum = 0;
    for (size_t i = 1; i < chunk.size(); ++i) {
        size_t better = i - 1, worse = i;
        if (rows_->h[chunk[better]] > rows_->h[chunk[worse]]) std::swap(better, worse);
        if (!(rows_->h[chunk[better]] < rows_->h[chunk[worse]])) continue;  // equal or missing
        const auto [loss, slope] = pair_loss(last.values[at(better)], last.values[at(worse)]);
        sum += loss;
        for (size_t row : {better, worse})
            if (!last.is_relu || last.values[at(row)] > 0)
                last.gradient[at(row)] += static_cast<float>((row == better ? factor : -factor) * slope);
    }
    return sum;
}

void MlpTrainer::backward(int count, float* first_gradient, bool is_first_chunk) {
    for (size_t l = layers_.size() - 1; l > 0; --l) {
        Layer& layer = layers_[l];
        Layer& before = layers_[l - 1];
        float* below = l == 1 ? first_gradient : before.gradient.data();
        kernel_.multiply({.rows = layer.inputs,
                          .depth = count,
                          .columns = layer.output_pitch,
                          .a = before.values.data(),
                          .a_row = 1,
                          .a_depth = layer.input_pitch,
                          .b = {layer.gradient.data(), layer.output_pitch, count},
                          .c = {layer.weight_gradient.data(), 0, layer.input_pitch},
                          .accumulates = !is_first_chunk});
        if (is_first_chunk) std::fill(layer.bias_gradient.begin(), layer.bias_gradient.end(), 0.0f);
        kernel_.add_rows(layer.gradient.data(), layer.output_pitch, count, layer.bias_gradient.data());
        // What the layer after adds to its sums is this layer's input.
        const bool is_skipped = l + 1 < layers_.size() && layers_[l + 1].has_skip;
        kernel_.multiply({.rows = count,
                          .depth = layer.outputs,
                          .columns = layer.input_pitch,
                          .a = layer.gradient.data(),
                          .a_row = layer.output_pitch,
                          .a_depth = 1,
                          .b = {layer.transposed.data(), 0, layer.output_pitch},
                          .c = {below, before.output_pitch, count},
                          .added = is_skipped ? layers_[l + 1].gradient.data() : nullptr,
                          .mask = before.values.data()});
    }
    Layer& first = layers_[0];
    if (is_first_chunk) std::fill(first.bias_gradient.begin(), first.bias_gradient.end(), 0.0f);
    kernel_.add_rows(first_gradient, first.output_pitch, count, first.bias_gradient.data());
}

void MlpTrainer::list_states(std::span<const int> batch) {
    std::fill(state_starts_.begin(), state_starts_.end(), 0);
    for (int row : batch)
        for (int64_t i = rows_->starts[row]; i < rows_->starts[row + 1]; ++i)
            ++state_starts_[rows_->atoms[i]];
    size_t present = 0;
    for (size_t atom = 0; atom < live_.size(); ++atom) {
        if (state_starts_[atom] == 0) continue;
        ++present;
        if (!live_[atom]) up_to_[atom] = steps_;  // no step has moved it
        live_[atom] = 1;
    }
    const auto live = static_cast<size_t>(std::count(live_.begin(), live_.end(), 1));
    const bool moves_all = present * kFewRows > live;
    moved_.clear();
    int64_t sum = 0;
    for (size_t atom = 0; atom < live_.size(); ++atom) {
        if (moves_all ? live_[atom] : state_starts_[atom] > 0) moved_.push_back(static_cast<int>(atom));
        sum += state_starts_[atom];
        state_starts_[atom] = sum;  // the end of its list, which is filled from the end
    }
    state_starts_[live_.size()] = sum;
    states_.resize(static_cast<size_t>(sum));
    for (size_t s = batch.size(); s-- > 0;)
        for (int64_t i = rows_->starts[batch[s]]; i < rows_->starts[batch[s] + 1]; ++i)
            states_[--state_starts_[rows_->atoms[i]]] = static_cast<int>(s);
}

void MlpTrainer::catch_up(int atom) {
    const int64_t behind = steps_ - up_to_[atom];
    up_to_[atom] = steps_;
    if (behind == 0 || !live_[atom]) return;
    Layer& first = layers_[0];
    const size_t place = static_cast<size_t>(atom) * first.output_pitch;
    float* m = first.weights[1].data() + place;
    float* v = first.weights[2].data() + place;
    const int64_t made = std::min(behind, kMostIdle);
    kernel_.adam_idle(first.weights[0].data() + place, m, v, first.output_pitch,
                      history_.data() + (static_cast<int64_t>(history_.size()) - behind), made);
    if (behind == made) return;
    const auto left = static_cast<double>(behind - made);
    const auto keep_m = static_cast<float>(std::pow(kBeta1, left));
    const auto keep_v = static_cast<float>(std::pow(kBeta2, left));
    for (int lane = 0; lane < first.output_pitch; ++lane) m[lane] *= keep_m, v[lane] *= keep_v;
}

void MlpTrainer::catch_up_all() {
    for (size_t atom = 0; atom < live_.size(); ++atom) catch_up(static_cast<int>(atom));
    history_.clear();
}

void MlpTrainer::update(double learning_rate) {
    ++steps_;
    const double correction1 = 1 - std::pow(kBeta1, static_cast<double>(steps_));
    const double correction2 = 1 - std::pow(kBeta2, static_cast<double>(steps_));
    const AdamStep step{.take_m = static_cast<float>(1 - kBeta1),
                        .take_v = static_cast<float>(1 - kBeta2),
                        .keep_v = static_cast<float>(kBeta2),
                        .size = static_cast<float>(learning_rate / correction1),
                        .correction = static_cast<float>(1 / std::sqrt(correction2)),
                        .epsilon = static_cast<float>(kEpsilon)};
    history_.push_back(step);
    for (Layer& layer : layers_) {
        kernel_.adam(layer.bias[0].data(), layer.bias[1].data(), layer.bias[2].data(),
                     layer.bias_gradient.data(), layer.output_pitch, step);
        if (!is_first(layer))
            kernel_.adam(layer.weights[0].data(), layer.weights[1].data(), layer.weights[2].data(),
                         layer.weight_gradient.data(), static_cast<int64_t>(layer.weights[0].size()), step);
    }
    Layer& first = layers_[0];
    kernel_.adam_rows(first.weights[0].data(), first.weights[1].data(), first.weights[2].data(),
                      first_gradient_.data(), first.output_pitch, {state_starts_.data(), states_.data()},
                      moved_.data(), static_cast<int>(moved_.size()), step);
    for (int atom : moved_) up_to_[atom] = steps_;
    transpose();
}

double MlpTrainer::step(std::span<const int> batch, double learning_rate) {
    const size_t pitch = static_cast<size_t>(layers_[0].output_pitch);
    if (first_gradient_.size() < batch.size() * pitch) first_gradient_.resize(batch.size() * pitch);
    list_states(batch);
    for (int atom : moved_) catch_up(atom);
    double sum = 0;
    for (size_t begin = 0; begin < batch.size(); begin += kChunk) {
        const auto chunk = batch.subspan(begin, std::min<size_t>(kChunk, batch.size() - begin));
        forward(chunk);
        sum += slopes(chunk, 1.0 / static_cast<double>(batch.size()));
        backward(static_cast<int>(chunk.size()), first_gradient_.data() + begin * pitch, begin == 0);
    }
    update(learning_rate);
    return sum;
}

double MlpTrainer::epoch(std::span<const int> order, int batch, double learning_rate, const Limits& limits) {
    check_rows(order);
    require(batch >= 1, "a batch has at least one row");
    require(learning_rate > 0 && std::isfinite(learning_rate), "the learning rate must be positive");
    require(!order.empty(), "there are no rows to learn from");
    double sum = 0;
    for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(batch)) {
        limits.check();
        sum += step(order.subspan(begin, std::min<size_t>(batch, order.size() - begin)), learning_rate);
    }
    return sum / static_cast<double>(order.size());
}

template <class Work>
void MlpTrainer::for_each_chunk(std::span<const int> rows, const Limits& limits, Work work) {
    check_rows(rows);
    catch_up_all();
    for (size_t begin = 0; begin < rows.size(); begin += kChunk) {
        limits.check();
        const auto chunk = rows.subspan(begin, std::min<size_t>(kChunk, rows.size() - begin));
        forward(chunk);
        work(chunk);
    }
}

double MlpTrainer::loss(std::span<const int> rows, const Limits& limits) {
    require(!rows.empty(), "there are no rows");
    double sum = 0;
    for_each_chunk(rows, limits, [&](std::span<const int> chunk) { sum += slopes(chunk, 0); });
    return sum / static_cast<double>(rows.size());
}

void MlpTrainer::outputs(std::span<const int> rows, float* result, const Limits& limits) {
    const Layer& last = layers_.back();
    for_each_chunk(rows, limits, [&](std::span<const int> chunk) {
        for (size_t i = 0; i < chunk.size(); ++i) *result++ = last.values[i * last.output_pitch];
    });
}

}  // namespace hstar
