"""Learned heuristics: a model file becomes a heuristic for the tasks of its domain.

NLMs and linear models run in the core, without torch. A hypergraph network has no native form; it
runs in torch on whole expansions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.features.atoms import Encoder, Vocabulary, domain_hash
from hstar.heuristics import make_heuristic
from hstar.learned.modelfile import ModelFile, ModelFileError, read_model
from hstar.objectives.cap import capped_base
from hstar.pddl.errors import quote
from hstar.spaces.task import Task

DECODERS = ("value", "mean", "clip", "truncated-mean")


class LearnedHeuristic:
    """A trained model, to be bound to tasks of the domain it was trained on.

    `decode` says how outputs become a number; None takes what the training objective implies.
    """

    def __init__(self, model: ModelFile, path: str, decode: str | None = None) -> None:
        self.model = model
        self.path = path
        self.metadata = model.metadata
        self.decode = decode or str(model.metadata["decode"])
        if self.decode not in DECODERS:
            raise ValueError(f"unknown decoding '{self.decode}'; choose one of {DECODERS}")
        if model.metadata["decode"] == "value" != self.decode:
            raise ValueError("a ranking has no distribution to decode; take its value")

    @property
    def label(self) -> str:
        return Path(self.path).stem

    def bind(self, task: Task) -> _core.Heuristic | Callable[[Any], Any]:
        """The heuristic for a task's states. Raises ModelFileError if it is of another domain."""
        self._check_domain(task)
        if self.metadata["cost"] == "normal" and task.cost_scale != 1:
            raise self._error(
                "the model counts whole costs, but the problem has decimal ones; scale its costs"
            )
        bind = BINDERS.get(self.metadata["model"])
        if bind is None:
            raise self._error(f"this version of hstar has no model '{self.metadata['model']}'")
        try:
            return bind(self, task)
        except ValueError as error:
            raise self._error(f"the model cannot take this problem: {error}") from error

    def specification(self) -> dict[str, Any]:
        """What the core must know besides the network."""
        objective = self.metadata["objective"]
        cap = objective.get("cap")  # files of older versions lack it
        needs_bound = cap is not None or self.decode in ("clip", "truncated-mean")
        return {
            "model": self.metadata["model"],
            "cost": self.metadata["cost"],
            "base": "" if objective["base"] == "none" else objective["base"],
            "lower": objective["lower"] if needs_bound and objective["lower"] != "none" else "",
            "cap": float(cap or 0.0),
            "decode": {
                "name": self.decode,
                "epsilon": float(objective["epsilon"]),
                "sigma": float(objective["sigma"] or 0.0),
                # Files of older versions lack these two.
                "least_sigma": float(objective.get("least_sigma", 0.1)),
                "sigma_range": float(objective.get("sigma_range", 10.0)),
            },
        }

    def _check_domain(self, task: Task) -> None:
        domain = task.problem.domain
        trained = self.metadata["domain"]
        if "vocabulary" in self.metadata["config"]:
            vocabulary = Vocabulary.from_dict(self.metadata["config"]["vocabulary"])
            try:
                vocabulary.check(domain)
            except ValueError as error:
                raise self._error(
                    f"the model was trained on domain {quote(trained['name'])}: {error}"
                ) from None
        if domain_hash(domain) != trained["hash"]:
            raise self._error(
                f"the model was trained on domain {quote(trained['name'])}, whose predicates, "
                f"types or actions differ from those of {quote(domain.name)}; "
                "use the domain file it was trained with, or train a model for this one"
            )

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError(message, self.path)


def load_model(path: str | os.PathLike[str], decode: str | None = None) -> LearnedHeuristic:
    """Read a model file. Raises ModelFileError, ValueError for an unknown decoding."""
    return LearnedHeuristic(read_model(path), os.fspath(path), decode)


def _bind_nlm(heuristic: LearnedHeuristic, task: Task) -> _core.Heuristic:
    config = heuristic.metadata["config"]
    encoder = Encoder(task, Vocabulary.from_dict(config["vocabulary"]))
    specification = {
        **heuristic.specification(),
        "shape": _core.NlmShape(**config["network"]),
        "theta": heuristic.model.tensors["theta"],
        "num_objects": len(encoder.objects),
        "base_entries": encoder.base_entries,
        "base_values": encoder.base_values,
        "fact_entries": encoder.fact_entries,
    }
    return _core.Heuristic.learned(task.core, specification)


def _bind_linear(heuristic: LearnedHeuristic, task: Task) -> _core.Heuristic:
    tensors = heuristic.model.tensors
    specification = {
        **heuristic.specification(),
        "model": "mlp",
        "input": "relaxed-plan",
        "layers": [(tensors["weight"], tensors["bias"], "none", False)],
    }
    return _core.Heuristic.learned(task.core, specification)


def _bind_hgn(heuristic: LearnedHeuristic, task: Task) -> Callable[[Any], Any]:
    """The network in torch; the heuristics it corrects and is bounded by come from the core."""
    try:
        import torch
    except ImportError:
        raise heuristic._error(
            "hypergraph networks run in torch, which is not installed: pip install 'hstar[learn]'"
        ) from None
    from hstar.features.hypergraph import build_hypergraph, state_bits
    from hstar.models.hgn import HGN, HGNConfig, predict
    from hstar.objectives.losses import Objective, Targets, decoded

    objective = Objective.from_dict(heuristic.metadata["objective"])
    specification = heuristic.specification()
    model = HGN(HGNConfig.from_dict(heuristic.metadata["config"]))
    tensors = heuristic.model.tensors
    model.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
    model.eval()
    graph = build_hypergraph(task, specification["cost"])
    predict(model, graph, np.zeros((0, graph.num_nodes), dtype=np.float32))  # has it the slots?
    needed = [name for name in (specification["base"], specification["lower"]) if name]
    symbolic = {name: make_heuristic(task, name, specification["cost"]) for name in needed}

    def evaluate(states: NDArray[np.int32]) -> NDArray[np.float32]:
        nothing = np.zeros(len(states), dtype=np.float32)
        values = {name: h.evaluate(states) for name, h in symbolic.items()}
        base = values.get(specification["base"], nothing)
        lower = values.get(specification["lower"], nothing - np.inf)
        alive = np.isfinite(base) & (lower < np.inf)
        outputs = torch.from_numpy(predict(model, graph, state_bits(graph, task, states[alive])))
        targets = Targets(
            h_star=outputs[:, 0],
            base=torch.from_numpy(capped_base(base[alive], lower[alive], objective.cap)),
            lower=torch.from_numpy(lower[alive]),
            upper=torch.full((len(outputs),), torch.inf),
            weight=outputs[:, 0],
        )
        h = np.full(len(states), np.inf, dtype=np.float32)
        h[alive] = decoded(outputs, targets, objective, heuristic.decode).numpy()
        return h

    return evaluate


Bound = _core.Heuristic | Callable[[Any], Any]
BINDERS: dict[str, Callable[[LearnedHeuristic, Task], Bound]] = {
    "nlm": _bind_nlm,
    "linear": _bind_linear,
    "hgn": _bind_hgn,
}
