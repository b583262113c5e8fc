#include "bindings/bindings.hpp"
#include "grounding/dnf.hpp"

using namespace hstar;
using namespace hstar::bindings;

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects that torch or a script holds until the end are no leak
    m.doc() = "The native core of hstar: grounding, heuristics, search, pattern databases, small models.";
    nb::exception<StoppedError>(m, "Stopped");
    nb::exception<Unsupported>(m, "Unsupported");
    bind_task(m);
    bind_sampling(m);
    bind_teaching(m);
    bind_reinforcement(m);
    bind_heuristics(m);
    bind_search(m);
    bind_learned(m);
    bind_wl(m);
    bind_training(m);
    bind_puzzles(m);
    bind_pdb(m);
    bind_learned_pdb(m);
    m.def("monotonic_seconds", &monotonic_seconds);
    m.def("peak_resident_bytes", &peak_resident_bytes);
    m.attr("source_digest") = HSTAR_SOURCE_DIGEST;
}
