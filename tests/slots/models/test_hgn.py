"""The hypergraph network against a slow version of it, and what must not change its outputs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_domains
import torch
from hgn_oracle import oracle
from numpy.typing import NDArray
from random_tasks import random_task
from untrained_models import read_task, untrained

from hstar.planning.task import Task
from hstar.slots.features.hypergraph import Hypergraph, build_hypergraph, needed_slots, state_bits
from hstar.slots.features.hypergraph_inputs import HypergraphBatch, HypergraphInputs
from hstar.slots.models.hgn import HGN, HGNConfig
from hstar.slots.objectives import make_objective

pytestmark = pytest.mark.usefixtures("one_thread")
DOMAINS = sorted(small_domains.ALL)

# Constants in conditions, a quantified precondition, a repeated parameter, conditional effects.
ODD_DOMAIN = """(define (domain odd) (:requirements :adl)
(:types room thing) (:constants hall attic - room)
(:predicates (at ?t - thing ?r - room) (lit ?r - room) (near ?a ?b - room) (clean ?t - thing)
  (done))
(:action carry :parameters (?t - thing ?a ?b - room)
  :precondition (and (at ?t ?a) (lit hall) (lit attic) (lit ?b))
  :effect (and (at ?t ?b) (not (at ?t ?a)) (near ?a ?b)
    (forall (?o - thing) (when (at ?o ?a) (clean ?o)))))
(:action light :parameters (?r - room) :precondition (not (lit ?r))
  :effect (and (lit ?r) (lit hall)))
(:action finish :parameters () :precondition (and (near hall hall) (forall (?t - thing) (clean ?t)))
  :effect (done)))
"""


def odd_problem(things: int, rooms: int) -> str:
    names = [f"t{i}" for i in range(things)]
    places = [f"r{i}" for i in range(rooms)]
    init = [f"(at {t} {places[i % rooms]})" for i, t in enumerate(names)]
    return small_domains.problem_text(
        "odd", f"{' '.join(names)} - thing {' '.join(places)} - room", init, ["(done)"]
    )


def small_task(folder: Path, name: str, seed: int = 0) -> Task:
    return read_task(folder, *small_domains.ALL[name](random.Random(seed)))


def some_states(task: Task, count: int, seed: int = 0) -> NDArray[np.int32]:
    """States of a random walk."""
    rng = random.Random(seed)
    states = [task.initial_state]
    while len(states) < count:
        _, successors = task.successors(states[-1])
        states.append(successors[rng.randrange(len(successors))] if len(successors) else states[0])
    return np.stack(states)


def network(*graphs: Hypergraph, seed: int = 0, **options: Any) -> HGN:
    receivers, senders = needed_slots(graphs)
    generator = torch.Generator().manual_seed(seed)
    return HGN(HGNConfig(receivers, senders, **options), generator)


def batch_of(
    groups: Sequence[tuple[Hypergraph, NDArray[Any]]], slots: tuple[int, int]
) -> HypergraphBatch:
    """All states of all groups in order; a group is a graph and its states' bits [S, nodes]."""
    inputs = HypergraphInputs(groups, slots)
    return inputs.select(np.arange(len(inputs.graphs)))


def slots(config: HGNConfig) -> tuple[int, int]:
    return config.receiver_slots, config.sender_slots


def predict(model: HGN, graph: Hypergraph, bits: NDArray[Any]) -> NDArray[np.float32]:
    """float32[S, outputs]"""
    with torch.inference_mode():
        outputs = model(batch_of([(graph, bits)], slots(model.config)))
    found: NDArray[np.float32] = outputs.float().cpu().numpy()
    return found


# -- the slow version


def assert_like_oracle(model: HGN, task: Task, states: NDArray[np.int32]) -> None:
    graph = build_hypergraph(task)
    bits = state_bits(graph, task, states)
    expected = np.stack([oracle(model, task, state) for state in states])
    np.testing.assert_allclose(predict(model, graph, bits), expected, rtol=1e-5, atol=1e-5)
    exact = model.double()(batch_of([(graph, bits)], slots(model.config)))
    np.testing.assert_allclose(exact.detach().numpy(), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(25))
