"""The networks, by name, and how each of them takes states.

A kind of model says how its configuration follows from the training data, what network that is, and
how states become its inputs. To add one, write its file and a line in KINDS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.features.atoms import Batch, Encoder, Vocabulary
from hstar.features.hypergraph import build_hypergraph, fact_bits, needed_slots
from hstar.models.hgn import HGN, HGNConfig, HypergraphInputs
from hstar.models.linear import Linear
from hstar.models.nlm import NLM, NLMConfig
from hstar.pddl import Domain
from hstar.spaces.task import Task


@dataclass(frozen=True, slots=True)
class TaskStates:
    """States of one task: the facts of each, and the features of the linear model float32[S, 4]."""

    task: Task
    facts: Sequence[NDArray[np.int64]]
    features: NDArray[np.float32]


class Inputs(Protocol):
    """The inputs of many states. `sizes` int64[S] says what each costs to compute, so that every
    batch can be made of the same sizes."""

    @property
    def sizes(self) -> NDArray[np.int64]: ...

    def select(self, rows: NDArray[np.int64]) -> Any:
        """What the network takes, for these states."""


class Kind(Protocol):
    """How a model is configured, built and fed. Configurations are plain JSON."""

    def configure(
        self, domain: Domain, tasks: Sequence[Task], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]: ...

    def build(self, config: dict[str, Any], generator: torch.Generator) -> torch.nn.Module: ...

    def inputs(self, config: dict[str, Any], states: Sequence[TaskStates]) -> Inputs: ...


@dataclass(frozen=True, slots=True)
class BatchInputs:
    batch: Batch

    @property
    def sizes(self) -> NDArray[np.int64]:
        return self.batch.sizes.astype(np.int64)

    def select(self, rows: NDArray[np.int64]) -> Batch:
        return self.batch.select(rows)


class NLMKind:
    """Options: those of NLMConfig except channels and outputs, and `types` (default true)."""

    def configure(
        self, domain: Domain, tasks: Sequence[Task], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        chosen = dict(options)
        types = chosen.pop("types", True)
        breadth = chosen.get("breadth", 3)
        if not isinstance(types, bool) or not isinstance(breadth, int):
            raise ValueError("the option types is true or false, breadth a whole number")
        vocabulary = Vocabulary.of(domain, breadth, types)
        channels = tuple(vocabulary.channels)
        try:
            network = NLMConfig(channels=channels, outputs=outputs, **chosen)
            network.shape()
        except TypeError as error:
            raise ValueError(f"the NLM does not know these options: {error}") from None
        return {"network": network.to_dict(), "vocabulary": vocabulary.to_dict()}

    def build(self, config: dict[str, Any], generator: torch.Generator) -> NLM:
        return NLM(NLMConfig.from_dict(config["network"]), generator)

    def inputs(self, config: dict[str, Any], states: Sequence[TaskStates]) -> BatchInputs:
        vocabulary = Vocabulary.from_dict(config["vocabulary"])
        parts = []
        for group in states:
            encoder = Encoder(group.task, vocabulary)
            parts += [encoder.encode_facts(facts[None, :]) for facts in group.facts]
        return BatchInputs(Batch.concatenate(parts))


@dataclass(frozen=True, slots=True)
class FeatureInputs:
    features: NDArray[np.float32]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.ones(len(self.features), dtype=np.int64)

    def select(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.features[rows]


class LinearKind:
    """It has no options."""

    def configure(
        self, domain: Domain, tasks: Sequence[Task], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        if options:
            raise ValueError(f"the linear model has no option '{next(iter(options))}'")
        return {"outputs": outputs}

    def build(self, config: dict[str, Any], generator: torch.Generator) -> Linear:
        return Linear(config, generator)

    def inputs(self, config: dict[str, Any], states: Sequence[TaskStates]) -> FeatureInputs:
        return FeatureInputs(np.concatenate([group.features for group in states]))


class HGNKind:
    """Options: hidden, steps, normalise. The slots are those that the training problems need."""

    def configure(
        self, domain: Domain, tasks: Sequence[Task], outputs: int, options: dict[str, Any]
    ) -> dict[str, Any]:
        slots = needed_slots([build_hypergraph(task) for task in tasks])
        try:
            return HGNConfig(*slots, outputs=outputs, **options).to_dict()
        except TypeError as error:
            raise ValueError(
                f"the hypergraph network does not know these options: {error}"
            ) from None

    def build(self, config: dict[str, Any], generator: torch.Generator) -> HGN:
        return HGN(HGNConfig.from_dict(config), generator)

    def inputs(self, config: dict[str, Any], states: Sequence[TaskStates]) -> HypergraphInputs:
        groups = []
        for group in states:
            graph = build_hypergraph(group.task)
            groups.append((graph, fact_bits(graph, group.facts)))
        return HypergraphInputs.of(groups, HGNConfig.from_dict(config))


KINDS: dict[str, Kind] = {"nlm": NLMKind(), "hgn": HGNKind(), "linear": LinearKind()}
