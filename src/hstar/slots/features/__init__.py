"""What a model sees of a state, by name. To add a kind: one file and one line here."""

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy
from hstar.runtime.registry import Registry, of_class
from hstar.slots.features.feature import Feature

if TYPE_CHECKING:
    from hstar.slots.features.pattern_states import PatternStates as PatternStates

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

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