def test_random_tasks_agree_with_the_slow_version(seed: int, tmp_path: Path) -> None:
    text = random_task(seed)
    task = read_task(tmp_path, text.domain, text.problem)
    model = network(build_hypergraph(task), seed=seed, hidden=8, steps=3, normalise=seed % 2 == 0)
    assert_like_oracle(model, task, some_states(task, 3, seed))


@pytest.mark.parametrize("name", DOMAINS)
def test_classic_domains_agree_with_the_slow_version(name: str, tmp_path: Path) -> None:
    task = small_task(tmp_path, name, seed=3)
    assert_like_oracle(network(build_hypergraph(task)), task, some_states(task, 2))


def test_an_odd_domain_agrees_with_the_slow_version(tmp_path: Path) -> None:
    task = read_task(tmp_path, ODD_DOMAIN, odd_problem(3, 3))
    assert_like_oracle(network(build_hypergraph(task), hidden=7), task, some_states(task, 3))


def test_more_slots_than_needed_agree_with_the_slow_version(tmp_path: Path) -> None:
    """As where the training problems have actions that this one lacks."""
    task = small_task(tmp_path, "blocks")
    model = HGN(HGNConfig(receiver_slots=5, sender_slots=7, hidden=4, outputs=1))
    assert_like_oracle(model, task, some_states(task, 2))


def test_gradients(tmp_path: Path) -> None:
    """Of the sums whose gradients are written by hand, by finite differences."""
    tasks = [small_task(tmp_path, name) for name in ("gripper", "gripper", "ferry")]
    graphs = [build_hypergraph(task) for task in tasks]
    model = network(*graphs, hidden=2, steps=2).double()
    names, weights = zip(*model.named_parameters(), strict=True)
    with torch.no_grad():  # mostly positive, so that no layer of so few units is nearly dead
        for weight in weights:
            weight.uniform_(-0.05, 0.5, generator=torch.Generator().manual_seed(weight.numel()))
    groups = [
        (graph, state_bits(graph, task, some_states(task, 2)))
        for graph, task in zip(graphs, tasks, strict=True)
    ]
    for chosen in (groups, groups[:1]):  # rows of several graphs, and several states in a row
        batch = batch_of(chosen, slots(model.config))

        def outputs(*values: torch.Tensor, batch: HypergraphBatch = batch) -> torch.Tensor:
            named = dict(zip(names, values, strict=True))
            result: torch.Tensor = torch.func.functional_call(model, named, (batch,))
            return result

        slopes = torch.autograd.grad(outputs(*weights).sum(), weights)
        of_slots = slopes[names.index("core.edge.first.weight")][:, 4:]
        assert of_slots.abs().max() > 0.1  # or the differences would drown in the tolerance
        assert torch.autograd.gradcheck(outputs, weights, atol=1e-6, rtol=1e-4)


# -- what must not matter


def renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"(?<=[( ])[a-z][a-z0-9]*(?=[) ])", lambda m: names.get(m[0], m[0]), text)


def shuffled_problem(task: Task, names: dict[str, str], rng: random.Random) -> str:
    """The problem with other names, its objects and initial atoms in another order."""
    problem = task.problem
    own = [name for name in problem.objects if name not in problem.domain.constants]
    objects = [f"{names[o]} - {problem.objects[o][0]}" for o in rng.sample(own, len(own))]
    init = [f"({' '.join([a, *(names.get(x, x) for x in args)])})" for a, *args in problem.init]
    init += [
        f"(= ({' '.join([f, *(names.get(x, x) for x in args)])}) {value})"
        for (f, *args), value in problem.function_values.items()
    ]
    metric = "(:metric minimize (total-cost))" if problem.uses_metric else ""
    return small_domains.problem_text(
        problem.domain.name,
        " ".join(objects),
        rng.sample(init, len(init)),
        [renamed(str(problem.goal), names)],
        metric,
    )


