"""What a model sees of a state, by name. To add a kind: one file and one line here."""

from hstar.runtime.registry import Registry, of_class
from hstar.slots.features.feature import Feature

FEATURES: Registry[Feature] = Registry(
    "feature",
    {
        "atoms": "hstar.slots.features.atoms:ATOMS",
        "hypergraph": "hstar.slots.features.hypergraph_inputs:HYPERGRAPH",
        "relaxed-plans": "hstar.slots.features.relaxed_plans:RELAXED_PLANS",
        "digits": "hstar.slots.features.digits:DIGITS",
        "facts": "hstar.slots.features.facts:FACTS",
        "wl": "hstar.slots.features.wl:WL",
    },
    "hstar.features",
    of_class(Feature),
)
