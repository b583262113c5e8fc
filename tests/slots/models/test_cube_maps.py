"""Maps of the cube against the stickers that its notation shows; the network that reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_patterns import OPTIONS, data_of, learn_float

from hstar.planning.notation import CORNER_PLACES, EDGE_PLACES
from hstar.planning.puzzle import make_puzzle
from hstar.slots.features.digits import first_rows
from hstar.slots.loader import load_model
from hstar.slots.models.cube_maps import FACES, cube_maps
from hstar.slots.models.mlp import MLP_MODEL
from hstar.slots.models.rounding import ResidualNet
from hstar.training.train import prepare_table

CUBE = make_puzzle("cube3")
STATES = [CUBE.scramble(length, seed) for seed, length in enumerate((0, 1, 2, 5, 30, 40))]


def maps_of(variables: list[int], state: np.ndarray) -> np.ndarray:
    added, fixed = cube_maps(variables)
    rows = first_rows([24] * len(variables)) + state[variables]
    return fixed + added[rows].sum(axis=0)


def words_of(state: np.ndarray) -> dict[str, str]:
    """For each place the faces whose stickers are there."""
    return dict(zip(EDGE_PLACES + CORNER_PLACES, CUBE.format_state(state).split(), strict=True))


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_corner_maps_show_the_stickers(state: np.ndarray) -> None:
    maps = maps_of(list(range(8)), state).reshape(6, 6, 3, 3)
    assert (maps.sum(axis=1) == 1).all()  # every sticker has one colour
    words = words_of(state)
    cells: dict[str, set[tuple[int, int]]] = {}
    for place in CORNER_PLACES:
        for face, colour in zip(place, words[place], strict=True):
            own = maps[FACES.index(face), FACES.index(colour)]
            # the cell of this corner is that of the solved cube on which its face looks alike
            cell = cell_of(face, place)
            assert own[cell] == 1
            cells.setdefault(face, set()).add(cell)
    assert all(len(found) == 4 for found in cells.values())
    for face in range(6):
        assert maps[face, face, 1].sum() == 3 and maps[face, face, :, 1].sum() == 3


def cell_of(face: str, place: str) -> tuple[int, int]:
    """Where a corner of some pieces alone changes a face's maps."""
    names = _variables()
    piece = names.index(frozenset(place))
    _, fixed = cube_maps([piece])
    missing = np.argwhere(fixed.reshape(6, 6, 3, 3)[FACES.index(face), FACES.index(face)] == 0)
    assert len(missing) == 1
    return int(missing[0][0]), int(missing[0][1])


def _variables() -> list[frozenset[str]]:
    """The corners by variable, read off the solved cube."""
    from hstar import _core

    return [frozenset(name) for name in _core.cube_place_names()[0]]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_edge_maps_show_places_and_turns(state: np.ndarray) -> None:
    pieces = [8, 11, 19]
    maps = maps_of(pieces, state).reshape(3, 3, 12)
    goal = maps_of(pieces, CUBE.goal).reshape(3, 3, 12)
    for row, piece in enumerate(pieces):
        place, turn = divmod(int(state[piece]), 2)
        assert maps[row, 0].tolist() == np.eye(12)[place].tolist()
        assert maps[row, 1].sum() == (turn == 0) and maps[row, 1, place] == (turn == 0)
        assert (maps[row, 2] == goal[row, 0]).all()


def test_the_convolution_is_that_of_each_states_maps() -> None:
    config = MLP_MODEL.configure(
        {"width": 48, "variables": [8, 9], "fingerprint": "cube3"},
        3,
        {**MLP_MODEL.options, "hidden": 8, "width": 4, "blocks": 1, "convolution": True},
    )
    network = MLP_MODEL.build(config, torch.Generator().manual_seed(1)).eval()
    assert isinstance(network, ResidualNet) and network.front is not None
    states = np.stack(STATES)[:, [8, 9]]
    rows = torch.from_numpy(states + first_rows([24, 24]))
    x = torch.zeros(len(states), 48).scatter_(1, rows, 1.0)
    maps = torch.from_numpy(np.stack([maps_of([8, 9], state) for state in STATES]))
    z = network.front.convolution(maps)  # [B, channels, H, W]
    expected = torch.relu(network.front.norm(z.flatten(2))).flatten(1)
    assert torch.allclose(network.front(x), expected, atol=1e-5)


def test_a_network_with_a_convolution_learns_and_searches(tmp_path: Path) -> None:
    options = {**OPTIONS.model_options, "convolution": True}
    chosen = replace(OPTIONS, bits=16, decode="argmax", model_options=options, steps=30)
    path = tmp_path / "model.safetensors"
    learn_float(data_of("cube3", "edges:0-1"), path, chosen)
    values = load_model(path).evaluate(CUBE, np.stack(STATES))
    assert np.isfinite(values).all() and values.max() <= 6
    with pytest.raises(ValueError, match="digits of pieces of cube3"):
        prepare_table(data_of("pancake-6", "pancakes"), chosen)
    with pytest.raises(ValueError, match="has no convolution"):
        prepare_table(data_of("cube3", "edges:0-1"), replace(chosen, bits=8, decode="strict"))
    with pytest.raises(ValueError, match="not both at once"):
        cube_maps([0, 8])
