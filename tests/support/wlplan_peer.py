"""The same features from WLPlan (Chen 2024, the package wlplan), where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from wl_oracle import Graph

from hstar.planning.task import Task


class Peer:
    """WLPlan's features of the states of one task."""

    def __init__(self, task: Task, rounds: int, hash: str, statics: bool) -> None:
        pytest.importorskip("wlplan")
        from wlplan.feature_generator import init_feature_generator
        from wlplan.planning import Atom, Domain, Predicate, Problem

        given = task.problem.domain.predicates
        self.predicates = {n: Predicate(n, len(p.parameters)) for n, p in given.items()}
        constants = list(task.problem.domain.constants)
        domain = Domain("domain", list(self.predicates.values()), [], [], constants)
        self.graph = Graph(task, rounds, hash, statics)
        self.make_atom: Any = Atom
        goals: dict[bool, list[Any]] = {True: [], False: []}
        for name, wanted in self.graph.goals.items():
            goals[wanted].append(self.atom(name))
        objects = [name for name in task.problem.objects if name not in constants]
        self.problem = Problem(domain, objects, goals[True], goals[False])
        self.domain = domain
        self.features = init_feature_generator(
            "wl", domain, iterations=rounds, multiset_hash=hash == "multiset"
        )

    def atom(self, name: tuple[str, ...]) -> Any:
        return self.make_atom(self.predicates[name[0]], list(name[1:]))

    def state(self, state: NDArray[np.int32]) -> Any:
        from wlplan.planning import State

        return State([self.atom(name) for name in sorted(self.graph.true_atoms(state))])

    def counts(self, states: NDArray[np.int32]) -> NDArray[np.int64]:
        """int64[S, features]: every colour of these states is a feature."""
        from wlplan.data import DomainDataset, ProblemDataset

        rows = [self.state(state) for state in states]
        dataset = DomainDataset(self.domain, [ProblemDataset(self.problem, rows)])
        self.features.collect(dataset)
        return np.array(self.features.embed(dataset)).astype(np.int64)
