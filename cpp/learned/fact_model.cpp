// Networks on facts. The first layer follows the search from state to state (fact_layer.hpp), so a successor
// costs as many rows as it has changed facts, however many facts there are.
#include <algorithm>

#include "learned/expansion_walk.hpp"
#include "learned/fact_layer.hpp"
#include "learned/output_model.hpp"
#include "runtime/require.hpp"

namespace hstar {

namespace {

std::vector<MlpLayer> without_first(std::vector<MlpLayer> layers) {
    require(layers.size() >= 2, "a network on facts needs at least two layers");
    layers.erase(layers.begin());
    return layers;
}

// Rest is the network after the first layer.
template <class Rest>
class FactMlp : public OutputModel {
  public:
    template <class MakeRest>
    FactMlp(FactLayer first, MakeRest make_rest)
        : first_(std::move(first)), rest_(make_rest(first_.num_outputs())) {}

    int num_outputs() const override { return rest_.num_outputs(); }
    int most_at_once() const override { return 1024; }

    void outputs(const StateBatch& batch, std::span<const int> which, float* result) override {
        in_chunks(which, result, [&](int state, float* y) {
            first_.move_to(batch.row(state));
            first_.read(y);
        });
    }

    void outputs_of_expansions(const ExpansionBatch& batch, std::span<const int> which,
                               float* result) override {
        ExpansionWalk walk(batch, parent_);
        in_chunks(which, result, [&](int state, float* y) {
            if (walk.enter(state, [&](const int* values) { first_.move_to(values); }))
                first_.read_successor(batch.ops[state], batch.children.row(state), y);
            else
                first_.read(y);
        });
    }

  private:
    // `load` writes the first layer's activations of a state.
    template <class Load>
    void in_chunks(std::span<const int> which, float* result, Load load) {
        const int pitch = rest_.input_pitch();
        for (size_t begin = 0; begin < which.size(); begin += kMlpChunk) {
            const int states = static_cast<int>(std::min<size_t>(kMlpChunk, which.size() - begin));
            float* inputs = rest_.inputs(states);
            for (int s = 0; s < states; ++s) load(which[begin + s], inputs + static_cast<size_t>(s) * pitch);
            rest_.forward_inputs(states, result + begin * rest_.num_outputs());
        }
    }

    FactLayer first_;
    Rest rest_;
    std::vector<int> parent_;
};

}  // namespace

std::unique_ptr<OutputModel> make_output_model(const Task& task, FactModel model) {
    require(!model.layers.empty(), "a network needs at least one layer");
    FactLayer first(task, std::move(model.rows), model.constant, model.inputs, model.layers[0], "");
    const bool is_relu = model.layers[0].is_relu;
    const auto rest = without_first(std::move(model.layers));
    if (model.precision == "float32")
        return std::make_unique<FactMlp<MlpNetwork>>(
            std::move(first), [&](int inputs) { return MlpNetwork(inputs, 0, rest, ""); });
    require(model.precision == "int16", "unknown precision '", model.precision, "'; choose float32 or int16");
    require(is_relu, "with precision int16 the first layer must end with relu");
    return std::make_unique<FactMlp<NarrowNetwork>>(
        std::move(first), [&](int inputs) { return NarrowNetwork(inputs, rest, ""); });
}

}  // namespace hstar
