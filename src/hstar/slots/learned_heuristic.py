"""A model file of the form "float" as a heuristic: features -> model -> decode.

Where features, model and decode all have a native form, the core evaluates whole expansions without
torch. Otherwise the model runs in torch, and the heuristics it corrects come from the core.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar import _core
from hstar.pddl.errors import InputFileError, escape, quote
from hstar.planning.heuristics import NATIVE, PATTERNS, is_file, make_heuristic
from hstar.planning.space import Space
from hstar.planning.task import Task
from hstar.slots.decode import DECODES, Decode, decode_named
from hstar.slots.features import FEATURES
from hstar.slots.features.vocabulary import domain_hash
from hstar.slots.model_file import UNCOMPARED, ModelFile, ModelFileError, refusing_malformed
from hstar.slots.models import MODELS

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from hstar.pdb import Layout, PatternDatabase

BASE_TABLE = "base"  # the tensor with the table of a difference's base


class LearnedHeuristic:
    """A trained model, to be bound to the spaces it was trained for. `decode` overrides how outputs
    become a number; its constants are those of the file."""

    def __init__(self, file: ModelFile, path: str, decode: str | None = None) -> None:
        self.file = file
        self.path = path
        self.metadata = file.metadata
        self.label = escape(Path(path).stem)
        # What the file recommends (SearchSpecification.to_dict); empty if only the usual search.
        said: dict[str, Any] = self.metadata["search"]
        self.search = {} if said == UNCOMPARED["search"] else said
        self.ranks_operators = "operators" in self.metadata
        with refusing_malformed(path):
            held = DECODES.find(self.metadata["decode"]["name"])
            self.features = FEATURES.find(self.metadata["features"]["name"])
            if held.is_certified:
                raise ValueError(f"decode '{held.name}' needs a network in integers")
            # Of a network that was learned from a difference of pattern databases.
            self.difference = _base_of(file)
        self.decode = held if decode is None else decode_named(decode, held.reads)
        if self.decode.reads != held.reads:
            raise ValueError(
                f"decode '{decode}' reads {self.decode.reads}, but the model's outputs "
                f"have the form {held.reads}; choose {_fitting(held)}"
            )
        if self.decode.is_certified:
            raise ValueError(
                f"decode '{decode}' needs a network in integers with a certificate, and "
                f"this is none; choose {_fitting(held)}, or learn one with 'hstar pdb learn'"
            )
        self.constants: dict[str, Any] = {**self.decode.options, **self.metadata["decode"]}

    def __repr__(self) -> str:
        names = [self.metadata[key]["name"] for key in ("model", "objective")]
        return f"LearnedHeuristic({self.path!r}, {', '.join(names)}, decode {self.decode.name})"

    @property
    def is_of_edges(self) -> bool:
        return self.decode.is_of_edges

    def evaluate(self, space: Space, states: NDArray[np.int32]) -> NDArray[np.float32]:
        """float32[B] from int32[B, V]; one state is a batch of one. Raises ModelFileError."""
        return make_heuristic(space, self).evaluate(states)

    def bind(self, space: Space) -> _core.Heuristic | Callable[[Any], Any]:
        """The heuristic for a space. Raises ModelFileError if it was trained for another."""
        self.check_space(space)
        checked: Any = space  # of the kind that it was trained for
        with refusing_malformed(self.path):
            try:
                model = MODELS.find(self.metadata["model"]["name"])
            except ValueError as error:
                raise self._error(f"this hstar cannot use the model: {error}") from error
            tensors = dict(self.file.buffers)
            network = (
                None if self.difference else model.native(self.metadata["model"]["config"], tensors)
            )
            inputs = self.features.native(self.metadata["features"]["config"], space)
            # An entry from outside may inherit from one of ours, or have its name; a copy is ours.
            is_ours = type(DECODES.get(self.decode.name)) is type(self.decode)
            native = is_ours and self.decode.is_native and None not in (network, inputs)
            others = {self.constants["base"], self.constants["lower"]} - {"none", *NATIVE}
            native = native and not others
            try:
                if self.decode.is_of_edges:
                    of_states = self.network()  # says what to do where torch is not installed
                    from hstar.slots.policy_heuristic import PolicyHeuristic

                    described = self.metadata["features"]["config"]
                    return PolicyHeuristic(of_states, self.decode, described, checked)
                if not native and self.ranks_operators:
                    raise ValueError("only models that need no torch rank operators")
                if not native:
                    return self._in_torch(space)
                specification = {**self.specification(), **(network or {}), **(inputs or {})}
                if self.ranks_operators:
                    described, weights = self.metadata["operators"], tensors["operators"]
                    ranking = self.features.native_operators(described, weights, space)
                    specification["operators"] = ranking
                return _core.Heuristic.learned(checked.core, specification)
            except ValueError as error:
                raise self._error(f"the model cannot take this problem: {error}") from error

    def specification(self) -> dict[str, Any]:
        """What the core must know besides the network and its inputs."""
        constants = self.constants
        base, lower, cap = constants["base"], constants["lower"], constants["cap"]
        needs_bound = cap is not None or self.decode.needs_lower
        numbers: dict[str, Any] = {
            key: float(value) for key, value in constants.items() if isinstance(value, int | float)
        }
        if "values" in constants:
            numbers["values"] = [float(value) for value in constants["values"]]
        return {
            "cost": self.metadata["cost"],
            "base": "" if base == "none" else base,
            "lower": lower if needs_bound and lower != "none" else "",
            "cap": float(cap or 0.0),
            "decode": {"sigma": 0.0, **numbers, "name": self.decode.name},
        }

    def network(self) -> torch.nn.Module:
        """The network in torch, in evaluation mode. Raises ModelFileError without torch."""
        try:
            import torch  # noqa: F401
        except ImportError:
            advice = "run in a checkout of hstar: pip install '.[learn]'"
            raise self._error(
                f"this model runs in torch, which is not installed; {advice}"
            ) from None
        described = self.metadata["model"]
        with refusing_malformed(self.path):
            model = MODELS.find(described["name"])
            tensors = dict(self.file.tensors)
            if self.difference is not None:
                del tensors[BASE_TABLE]
            return model.from_tensors(described["config"], tensors)

    def reads_pattern(self, layout: Layout) -> bool:
        """Whether the model reads the digits of this very pattern, and nothing else."""
        read = self.metadata["features"]["config"]
        space = layout.fingerprint or layout.space
        known = read.get("variables"), read.get("fingerprint")
        return self.features.reads_tables and known == (list(layout.pattern), space)

    def _in_torch(self, space: Any) -> Callable[[Any], Any]:
        network = self.network()
        import numpy as np
        import torch

        from hstar.slots.objectives.cap import capped_base

        specification = self.specification()
        encode = self.features.encoder(self.metadata["features"]["config"], space)
        at_once = self.features.rows_at_once(space)
        needed = [name for name in (specification["base"], specification["lower"]) if name]
        cost = specification["cost"]
        symbolic = {n: make_heuristic(space, self._corrected(n), cost) for n in needed}
        if self.difference is not None:
            from hstar.pdb import PdbHeuristic

            specification["base"] = BASE_TABLE
            symbolic[BASE_TABLE] = make_heuristic(space, PdbHeuristic([self.difference]))

        def evaluate(states: NDArray[np.int32]) -> NDArray[np.float32]:
            nothing = np.zeros(len(states), dtype=np.float32)
            values = {name: h.evaluate(states) for name, h in symbolic.items()}
            base = values.get(specification["base"], nothing)
            lower = values.get(specification["lower"], nothing - np.inf)
            alive = np.flatnonzero(np.isfinite(base) & (lower < np.inf))
            h = np.full(len(states), np.inf, dtype=np.float32)
            base = capped_base(base, lower, self.constants["cap"])
            for first in range(0, len(alive), at_once):
                rows = alive[first : first + at_once]
                with refusing_malformed(self.path), torch.inference_mode():
                    inputs = encode(states[rows])
                    if isinstance(inputs, np.ndarray):
                        inputs = torch.from_numpy(inputs)
                    known = torch.from_numpy(base[rows]), torch.from_numpy(lower[rows])
                    outputs = network(inputs).float()
                    h[rows] = self.decode.value(outputs, *known, self.constants).numpy()
            if np.isnan(h).any():
                raise self._error("the model's outputs are no numbers; train it again")
            return h

        return evaluate

    def _corrected(self, name: str) -> Any:
        """A heuristic that the model corrects or is bounded by: of a file where it was, or beside
        the model. Raises ModelFileError if it is missing."""
        if not is_file(name):
            return name
        from hstar.slots.loader import find_heuristic

        prefix, names = (PATTERNS, name.removeprefix(PATTERNS)) if PATTERNS in name else ("", name)
        parts = re.split("([,+])", names)
        beside = [str(Path(self.path).with_name(Path(one).name)) for one in parts]
        found = [
            b if not Path(a).exists() and Path(b).exists() else a
            for a, b in zip(parts, beside, strict=True)
        ]
        try:
            return find_heuristic(prefix + "".join(found))
        except InputFileError as error:
            needed = f"the model needs the heuristic {quote(name)}"
            advice = "put that file there or beside the model"
            raise self._error(f"{needed}: {error}; {advice}") from None

    def check_space(self, space: Space) -> None:
        """Raises ModelFileError if the heuristic was trained for another."""
        trained = self.metadata["domain"]
        name = "" if trained is None else quote(str(trained["name"]))
        if trained is not None and not isinstance(space, Task):
            raise self._error(f"the model was trained on PDDL domain {name}")
        with refusing_malformed(self.path):
            try:
                self.features.check(self.metadata["features"]["config"], space)
            except ValueError as error:
                about = f"the model was trained on domain {name}: " if name else ""
                raise self._error(f"{about}{error}") from None
        if trained is None or not isinstance(space, Task):
            return
        domain = space.problem.domain
        if domain_hash(domain) != trained["hash"]:
            raise self._error(
                f"the model was trained on domain {name}, whose predicates, "
                f"types or actions differ from those of {quote(domain.name)}; "
                "use the domain file it was trained with, or train a model for this one"
            )
        if self.metadata["cost"] == "normal" and space.cost_scale != 1:
            raise self._error(
                "the model counts whole costs, but the problem has decimal ones; scale its costs"
            )

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError(message, self.path)


def _base_of(file: ModelFile) -> PatternDatabase | None:
    """What a network of a difference adds to."""
    layout = file.metadata["features"]["config"].get("base")
    if layout is None:
        return None
    from hstar.pdb import Layout, PatternDatabase

    return PatternDatabase(Layout.of(layout), file.tensors[BASE_TABLE])


def _fitting(held: Decode) -> str:
    """The names of decodes that read the same outputs without a certificate."""
    found = [(name, DECODES.find(name)) for name in DECODES]
    return ", ".join(n for n, one in found if one.reads == held.reads and not one.is_certified)
