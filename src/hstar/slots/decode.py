"""Decodes: how a model's outputs become a heuristic value.

A decode reads outputs of one form (objectives/objective.py) and knows no labels. Its constants
come from the objective and are all in the model file. Evaluation uses these functions; search uses
those of the core (cpp/learned) where it can, and tests compare the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hstar.runtime.registry import Registry, of_class
from hstar.slots.objectives.bellman import discounted
from hstar.slots.objectives.likelihood import location_and_scale
from hstar.slots.objectives.objective import Objective

if TYPE_CHECKING:
    from torch import Tensor

Constants = dict[str, Any]


class Decode:
    """`reads` is the form of outputs. `needs_lower` says whether values depend on the lower bound;
    with a cap on the base they all do. `options` are the decode's own constants with defaults.
    `alias` is a name that it shares with decodes of other forms."""

    name: str
    alias = ""
    reads: str
    needs_lower = False
    options: Constants = {}  # noqa: RUF012
    is_certified = False
    is_native = False  # whether the core knows the decode by its name (cpp/learned/decode.cpp)
    is_of_edges = False  # whether values belong to edges: then `edge_value` takes their place

    def check(self, options: Constants) -> None:
        """Raises ValueError for values of the options that make no decode."""

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        """float[B] from outputs float[B, K] and the two heuristics float[B]."""
        raise NotImplementedError


class Value(Decode):
    """The output itself."""

    name, reads, is_native = "value", "value", True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        return outputs[:, 0] + base


class Floor(Decode):
    """The output, rounded down to a whole number."""

    name, reads, is_native = "floor", "value", True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        return (outputs[:, 0] + base).floor()


class Mean(Decode):
    """The location."""

    name, reads, is_native = "mean", "location-scale", True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        return location_and_scale(outputs, base, constants)[0]


class Clip(Decode):
    """The location, but at least the lower bound."""

    name, reads, is_native, needs_lower = "clip", "location-scale", True, True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        return location_and_scale(outputs, base, constants)[0].maximum(lower)


class TruncatedMean(Decode):
    """The mean of the Gaussian cut at the lower bound."""

    name, reads, is_native, needs_lower = "truncated-mean", "location-scale", True, True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        from hstar.slots.objectives.truncated_normal import TruncatedNormal

        mu, sigma = location_and_scale(outputs, base, constants)
        return TruncatedNormal(mu, sigma, lower - constants["epsilon"]).mean


class LocationQuantile(Decode):
    """The largest x with P(h* >= x) >= tau, of the Gaussian cut at the lower bound: with tau near 1
    a likely-admissible value (Ernandes and Gori 2004). Never below the bound."""

    name, alias, reads, needs_lower = "location-quantile", "quantile", "location-scale", True
    options = {"tau": 0.99}  # noqa: RUF012

    def check(self, options: Constants) -> None:
        if not 0 < options["tau"] < 1:
            raise ValueError(f"tau is a probability between 0 and 1, not {options['tau']}")

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        from hstar.slots.objectives.truncated_normal import upper_quantile

        mu, sigma = location_and_scale(outputs, base, constants)
        cut = (lower - constants["epsilon"] - mu) / sigma
        return (mu + sigma * upper_quantile(cut, constants["tau"])).maximum(lower)


class Shaped(Decode):
    """The negated value: the potential's cost less the output."""

    name, reads, is_native = "shaped", "shaped-value", True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        cost = base.double() if constants["naive"] else discounted(base, constants["gamma"])
        return (cost - outputs[:, 0]).float()


class Argmax(Decode):
    """The value of the most likely class; the lowest of them if several are equally likely."""

    name, reads, is_native = "argmax", "logits", True

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        is_largest = outputs == outputs.amax(dim=1, keepdim=True)
        return _class_values(is_largest.int().argmax(dim=1), outputs, constants) + base


class Quantile(Decode):
    """The value of the largest class k with P(class >= k) >= tau."""

    name, reads, is_native = "quantile", "logits", True
    options = {"tau": 0.99, "temperature": 1.0}  # noqa: RUF012

    def check(self, options: Constants) -> None:
        if not 0 <= options["tau"] <= 1:
            raise ValueError(f"tau is a probability, not {options['tau']}")

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        p = (outputs.double() / constants["temperature"]).softmax(dim=1)
        below = p.cumsum(dim=1)[:, :-1]  # P(class < k) for k = 1, 2, ...
        accepted = (below <= 1 - constants["tau"]).long().cumprod(dim=1).sum(dim=1)
        return _class_values(accepted, outputs, constants) + base


class Strict(Decode):
    """Thresholds and stored exceptions that overestimate no state. It needs integer weights and the
    exact value of every state (hstar.training.certified)."""

    name, reads, is_certified = "strict", "logits", True
    options = {"budget": None, "mean": None, "temperature": 1.0, "share": 1}  # noqa: RUF012

    def check(self, options: Constants) -> None:
        if options["budget"] is not None and options["mean"] is not None:
            raise ValueError("give a budget or a mean, not both")
        if options["share"] < 1:
            raise ValueError("the share is at least 1: one in so many states")


class PolicyValue(Decode):
    """-log V, where V is the sigmoid of the output."""

    name, reads = "policy-value", "policy"

    def value(self, outputs: Tensor, base: Tensor, lower: Tensor, constants: Constants) -> Tensor:
        from torch.nn.functional import softplus

        return softplus(-outputs[:, 0])


class HAdjusted(Decode):
    """-log of pi V / (1 + H), the value of an edge; pi is the chance of its operator in the parent,
    V the parent's value and H the entropy of the policy there. Rivlin, Hazan and Karpas (2020) call
    it the H-adjusted value and prefer larger ones. The logarithm keeps their order where V is too
    small for a float."""

    name, reads, is_of_edges = "h-adjusted", "policy", True

    @staticmethod
    def edge_value(log_pi: Tensor, value: Tensor, entropy: Tensor) -> Tensor:
        """float[A] from log pi(a|s), the output of s and the entropy at s, all float[A]."""
        from torch.nn.functional import softplus

        return softplus(-value) - log_pi + entropy.log1p()


ENTRIES = {kind.name: kind() for kind in Decode.__subclasses__()}  # all of this file
DECODES: Registry[Decode] = Registry("decode", ENTRIES, "hstar.decodes", of_class(Decode))


def decode_named(name: str, form: str) -> Decode:
    """Of several that share the name, the one that reads this form."""
    decode = DECODES.find(name)
    kin = (one for one in ENTRIES.values() if one.alias == name and one.reads == form)
    return decode if decode.reads == form else next(kin, decode)


def find_decode(name: str | None, objective: Objective) -> Decode:
    """The decode of a name, or the objective's default. Raises ValueError if they do not fit."""
    decode = decode_named(name or objective.decodes[0], objective.form)
    if decode.reads != objective.form:
        raise ValueError(
            f"decode '{decode.name}' reads outputs of the form {decode.reads}, but objective "
            f"'{objective.name}' trains {objective.form}; choose {', '.join(objective.decodes)}"
        )
    return decode


def _class_values(classes: Tensor, outputs: Tensor, constants: Constants) -> Tensor:
    return outputs.new_tensor(constants["values"])[classes]
