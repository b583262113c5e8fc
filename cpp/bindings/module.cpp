#include "bindings/bindings.hpp"
#include "grounding/dnf.hpp"

using namespace hstar;
using namespace hstar::bindings;

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects that torch or a script holds until the end are no leak
    m.doc() = "The native core of hstar: grounding, heuristics, search, pattern databases, small models.";
    nb::exception<StoppedError>(m, "Stopped");
    nb::exception<Unsupported>(m, "Unsupported");
    for (Binder* bind : {bind_task, bind_sampling, bind_reinforcement, bind_heuristics, bind_search,
                         bind_learned, bind_training, bind_puzzles, bind_pdb, bind_learned_pdb})
        bind(m);
    m.def("monotonic_seconds", &monotonic_seconds);
    m.def("peak_resident_bytes", &peak_resident_bytes);
    m.attr("source_digest") = HSTAR_SOURCE_DIGEST;
}
