"""The native Neural Logic Machine against its definition."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from nlm_oracle import (
    Shape,
    State,
    batch_of,
    close,
    expected,
    random_shape,
    random_state,
    random_theta,
)

from hstar import _core


@pytest.mark.parametrize("seed", range(150))
def test_outputs_and_gradients_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    shape = random_shape(rng)
    theta = random_theta(rng, shape, 2.0)
    states = [random_state(rng, shape, 4 if shape.breadth == 3 else 6) for _ in range(3)]
    gradient = np.array(
        [[rng.gauss(0, 1) for _ in range(shape.outputs)] for _ in states], dtype=np.float32
    )
    outputs, slope = expected(shape, theta, states, gradient)
    arrays = batch_of(states)
    assert close(_core.nlm_forward(shape.native(), theta, *arrays, 1), outputs, 1e-5)
    assert close(_core.nlm_backward(shape.native(), theta, *arrays, gradient, 1), slope, 1e-4)


def test_the_parameters_of_blocksworld() -> None:
    shape = _core.NlmShape(3, 5, 16, 2, False, False, "sigmoid", [2, 6, 2, 0])
    assert shape.num_parameters == 13714
    assert [columns for _, _, _, columns in shape.weight_shapes] == [
        *(14, 12, 16, 12),
        *(48, 64, 128, 192),
        *(48, 64, 128),
        *(48, 64),
        48,
    ]


def by_members(shape: Shape, state: State) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """The entries of a state: the objects, the channel and the value of each."""
    for arity, index, value in state.entries:
        number, channel = divmod(index, shape.channels[arity])
        members: list[int] = []
        for _ in range(arity):
            number, member = divmod(number, state.size)
            members.insert(0, member)
        yield tuple(members), channel, value


def entry(
    shape: Shape, size: int, members: Iterable[int], channel: int, value: float
) -> tuple[int, int, float]:
    arity = number = 0
    for member in members:
        arity, number = arity + 1, number * size + member
    return arity, number * shape.channels[arity] + channel, value


def renamed(rng: random.Random, shape: Shape, state: State) -> State:
    """The same state with its objects in another order."""
    order = rng.sample(range(state.size), state.size)
    entries = [
        entry(shape, state.size, [order[member] for member in members], channel, value)
        for members, channel, value in by_members(shape, state)
    ]
    rng.shuffle(entries)
    return State(state.size, tuple(entries))


@pytest.mark.parametrize("seed", range(30))
def test_names_and_threads_and_neighbours_do_not_matter(seed: int) -> None:
    rng = random.Random(1000 + seed)
    shape = random_shape(rng)
    native, theta = shape.native(), random_theta(rng, shape)
    states = [random_state(rng, shape) for _ in range(40)]
    gradient = np.ones((40, shape.outputs), dtype=np.float32)
    arrays = batch_of(states)
    outputs = _core.nlm_forward(native, theta, *arrays, 1)
    slope = _core.nlm_backward(native, theta, *arrays, gradient, 1)
    for threads in (2, 3):
        assert outputs.tobytes() == _core.nlm_forward(native, theta, *arrays, threads).tobytes()
        again = _core.nlm_backward(native, theta, *arrays, gradient, threads)
        assert slope.tobytes() == again.tobytes()
    for i in range(0, 40, 8):
        alone = _core.nlm_forward(native, theta, *batch_of(states[i : i + 1]), 1)
        assert alone.tobytes() == outputs[i : i + 1].tobytes()
    other = _core.nlm_forward(native, theta, *batch_of([renamed(rng, shape, s) for s in states]), 1)
    assert np.abs(other - outputs).max() <= 1e-6 * max(1.0, np.abs(outputs).max())


def with_twins(rng: random.Random, shape: Shape, state: State, copies: int) -> State:
    """The state with up to `copies` further objects like object 0, which meets no other 0."""
    size = state.size + copies
    entries = []
    for members, channel, value in by_members(shape, state):
        for twin in [0, *range(state.size, size)] if 0 in members else [0]:
            copied = [twin if member == 0 else member for member in members]
            entries.append(entry(shape, size, copied, channel, value))
    return State(size, tuple(entries))


def crowded_state(rng: random.Random, shape: Shape, size: int, count: int) -> State:
    """Many pairs with something in them, of many kinds."""
    entries = [(1, rng.randrange(size * shape.channels[1]), 1.0) for _ in range(size)]
    for _ in range(count):
        entries.append((2, rng.randrange(size**2 * shape.channels[2]), rng.choice([1.0, 2.0])))
    return State(size, tuple(entries))


@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize(
    ("size", "count", "depth", "width"),
    [(8, 10, 5, 3), (8, 80, 5, 3), (12, 30, 6, 3), (34, 900, 4, 2), (34, 60, 5, 2), (66, 30, 5, 1)],
)
def test_many_objects(size: int, count: int, depth: int, width: int, exclude_self: bool) -> None:
    """Enough of them for every way of telling which pairs and triples are alike."""
    rng = random.Random(size + count)
    shape = Shape(3, depth, width, 1, exclude_self, False, "sigmoid", (1, 2, 6, 0))
    theta = random_theta(rng, shape, 2.0)
    state = crowded_state(rng, shape, size, count)
    gradient = np.ones((1, 1), dtype=np.float32)
    outputs, slope = expected(shape, theta, [state], gradient)
    arrays = batch_of([state])
    assert close(_core.nlm_forward(shape.native(), theta, *arrays, 1), outputs, 1e-5)
    assert close(_core.nlm_backward(shape.native(), theta, *arrays, gradient, 1), slope, 1e-4)


@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize(
    ("size", "count", "depth", "width"), [(8, 12, 6, 8), (7, 9, 7, 3), (6, 90, 6, 9), (2, 2, 6, 8)]
)
def test_deep_dense_networks(
    size: int, count: int, depth: int, width: int, exclude_self: bool
) -> None:
    """Three layers of triples and more, where many triples are alike and where hardly two are."""
    rng = random.Random(size + count)
    shape = Shape(3, depth, width, 1, exclude_self, True, "sigmoid", (1, 2, 6, 0))
    theta = random_theta(rng, shape, 2.0)
    states = [crowded_state(rng, shape, size, count) for _ in range(2)]
    gradient = np.ones((2, 1), dtype=np.float32)
    outputs, slope = expected(shape, theta, states, gradient)
    arrays = batch_of(states)
    assert close(_core.nlm_forward(shape.native(), theta, *arrays, 1), outputs, 1e-5)
    assert close(_core.nlm_backward(shape.native(), theta, *arrays, gradient, 1), slope, 1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_twins_are_cut_down_without_a_trace(seed: int) -> None:
    rng = random.Random(2000 + seed)
    shape = random_shape(rng)
    theta = random_theta(rng, shape, 2.0)
    few = random_state(rng, shape, 2)
    few = State(max(1, few.size), few.entries if few.size else ())
    states = [with_twins(rng, shape, few, copies) for copies in (shape.breadth - 1, 4)]
    gradient = np.ones((1, shape.outputs), dtype=np.float32)
    for state in states:
        outputs, slope = expected(shape, theta, [state], gradient)
        arrays = batch_of([state])
        assert close(_core.nlm_forward(shape.native(), theta, *arrays, 1), outputs, 1e-5)
        assert close(_core.nlm_backward(shape.native(), theta, *arrays, gradient, 1), slope, 1e-4)
    one, two = (_core.nlm_forward(shape.native(), theta, *batch_of([s]), 1) for s in states)
    assert one.tobytes() == two.tobytes()


def test_bad_arrays_are_refused() -> None:
    shape = _core.NlmShape(2, 2, 4, 1, False, False, "relu", [1, 1, 1])
    theta = np.zeros(shape.num_parameters, dtype=np.float32)
    sizes, starts = np.array([2], dtype=np.int32), np.array([0, 1], dtype=np.int64)
    entries, values = np.array([[2, 3]], dtype=np.int32), np.ones(1, dtype=np.float32)
    gradient = np.ones((1, 1), dtype=np.float32)
    assert _core.nlm_forward(shape, theta, sizes, starts, entries, values, 1).shape == (1, 1)

    def refused(
        theta: Any = theta,
        sizes: Any = sizes,
        starts: Any = starts,
        entries: Any = entries,
        values: Any = values,
        gradient: Any = gradient,
    ) -> None:
        with pytest.raises((ValueError, TypeError)):
            _core.nlm_backward(shape, theta, sizes, starts, entries, values, gradient, 1)

    refused(theta=theta[1:])
    refused(sizes=np.array([-1], dtype=np.int32))
    refused(sizes=np.array([1], dtype=np.int32))
    refused(sizes=np.array([100_000], dtype=np.int32))
    refused(starts=starts[:1])
    refused(starts=np.array([-1, 1], dtype=np.int64))
    refused(starts=np.array([1, 0], dtype=np.int64))
    refused(starts=np.array([0, 2], dtype=np.int64))
    for arity, index in ((3, 0), (-1, 0), (2, 4), (2, -1), (0, 1)):
        refused(entries=np.array([[arity, index]], dtype=np.int32))
    refused(entries=np.array([[2, 3, 0]], dtype=np.int32))
    refused(values=np.ones(2, dtype=np.float32))
    refused(values=np.array([np.nan], dtype=np.float32))
    refused(gradient=np.ones((1, 2), dtype=np.float32))
    refused(gradient=np.ones((2, 1), dtype=np.float32))
    for bad in ((0, 2, 4, 1), (4, 2, 4, 1), (2, 0, 4, 1), (2, 2, 0, 1), (2, 2, 4, 0)):
        with pytest.raises(ValueError, match="NLM"):
            _core.NlmShape(*bad, False, False, "relu", [1] * (bad[0] + 1))
    with pytest.raises(ValueError, match="channels"):
        _core.NlmShape(2, 2, 4, 1, False, False, "relu", [1, 1])
    with pytest.raises(ValueError, match="activation"):
        _core.NlmShape(2, 2, 4, 1, False, False, "tanh", [1, 1, 1])


def test_parameters_that_are_not_finite_show_in_the_output() -> None:
    shape = _core.NlmShape(1, 2, 4, 1, False, False, "sigmoid", [1, 1])
    theta = np.zeros(shape.num_parameters, dtype=np.float32)
    theta[0] = np.inf
    arrays = batch_of([State(1, ())])
    assert np.isnan(_core.nlm_forward(shape, theta, *arrays, 1)).all()
    assert np.isnan(_core.nlm_backward(shape, theta, *arrays, np.ones((1, 1), "f4"), 1)).all()
