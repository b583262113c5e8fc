"""A policy and a value as a heuristic of edges (hstar.planning.heuristics says what that is)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from hstar.planning.task import Task
from hstar.slots.features.atoms import Encoder
from hstar.slots.features.feature import Config
from hstar.slots.features.operators import ApplicableOperators, Operators
from hstar.slots.features.vocabulary import Vocabulary

States = NDArray[np.int32]
Values = NDArray[np.float32]

MOST_REMEMBERED = 50_000  # states; a look-ahead asks for the same ones again and again
MOST_AT_ONCE = 256


class PolicyHeuristic:
    """Bound to a task. Values of an edge depend on its parent and operator alone, so what was
    computed for a parent serves all edges from it, whenever they are asked for."""

    def __init__(self, network: Any, decode: Any, features: Config, task: Task) -> None:
        schemas = network.config.schemas
        if not schemas:
            raise ValueError("the network has no policy; choose another decode")
        self.network, self.decode, self.task = network, decode, task
        self.encoder = Encoder(task, Vocabulary.from_dict(features))
        self.operators = Operators.of(task, self.encoder.objects, schemas)
        self._known: dict[bytes, tuple[NDArray[np.int32], Values]] = {}

    def __call__(self, states: States) -> Values:
        """-log V of states that have no parent."""
        with torch.inference_mode():
            value: Tensor = self.network(self.encoder.encode(states))[:, 0]
            return softplus(-value).numpy()

    def evaluate_edges(
        self,
        parents: States,
        counts: NDArray[np.int32],
        ops: NDArray[np.int32],
        children: States,
    ) -> Values:
        """float32[B] for B edges; `children` are not looked at."""
        keys = [parent.tobytes() for parent in parents]
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        unknown = [i for i, key in enumerate(keys) if key not in self._known]
        for first in range(0, len(unknown), MOST_AT_ONCE):
            self._learn_about(parents[unknown[first : first + MOST_AT_ONCE]])
        found, end = [], 0
        for key, count in zip(keys, counts.tolist(), strict=True):
            applicable, values = self._known[key]
            found.append(values[np.searchsorted(applicable, ops[end : end + count])])
            end += count
        return np.concatenate(found)

    def _learn_about(self, states: States) -> None:
        applicable = [np.sort(self.task.successors(state)[0]) for state in states]
        choices = ApplicableOperators.of([self.operators] * len(states), applicable)
        with torch.inference_mode():
            log_pi, value = self.network.policy(self.encoder.encode(states), choices)
            counts = torch.from_numpy(choices.counts)
            entropy = torch.segment_reduce(-log_pi.exp() * log_pi, "sum", lengths=counts, axis=0)
            of_edges = [one.repeat_interleave(counts) for one in (value, entropy)]
            values = self.decode.edge_value(log_pi, *of_edges).numpy()
        split = np.split(values, choices.starts[1:-1])
        for state, ops, of_state in zip(states, applicable, split, strict=True):
            self._known[state.tobytes()] = ops, of_state
