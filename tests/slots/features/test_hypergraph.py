"""The hypergraph of a task: nodes, edges, slots, and what does not fit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import small_domains
from test_hgn import (
    ODD_DOMAIN,
    assert_like_oracle,
    batch_of,
    odd_problem,
    predict,
    read_task,
    small_task,
    some_states,
)

from hstar.slots.features.hypergraph import build_hypergraph, needed_slots, state_bits
from hstar.slots.models.hgn import HGN, HGNConfig

pytestmark = pytest.mark.usefixtures("one_thread")


def test_blocksworld_hypergraph(tmp_path: Path) -> None:
    problem = small_domains.problem_text(
        "blocks", "a b", ["(ontable a)", "(ontable b)", "(clear a)", "(clear b)", "(handempty)"],
        ["(on a b)"],
    )  # fmt: skip
    task = read_task(tmp_path, small_domains.BLOCKS, problem)
    graph = build_hypergraph(task)
    assert {"on(a, b)", "clear(a)", "handempty()"} <= set(graph.atoms)
    assert [a for a, wanted in zip(graph.atoms, graph.goal, strict=True) if wanted] == ["on(a, b)"]
    assert graph.slots == (3, 3) and graph.num_objects == 2
    operators = [task.operator_name(i) for i in range(task.num_operators)]
    features = dict(zip(operators, graph.edges.tolist(), strict=True))
    assert features["(stack a b)"] == [1, 2, 3]
    assert features["(unstack a b)"] == [1, 3, 2]

    edge = operators.index("(stack a b)")
    first = int(graph.edge_pairs.counts[:edge].sum())
    pairs = graph.edge_pairs.items[first:][: graph.edge_pairs.counts[edge]].tolist()
    sizes = [*graph.receiver_pairs, *graph.sender_pairs]
    columns = np.repeat(np.arange(len(sizes)), sizes)
    nodes = np.arange(graph.num_nodes).repeat(graph.node_pairs.counts)
    node_of = dict(zip(graph.node_pairs.items.tolist(), nodes.tolist(), strict=True))
    slots = {int(columns[pair]): graph.atoms[node_of[pair]] for pair in pairs}
    assert slots == {
        0: "clear(a)", 1: "handempty()", 2: "on(a, b)", 3: "clear(b)", 4: "holding(a)",
    }  # fmt: skip


def test_costs(tmp_path: Path) -> None:
    task = small_task(tmp_path, "transport", seed=1)
    costs = [task.operator(i).cost for i in range(task.num_operators)]
    assert len(set(costs)) > 1
    np.testing.assert_allclose(build_hypergraph(task).edges[:, 0], costs)
    assert set(build_hypergraph(task, "one").edges[:, 0]) == {1}
    with pytest.raises(ValueError, match="unknown cost type 'two'"):
        build_hypergraph(task, "two")


def test_conditional_effects_are_edges_of_their_own(tmp_path: Path) -> None:
    task = small_task(tmp_path, "briefcase")
    graph = build_hypergraph(task)
    things = [name for name in task.problem.objects if name.startswith("thing")]
    go = [i for i in range(task.num_operators) if task.operator_name(i).startswith("(go ")]
    others = task.num_operators - len(go)
    # Moving is one edge for the place and one per thing that may be in the briefcase.
    assert graph.num_edges == len(go) * (1 + len(things)) + others
    # "here" sends to "here"; "here" and "in" send to "at". No edge has a negative sender.
    assert not [atom for atom in graph.atoms if "not" in atom]
    assert [1, 2, 1] in graph.edges.tolist()


def test_quantified_preconditions_share_a_slot(tmp_path: Path) -> None:
    """Or larger problems would need slots that no smaller one could train."""
    slots = set()
    for things in (2, 3, 6):
        task = read_task(tmp_path, ODD_DOMAIN, odd_problem(things, 3))
        graph = build_hypergraph(task)
        assert graph.edges[:, 1].max() >= things
        slots.add(graph.slots)
    assert len(slots) == 1


def test_state_bits(tmp_path: Path) -> None:
    task = small_task(tmp_path, "briefcase")
    graph = build_hypergraph(task)
    states = some_states(task, 9)
    bits = state_bits(graph, task, states)
    assert bits.dtype == np.float32 and bits.shape == (9, graph.num_nodes)
    for state, row in zip(states, bits, strict=True):
        true = {atom for atom, bit in zip(graph.atoms, row, strict=True) if bit}
        assert true == set(task.atoms(state))


def test_bits_of_another_task_are_refused(tmp_path: Path) -> None:
    task, other = small_task(tmp_path, "gripper"), small_task(tmp_path, "ferry")
    graph = build_hypergraph(task)
    with pytest.raises(ValueError, match="belongs to another task"):
        state_bits(graph, other, other.initial_state)
    for wrong in (task.initial_state[:-1], task.initial_state + 100, task.initial_state - 100):
        with pytest.raises(ValueError, match="no states of the task"):
            state_bits(graph, task, wrong)


def test_an_action_that_needs_more_slots_is_named(tmp_path: Path) -> None:
    task = small_task(tmp_path, "blocks")
    graph = build_hypergraph(task)
    bits = state_bits(graph, task, task.initial_state)
    with pytest.raises(ValueError, match=r"action \((put-down|stack) .*\) has 3 adds.* at most 2"):
        predict(HGN(HGNConfig(receiver_slots=2, sender_slots=3)), graph, bits)
    with pytest.raises(ValueError, match=r"action \((pick-up|unstack) .*\) has 3 preconditions"):
        batch_of([(graph, bits)], (3, 2))


def test_a_task_without_operators(tmp_path: Path) -> None:
    problem = small_domains.problem_text(
        "blocks", "a", ["(ontable a)", "(clear a)", "(handempty)"], ["(clear a)"]
    )
    domain = re.sub(r"\(:action.*", ")", small_domains.BLOCKS, flags=re.DOTALL)
    task = read_task(tmp_path, domain, problem)
    assert task.num_operators == 0
    assert_like_oracle(HGN(HGNConfig(3, 3)), task, some_states(task, 2))
    assert needed_slots([build_hypergraph(task)]) == needed_slots([]) == (0, 0)
    assert_like_oracle(HGN(HGNConfig(0, 0)), task, some_states(task, 2))
