"""What a model sees of a state, by name. To add a kind: one file and one line here."""

from hstar.features.feature import Feature
from hstar.runtime.registry import Registry, of_class

FEATURES: Registry[Feature] = Registry(
    "feature",
    {
        "atoms": "hstar.features.atoms:ATOMS",
        "hypergraph": "hstar.features.hypergraph_inputs:HYPERGRAPH",
        "relaxed-plans": "hstar.features.relaxed_plans:RELAXED_PLANS",
        "digits": "hstar.features.digits:DIGITS",
        "facts": "hstar.features.facts:FACTS",
        "wl": "hstar.features.wl:WL",
    },
    "hstar.features",
    of_class(Feature),
)
