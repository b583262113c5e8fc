"""The graph network with a policy, and its heuristics in search."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from example_tasks import States, reachable
from hard_tasks import write_task
from label_folders import write_folder
from program import hstar as program
from small_domains import BLOCKS, problem_text
from test_edge_heuristics import Plain
from test_learned_symmetry import CHANGES, twins

import hstar
from hstar import search
from hstar.slots.decode import HAdjusted
from hstar.slots.features.atoms import Encoder
from hstar.slots.features.operators import (
    ARTIFICIAL,
    NO_OBJECT,
    ApplicableOperators,
    Operators,
    schemas_of,
)
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFileError, write_model
from hstar.slots.models.gnn import GNN, GNN_MODEL, object_graphs
from hstar.training.reinforcement.ppo import PolicyRun, PPOOptions, TrainedPolicy

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = PPOOptions(hidden=16, rounds=2, episodes=32, batch=128, updates=2, learning_rate=3e-3)


def train_on(tasks: list[hstar.Task], options: PPOOptions) -> TrainedPolicy:
    run = PolicyRun(tasks, options)
    run.go()
    return run.trained()


def network_for(task: hstar.Task, attention: bool = False, seed: int = 0) -> tuple[GNN, Any]:
    """A network with random weights, large enough to make a difference."""
    vocabulary = Vocabulary.of(task.problem.domain, breadth=2)
    chosen = {"hidden": 8, "rounds": 2, "attention": attention}
    config = GNN_MODEL.configure(vocabulary.to_dict(), 1, chosen)
    config["schemas"] = schemas_of(task.problem.domain)
    network = GNN_MODEL.build(config, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        network.score.output.weight.mul_(20)
        network.value_of_nodes.output.weight.mul_(20)
    return network, vocabulary


def policy_of(
    network: GNN, vocabulary: Any, task: hstar.Task, states: States
) -> tuple[list[dict[str, float]], list[float]]:
    """Per state the probabilities of operators by name, and the logit of V."""
    encoder = Encoder(task, vocabulary)
    table = Operators.of(task, encoder.objects, network.config.schemas)
    ops = [task.successors(state)[0] for state in states]
    with torch.no_grad():
        log_pi, logit = network.policy(
            encoder.encode(states), ApplicableOperators.of([table] * len(ops), ops)
        )
    split = np.split(log_pi.exp().numpy(), np.cumsum([len(one) for one in ops])[:-1])
    named: list[dict[str, float]] = []
    for one, found in zip(ops, split, strict=True):
        named.append(defaultdict(float))  # a disjunctive condition gives operators of one name
        for op, p in zip(one.tolist(), found.tolist(), strict=True):
            named[-1][task.operator_name(op)] += p
    return named, logit.tolist()


@pytest.fixture
def blocks(tmp_path: Path) -> hstar.Task:
    init = ["(ontable a)", "(on b a)", "(clear b)", "(ontable c)", "(clear c)", "(handempty)"]
    problem = problem_text("blocks", "a b c", init, ["(on a b)", "(on b c)"])
    return hstar.load_task(*write_task(tmp_path, BLOCKS, problem))


# -- the network


def test_graphs_show_every_atom_once(blocks: hstar.Task) -> None:
    vocabulary = Vocabulary.of(blocks.problem.domain)
    encoder = Encoder(blocks, vocabulary)
    states = reachable(blocks, 20)
    channels = vocabulary.channels[:3]
    graphs = object_graphs(encoder.encode(states), channels)
    names = encoder.objects
    for g, state in enumerate(states):
        true = {tuple(atom.replace("(", " ").replace(")", " ").replace(",", " ").split())
                for atom in blocks.atoms(state)}  # fmt: skip
        first = g * len(names)
        expected: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        for kind, atoms in (("state", true), ("goal", {("on", "a", "b"), ("on", "b", "c")})):
            for atom in atoms:
                arity, channel = vocabulary.channel(kind, atom[0]) or (-1, -1)
                places = [names.index(name) for name in atom[1:]]
                if arity == 0:
                    assert graphs.globals[g, channel] == 1
                elif arity == 1:
                    assert graphs.nodes[first + places[0], channel] == 1
                else:
                    a, b = (first + place for place in places)
                    expected[a, b].add((0, channel))
                    expected[b, a].add((1, channel))
        mine = (graphs.receivers >= first) & (graphs.receivers < first + len(names))
        found = {}
        for i in torch.nonzero(mine)[:, 0].tolist():
            pair = int(graphs.senders[i]), int(graphs.receivers[i])
            ways = graphs.edges[i].view(2, channels[2])
            found[pair] = {(int(w), int(c)) for w, c in torch.nonzero(ways).tolist()}
        assert found == expected
    assert graphs.incoming.sum() == len(graphs.edges)


def test_pairs_of_one_object_are_seen(tmp_path: Path) -> None:
    domain = """(define (domain loops) (:predicates (likes ?x ?y) (done))
    (:action greet :parameters (?x) :precondition (likes ?x ?x) :effect (done)))"""
    problem = problem_text("loops", "a b", ["(likes a a)", "(likes a b)"], ["(done)"])
    task = hstar.load_task(*write_task(tmp_path, domain, problem))
    vocabulary = Vocabulary.of(task.problem.domain)
    batch = Encoder(task, vocabulary).encode(task.initial_state[None])
    graphs = object_graphs(batch, vocabulary.channels[:3])
    assert len(graphs.edges) == 2
    assert graphs.nodes.sum() == 1


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_names_and_orders_change_no_choice(
    name: str, change: str, attention: bool, tmp_path: Path
) -> None:
    pair = twins(tmp_path, name, 1, change)
    alive = [i for i, state in enumerate(pair.states) if len(pair.task.successors(state)[0])]
    network, vocabulary = network_for(pair.task, attention)
    mine, values = policy_of(network, vocabulary, pair.task, pair.states[alive])
    others, same = policy_of(network, vocabulary, pair.other, pair.other_states[alive])
    np.testing.assert_allclose(values, same, rtol=1e-5, atol=1e-5)
    assert np.ptp(values) > 1e-5
    for expected, found in zip(mine, others, strict=True):
        assert sum(found.values()) == pytest.approx(1, abs=1e-5)
        if change != "names":
            assert found == pytest.approx(expected, abs=1e-5)
        assert sorted(found.values()) == pytest.approx(sorted(expected.values()), abs=1e-5)


@pytest.mark.parametrize("attention", [False, True])
def test_states_of_a_batch_do_not_meet(attention: bool, blocks: hstar.Task) -> None:
    network, vocabulary = network_for(blocks, attention)
    states = reachable(blocks, 12)
    together = policy_of(network, vocabulary, blocks, states)
    for i, state in enumerate(states):
        alone = policy_of(network, vocabulary, blocks, state[None])
        assert alone[0][0] == pytest.approx(together[0][i], abs=1e-5)
        assert alone[1][0] == pytest.approx(together[1][i], abs=1e-5)


@pytest.mark.parametrize("attention", [False, True])
def test_every_weight_gets_a_finite_gradient(attention: bool, blocks: hstar.Task) -> None:
    network, vocabulary = network_for(blocks, attention)
    encoder = Encoder(blocks, vocabulary)
    states = reachable(blocks, 20)
    table = Operators.of(blocks, encoder.objects, network.config.schemas)
    ops = [blocks.successors(state)[0] for state in states]
    log_pi, logit = network.policy(
        encoder.encode(states), ApplicableOperators.of([table] * len(ops), ops)
    )
    ((log_pi * torch.arange(len(log_pi))).sum() + logit.square().sum()).backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
    idle = {n for n, weight in network.named_parameters() if not weight.grad.any()}
    same_for_all = {"score.output.bias"}  # which leaves the policy as it is
    assert idle <= same_for_all, "every other weight takes part"


def test_a_domain_without_objects(tmp_path: Path) -> None:
    domain = """(define (domain switch) (:predicates (off) (on))
    (:action press :precondition (off) :effect (and (on) (not (off)))))"""
    text = "(define (problem p) (:domain switch) (:init (off)) (:goal (on)))"
    task = hstar.load_task(*write_task(tmp_path, domain, text))
    network, vocabulary = network_for(task)
    probabilities, values = policy_of(network, vocabulary, task, task.initial_state[None])
    assert probabilities == [{"(press)": 1.0}] and math.isfinite(values[0])


def test_operators_know_schemas_and_arguments(blocks: hstar.Task) -> None:
    objects = Encoder(blocks, Vocabulary.of(blocks.problem.domain)).objects
    schemas = schemas_of(blocks.problem.domain)
    assert schemas[0] == (ARTIFICIAL, 0)
    table = Operators.of(blocks, objects, schemas)
    for op in range(blocks.num_operators):
        numbers = [int(a) for a in table.arguments[op] if a != NO_OBJECT]
        words = [schemas[table.schema[op]][0], *(objects[a] for a in numbers)]
        assert blocks.operator_name(op) == f"({' '.join(words)})"
    with pytest.raises(ValueError, match="not trained with the action 'stack'"):
        Operators.of(blocks, objects, tuple(one for one in schemas if one[0] != "stack"))


def test_wide_predicates_are_refused(tmp_path: Path) -> None:
    domain = """(define (domain wide) (:predicates (between ?x ?y ?z))
    (:action put :parameters (?x ?y ?z) :effect (between ?x ?y ?z)))"""
    problem = problem_text("wide", "a b c", [], ["(between a b c)"])
    task = hstar.load_task(*write_task(tmp_path, domain, problem))
    with pytest.raises(ValueError, match="at most 2 arguments, and between has more"):
        train_on([task], QUICK)


# -- its heuristics


def test_the_divisor_is_one_plus_the_entropy() -> None:
    """As printed, the sum of pi log pi would be negative and the divisor 0 at one nat."""
    for n in (1, 2, 3, 100):
        log_pi = torch.full((n,), -math.log(n), dtype=torch.float64)
        entropy = torch.full((n,), math.log(n), dtype=torch.float64)
        value = torch.full((n,), 0.3, dtype=torch.float64)
        found = HAdjusted.edge_value(log_pi, value, entropy)
        v = 1 / (1 + math.exp(-0.3))
        expected = (1 / n) * v / (1 + math.log(n))
        assert torch.exp(-found).tolist() == pytest.approx([expected] * n)


def test_tiny_values_keep_their_order() -> None:
    """V of a state a thousand steps from the goal is 0 as a float."""
    value = torch.tensor([-300.0, -200.0, 5.0])
    zeros = torch.zeros(3)
    h = HAdjusted.edge_value(zeros, value, zeros).tolist()
    assert h[0] > h[1] > h[2] >= 0


@pytest.fixture
def trained(blocks: hstar.Task) -> TrainedPolicy:
    return train_on([blocks], replace(QUICK, updates=1))


def heuristic_of(made: TrainedPolicy, kind: str) -> LearnedHeuristic:
    """ "H", the H-adjusted value of edges, or "V", the value of states."""
    decode = {"H": "h-adjusted", "V": "policy-value"}[kind]
    return LearnedHeuristic(made.file, "policy.safetensors", decode)


@pytest.mark.parametrize("algorithm", ["gbfs", "gbfls"])
@pytest.mark.parametrize("attention", [False, True])
def test_search_follows_the_policy(algorithm: str, attention: bool, blocks: hstar.Task) -> None:
    """As a plain search does with pi(a|s) V(s) / (1 + H), larger first."""
    made = train_on([blocks], replace(QUICK, updates=1, attention=attention))
    bound: Any = heuristic_of(made, "H").bind(blocks)
    network, vocabulary = bound.network, bound.encoder.vocabulary
    seen: dict[bytes, tuple[dict[str, float], float]] = {}

    def value(parent: bytes, op: int) -> float:
        if parent not in seen:
            state = np.frombuffer(parent, dtype=np.int32)[None]
            named, values = policy_of(network, vocabulary, blocks, state)
            entropy = -sum(p * math.log(p) for p in named[0].values())
            seen[parent] = named[0], 1 / (1 + math.exp(-values[0])) / (1 + entropy)
        named_of, factor = seen[parent]
        return -float(np.float32(named_of[blocks.operator_name(op)] * factor))

    h = float(hstar.make_heuristic(blocks, "ff", "one").evaluate(blocks.initial_state)[0])
    plain = Plain(blocks, value, int(5 * h) if algorithm == "gbfls" else 0)
    goal = plain.run()
    assert goal is not None
    found = search(blocks, heuristic_of(made, "H"), algorithm)
    assert found.plan == plain.plan(goal)
    for name in ("evaluated", "requested", "expanded", "generated"):
        assert getattr(found, name) == getattr(plain, name), name


def test_the_value_alone_orders_states(trained: TrainedPolicy, blocks: hstar.Task) -> None:
    bound: Any = heuristic_of(trained, "H").bind(blocks)

    def negated(states: States) -> Any:
        with torch.no_grad():
            return -torch.sigmoid(bound.network(bound.encoder.encode(states))[:, 0]).numpy()

    for algorithm in ("gbfs", "gbfls", "lazy", "astar"):
        found = search(blocks, heuristic_of(trained, "V"), algorithm)
        assert found.solved
        if algorithm.startswith("gb"):
            expected = search(blocks, negated, algorithm)
            assert (found.plan, found.evaluated) == (expected.plan, expected.evaluated)


def test_models_are_files_like_others(
    trained: TrainedPolicy, blocks: hstar.Task, tmp_path: Path
) -> None:
    model = tmp_path / "policy.safetensors"
    write_model(model, trained.file)
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    for kind, algorithm, flags in (
        ("H", "gbfs", []),
        ("V", "gbfls", ["-s", "gbfls", "--decode", "policy-value"]),
    ):
        json_and_plan = ["--json", "--plan-file", tmp_path / "plan"]
        done = program("plan", *files, "-H", model, *flags, *json_and_plan)
        assert done.code == 0, done.err
        expected = search(blocks, heuristic_of(trained, kind), algorithm)
        assert json.loads(done.out)["requested"] == expected.requested
    done = program("plan", *files, "-H", model, "-s", "astar")
    assert done.code == 36 and "choose gbfs, gbfls or beam" in done.err
    with pytest.raises(ValueError, match="reads location-scale, but the model's outputs"):
        hstar.load_model(model, "mean")
    folder = write_folder(tmp_path / "other", "gripper", count=1)
    other = hstar.load_task(folder / "domain.pddl", folder / "p00.pddl")
    with pytest.raises(ModelFileError, match="trained on domain 'blocks'"):
        search(other, heuristic_of(trained, "H"), "gbfs")