def with_actions_reversed(domain: str) -> str:
    head, *actions = domain.rstrip().removesuffix(")").split("(:action")
    return "(:action".join([head, *actions[::-1]]) + ")"


@pytest.mark.parametrize("name", [*DOMAINS, "odd"])
@pytest.mark.parametrize("seed", range(3))
def test_names_and_orders_do_not_matter(name: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    domain, problem = (
        (ODD_DOMAIN, odd_problem(3, 3)) if name == "odd" else small_domains.ALL[name](rng)
    )
    task = read_task(tmp_path, domain, problem)
    own = [o for o in task.problem.objects if o not in task.problem.domain.constants]
    names = dict(zip(own, rng.sample([f"x{i}" for i in range(len(own))], len(own)), strict=True))
    other = read_task(tmp_path, with_actions_reversed(domain), shuffled_problem(task, names, rng))

    graph, other_graph = build_hypergraph(task), build_hypergraph(other)
    states = some_states(task, 6, seed)
    bits = state_bits(graph, task, states)
    atoms = [re.sub(r"[a-z0-9]+(?=[,)])", lambda m: names.get(m[0], m[0]), a) for a in graph.atoms]
    column = {atom: i for i, atom in enumerate(atoms)}
    assert set(other_graph.atoms) == set(atoms)
    other_bits = bits[:, [column[atom] for atom in other_graph.atoms]]
    # Otherwise the test shows nothing.
    assert [names[o] for o in sorted(own)] != sorted(names.values())
    assert [names[o] for o in own] != [o for o in other.problem.objects if o in names.values()]

    model = network(graph)
    values = predict(model, graph, bits)
    assert np.ptp(values[:, 0]) > 0
    np.testing.assert_allclose(
        predict(model, other_graph, other_bits), values, rtol=1e-5, atol=1e-5
    )


def test_an_unused_object_does_not_matter(tmp_path: Path) -> None:
    """A block that lies nowhere can never be moved, so it makes no node and no edge."""
    domain, problem = small_domains.blocks(random.Random(1))
    more = problem.replace("(:objects ", "(:objects unused ")
    tasks = [read_task(tmp_path, domain, text) for text in (problem, more)]
    assert len(tasks[1].problem.objects) == len(tasks[0].problem.objects) + 1
    graphs = [build_hypergraph(task) for task in tasks]
    model = network(*graphs)
    values = [
        predict(model, graph, state_bits(graph, task, task.initial_state))
        for graph, task in zip(graphs, tasks, strict=True)
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def test_a_batch_is_its_states_one_by_one(tmp_path: Path) -> None:
    tasks = [small_task(tmp_path, "logistics", seed) for seed in range(4)]
    graphs = [build_hypergraph(task) for task in tasks]
    groups = [
        (graph, state_bits(graph, task, some_states(task, count)))
        for graph, task, count in zip(graphs, tasks, (3, 1, 0, 5), strict=True)
    ]
    model = network(*graphs)
    single = np.concatenate(
        [predict(model, graph, row[None]) for graph, bits in groups for row in bits]
    )
    assert len(np.unique(single[:, 0])) > 5

    together = model(batch_of(groups, slots(model.config))).detach().numpy()
    np.testing.assert_allclose(together, single, rtol=1e-5, atol=1e-6)
    by_graph = np.concatenate([predict(model, graph, bits) for graph, bits in groups])
    np.testing.assert_allclose(by_graph, single, rtol=1e-5, atol=1e-6)

    inputs = HypergraphInputs(groups, slots(model.config))
    assert inputs.sizes.tolist() == [graph.num_objects for graph, bits in groups for _ in bits]
    for rows in ([5, 0, 8, 3, 0], [2, 1], [7]):
        chosen = model(inputs.select(np.array(rows))).detach().numpy()
        np.testing.assert_allclose(chosen, single[rows], rtol=1e-5, atol=1e-6)


def test_many_states_are_evaluated_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small_task(tmp_path, "blocks")
    states = some_states(task, 11)
    heuristic = untrained("hgn", task, make_objective("l-gbfs", base="none"))
    evaluate: Any = heuristic.bind(task)
    expected = evaluate(states)
    graph = build_hypergraph(task)
    network = heuristic.network()
    assert isinstance(network, HGN)
    outputs = predict(network, graph, state_bits(graph, task, states))
    np.testing.assert_allclose(expected, outputs[:, 0], rtol=1e-5, atol=1e-6)
    monkeypatch.setattr("hstar.slots.features.hypergraph_inputs.ROWS_AT_ONCE", 4 * graph.num_edges)
    assert expected.dtype == np.float32 and expected.shape == (11,)
    in_parts: Any = heuristic.bind(task)
    np.testing.assert_allclose(in_parts(states), expected, rtol=1e-5, atol=1e-6)
    assert in_parts(states[:0]).shape == (0,)


# -- training


def train(seed: int, folder: Path) -> tuple[list[float], bytes]:
    """Learns how many goals are open; the losses, and the weights in the end."""
    tasks = [small_task(folder, "blocks", number) for number in range(3)]
    graphs = [build_hypergraph(task) for task in tasks]
    groups = [
        (graph, state_bits(graph, task, some_states(task, 6, number)))
        for number, (graph, task) in enumerate(zip(graphs, tasks, strict=True))
    ]
    wanted = np.concatenate([(graph.goal * (1 - bits)).sum(axis=1) for graph, bits in groups])
    model = network(*graphs, outputs=1, seed=seed, hidden=16, steps=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    inputs = HypergraphInputs(groups, slots(model.config))
    rng = np.random.default_rng(seed)
    losses = []
    for _ in range(30):
        rows = rng.choice(len(wanted), 12, replace=False)
        outputs = model(inputs.select(rows))[:, 0]
        loss = ((outputs - torch.from_numpy(wanted[rows])) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, b"".join(p.detach().numpy().tobytes() for p in model.parameters())


def test_training_reduces_the_loss_and_repeats_exactly(tmp_path: Path) -> None:
    losses, weights = train(1, tmp_path)
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    assert train(1, tmp_path) == (losses, weights)
    assert train(2, tmp_path)[1] != weights


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_the_same(tmp_path: Path) -> None:
    tasks = [small_task(tmp_path, "blocks", seed) for seed in range(3)]
    graphs = [build_hypergraph(task) for task in tasks]
    groups = [
        (graph, state_bits(graph, task, some_states(task, 3)))
        for graph, task in zip(graphs, tasks, strict=True)
    ]
    results = []
    for device in ("cpu", "cuda"):
        model = network(*graphs).to(device)
        outputs = model(batch_of(groups, slots(model.config)))
        slopes = torch.autograd.grad(outputs.sum(), list(model.parameters()))
        alone = torch.from_numpy(predict(model, *groups[0]))
        results.append([outputs.detach().cpu(), alone, *(slope.cpu() for slope in slopes)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


# -- the configuration


def test_the_published_network_has_38626_weights() -> None:
    model = HGN(HGNConfig(receiver_slots=3, sender_slots=7, outputs=2))
    assert sum(weight.numel() for weight in model.parameters()) == 38_626


def test_configurations_are_json(tmp_path: Path) -> None:
    config = HGNConfig(3, 7, hidden=8, steps=2, outputs=1, normalise=False)
    assert HGNConfig(**json.loads(json.dumps(asdict(config)))) == config
    with pytest.raises(ValueError, match="'steps'"):
        HGNConfig(3, 7, steps=0)


def test_normalising_feeds_logarithms(tmp_path: Path) -> None:
    task = small_task(tmp_path, "blocks")
    graph = build_hypergraph(task)
    bits = state_bits(graph, task, task.initial_state)
    raw = predict(network(graph, normalise=False), graph, bits)
    assert abs(raw - predict(network(graph), graph, bits)).max() > 1e-3
