#include <algorithm>

#include "bindings/bindings.hpp"
#include "runtime/require.hpp"
#include "wl/operators.hpp"

namespace hstar::bindings {

namespace {

// Weisfeiler-Leman features of the states of a task.
class BoundWlFeatures {
  public:
    BoundWlFeatures(const BoundTask& bound, const Dict& spec)
        : bound_(bound), wl_(make_incremental(bound_.task, spec)) {}

    // All colours of each state with how many vertices have them, over all rounds: where each state's begin,
    // the colours in ascending order, and the counts.
    auto collect(States given) {
        const StateRows states = bound_.checked(given);
        std::vector<int64_t> starts{0};
        std::vector<WlColour> colours;
        Ints counts;
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            auto found = wl_.colours();
            std::sort(found.begin(), found.end());
            for (size_t i = 0; i < found.size(); ++i) {
                if (i == 0 || found[i] != found[i - 1]) {
                    colours.push_back(found[i]);
                    counts.push_back(0);
                }
                ++counts.back();
            }
            starts.push_back(static_cast<int64_t>(colours.size()));
        });
        return std::tuple(to_numpy(std::move(starts)), to_numpy(std::move(colours)),
                          to_numpy(std::move(counts)));
    }

    // int32[states, features]
    Numpy<int, 2> counts(States given) {
        const StateRows states = bound_.checked(given);
        const size_t features = static_cast<size_t>(wl_.num_features());
        Ints counts;
        counts.reserve(states.count * features);
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            counts.insert(counts.end(), wl_.counts().begin(), wl_.counts().end());
        });
        return to_numpy(std::move(counts), {states.count, features});
    }

    // uint64[n, rounds + 2]: the colours of operator ops[i] in state i.
    Numpy<WlColour, 2> operator_colours(States given, Flat ops, const Ints& actions) {
        const StateRows states = bound_.checked(given);
        const Ints chosen = copied(ops);
        require(chosen.size() == states.count, "there must be one operator for each state");
        for (int op : chosen)
            require(op >= 0 && op < bound_.task.num_operators() && !bound_.task.is_artificial(op),
                    "there is no operator ", op, " that has a name");
        const WlOperators operators(bound_.task, actions);
        std::vector<WlColour> found, all;
        for_each(states, [&](size_t s) {
            wl_.move_to(states.row(s));
            operators.colours(wl_, chosen[s], found);
            all.insert(all.end(), found.begin(), found.end());
        });
        return to_numpy(std::move(all), {states.count, static_cast<size_t>(wl_.graph().rounds()) + 2});
    }

  private:
    // Calls work(number of the state) for one after the other. Signals end it.
    template <class Work>
    void for_each(const StateRows& states, Work work) {
        guarded([&] {
            const auto lock = use_.lock();
            const Limits none;
            LimitClock clock(none);
            for (size_t s = 0; s < states.count; ++s) {
                clock.check();
                work(s);
            }
        });
    }
    static IncrementalWl make_incremental(const Task& task, const nb::dict& spec) {
        auto [options, colours] = to_wl_colouring(spec);
        return IncrementalWl(WlGraph(task, std::move(options)), ColourTable(colours));
    }
    const BoundTask& bound_;
    Exclusive use_;  // threads may share the features
    IncrementalWl wl_;
};

}  // namespace

void bind_wl(nb::module_& m) {
    nb::class_<BoundWlFeatures>(m, "WlFeatures")
        .def(nb::init<const BoundTask&, const Dict&>(), KeepFirst())
        .def("collect", &BoundWlFeatures::collect)
        .def("counts", &BoundWlFeatures::counts)
        .def("operator_colours", &BoundWlFeatures::operator_colours);
}

}  // namespace hstar::bindings
