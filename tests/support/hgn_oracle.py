"""The hypergraph network as the papers define it, one edge and node at a time, in NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.planning.task import Task
from hstar.slots.models.hgn import HGN


def oracle_edges(task: Task) -> list[tuple[float, list[list[str]], list[list[str]]]]:
    """Per edge its cost and, slot by slot, the atoms that receive and those that send."""
    constants = task.problem.domain.constants
    edges = []
    for index in range(task.num_operators):
        operator = task.operator(index)
        parameters = operator.name.strip("()").split()[1:]

        def key(atom: str, parameters: list[str] = parameters) -> tuple[Any, ...]:
            predicate, *arguments = re.findall(r"[^(), ]+", atom)
            places: list[tuple[int, Any]] = []
            for name in arguments:
                if name in parameters:
                    places.append((0, parameters.index(name)))
                else:
                    places.append((1, name) if name in constants else (2, ""))
            return (predicate, places)

        def in_slots(facts: list[tuple[int, int]], key: Any = key) -> list[list[str]]:
            names = {task.fact_name(*fact) for fact in facts}
            atoms = [name for name in names if name[0] != "<" and not name.startswith("not ")]
            keys = sorted({repr(key(atom)): key(atom) for atom in atoms}.values())
            return [sorted(atom for atom in atoms if key(atom) == wanted) for wanted in keys]

        adds: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
        for conditions, variable, value in operator.effects:
            if in_slots([(variable, value)]):
                adds.setdefault(tuple(sorted(conditions)), []).append((variable, value))
        for conditions, added in (adds or {(): []}).items():
            senders = in_slots([*operator.preconditions, *conditions])
            edges.append((float(operator.cost), in_slots(added), senders))
    return edges


def oracle(model: HGN, task: Task, state: NDArray[np.int32]) -> NDArray[np.float64]:
    """float64[outputs], with every input of every layer written out."""
    weights = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    config = model.config

    def linear(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    def mlp(name: str, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        x = np.concatenate(inputs)
        for layer in ("first", "second"):
            x = linear(f"{name}.{layer}", x)
            x = np.where(x > 0, x, 0.01 * x)
        return x

    def features(*numbers: float) -> NDArray[np.float64]:
        return np.log1p(numbers) if config.normalise else np.array(numbers, dtype=np.float64)

    facts = [(v, x) for v, size in enumerate(task.domain_sizes) for x in range(size)]
    atoms = [n for n in (task.fact_name(*f) for f in facts) if n[0] != "<" and n[:4] != "not "]
    true, goal = set(task.atoms(state)), {task.fact_name(*fact) for fact in task.goal}
    edges = oracle_edges(task)
    v0 = {a: mlp("encoder.node", np.array([a in true, a in goal], float)) for a in atoms}
    e0 = [
        mlp("encoder.edge", features(cost, sum(map(len, senders)), sum(map(len, receivers))))
        for cost, receivers, senders in edges
    ]
    u0 = mlp("encoder.globals", features(len(atoms), len(edges)))
    v, e, u = v0, e0, u0
    nothing = np.zeros(config.hidden)
    for _ in range(config.steps):
        new_e = []
        for i, (_, receivers, senders) in enumerate(edges):
            inputs = [e0[i], e[i]]
            for slots, count in (
                (receivers, config.receiver_slots),
                (senders, config.sender_slots),
            ):
                for slot in [*slots, *([[]] * (count - len(slots)))]:
                    for latent in (v0, v):
                        inputs.append(sum((latent[atom] for atom in slot), nothing))
            new_e.append(mlp("core.edge", *inputs))
        e = new_e
        received = dict.fromkeys(atoms, nothing)
        for i, (_, receivers, _) in enumerate(edges):
            for atom in (atom for slot in receivers for atom in slot):
                received[atom] = received[atom] + e[i]
        v = {atom: mlp("core.node", received[atom], v0[atom], v[atom]) for atom in atoms}
        u = mlp("core.globals", sum(e, nothing), sum(v.values(), nothing), u0, u)
    return linear("output", mlp("decoder", u))
