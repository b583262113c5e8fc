"""Types of the native core; see cpp/bindings."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Arrays.
I8: TypeAlias = NDArray[np.int8]
U8: TypeAlias = NDArray[np.uint8]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
U64: TypeAlias = NDArray[np.uint64]
F32: TypeAlias = NDArray[np.float32]
Table: TypeAlias = tuple[U8, int]  # cells, and how many bits each has

source_digest: str

class Stopped(Exception): ...
class Unsupported(Exception): ...
class Space: ...

class Task(Space):
    domain_sizes: list[int]
    num_facts: int
    num_operators: int
    has_conditional_effects: bool
    goal: list[tuple[int, int]]
    goal_is_false: bool
    initial_values: list[int]
    mutex_groups: list[list[int]]
    state_bytes: int
    def atom_name(self, fact: int) -> str: ...
    def positive_atoms(self) -> list[str]: ...
    def operator_name(self, op: int) -> str: ...
    def operator_parts(
        self, op: int
    ) -> tuple[str, int, list[tuple[int, int]], list[tuple[list[tuple[int, int]], int, int]]]: ...
    def successors(self, state: I32) -> tuple[I32, I32]: ...

class PreImages:
    facts: tuple[NDArray[np.int64], NDArray[np.int32]]
    depth: NDArray[np.int32]
    parent: NDArray[np.int32]
    op: NDArray[np.int32]
    rollout: NDArray[np.int32]
    def __len__(self) -> int: ...
    def complete(
        self,
        chosen: NDArray[np.int32],
        way: str,
        seed: int,
        deadline: float,
        memory_bytes: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def smallest_depths(
        self,
        starts: NDArray[np.int64],
        facts: NDArray[np.int32],
        deadline: float,
        memory_bytes: int,
    ) -> NDArray[np.int32]: ...

class Regression:
    num_left_out: int
    num_mutexes: int
    def __init__(self, task: Task) -> None: ...
    def add_h2(self, seconds: float, deadline: float, memory_bytes: int) -> bool: ...
    def exclusive(self, a: int, b: int) -> bool: ...
    def operators(self, facts: NDArray[np.int32]) -> list[int]: ...
    def rollouts(
        self,
        count: int,
        length: int,
        novelty: str,
        seed: int,
        deadline: float,
        memory_bytes: int,
    ) -> PreImages: ...
    def focused(
        self,
        count: int,
        breadth_first: float,
        length: int,
        stride: int,
        seed: int,
        deadline: float,
        memory_bytes: int,
    ) -> PreImages: ...

def random_walks(
    task: Task, count: int, steps: int, seed: int, deadline: float, memory_bytes: int
) -> NDArray[np.int32]: ...

class SearchOptions:
    g_weight: float
    h_weight: float
    tie_by_h: bool
    use_h: bool
    early_goal_test: bool
    reopen: bool
    lazy: bool
    deepen: bool
    lookahead: int
    queues: list[tuple[int, bool]]
    boost: int
    batch: int
    seed: int
    max_evaluations: int
    max_expansions: int

def search(
    space: Space,
    initial_state: I32 | None,
    heuristics: list[Heuristic | Callable[[Any], Any]],
    options: SearchOptions,
    deadline: float,
    memory_bytes: int,
) -> dict[str, Any]: ...
def explore(
    task: Task, max_states: int, deadline: float, memory_bytes: int
) -> tuple[I32, F32, list[str]] | None: ...

class Heuristic:
    network_states: int
    def __init__(
        self, space: Space, name: str, cost: str, deadline: float = 0.0, memory_bytes: int = 0
    ) -> None: ...
    @staticmethod
    def learned(task: Task, spec: dict[str, Any]) -> Heuristic: ...
    @staticmethod
    def pdb(space: Space, sums: list[list[Pdb | LearnedPdb]]) -> Heuristic: ...
    def evaluate(self, states: I32) -> F32: ...
    def preferred_operators(self, states: I32) -> list[list[int]]: ...
    def plan_features(self, states: I32) -> F32: ...
    def set_wide_threshold(self, count: int) -> None: ...
    def states_side_by_side(self) -> int: ...

class Puzzle(Space):
    name: str
    domain_sizes: list[int]
    goal: list[int]
    move_names: list[str]
    inverse_moves: list[int]
    groups: list[tuple[str, int, int, int, int]]
    num_states: int | None
    def __init__(self, name: str) -> None: ...
    def may_follow(self, last: int, next: int) -> bool: ...
    def check(self, states: I32) -> None: ...
    def expand(self, states: I32) -> tuple[I32, I32, I32]: ...
    def apply(self, states: I32, moves: I32) -> I32: ...
    def rank(self, states: I32) -> I64: ...
    def unrank(self, ranks: I64) -> I32: ...
    def random_moves(self, count: int, seed: int) -> list[int]: ...

class PatternIndex:
    size: int
    variables: list[int]
    multiplicities: list[int]
    @staticmethod
    def pieces(
        puzzle: Puzzle, variables: list[int], order: str, symmetric: bool
    ) -> PatternIndex: ...
    @staticmethod
    def projection(task: Task, variables: list[int]) -> PatternIndex: ...
    def rank(self, states: I32) -> I64: ...
    def unrank(self, ranks: I64) -> I32: ...
    def build(self, additive: bool, cost: str, deadline: float, memory_bytes: int) -> Table: ...

class Pdb:
    def __init__(
        self,
        index: PatternIndex,
        grouping: str,
        number: int,
        table: U8,
        bits: int,
        levels: list[int],
        base: Pdb | None,
    ) -> None: ...
    def lookup(self, states: I32) -> F32: ...
    # Each takes a deadline and a number of bytes as its last arguments, 0 for no limit.
    def regrouped(
        self, index: PatternIndex, grouping: str, number: int, deadline: float, memory_bytes: int, /
    ) -> Table: ...
    def subtracted(self, base: Pdb, deadline: float, memory_bytes: int, /) -> Table: ...
    def quantized(self, levels: list[int], deadline: float, memory_bytes: int, /) -> Table: ...

class IntegerNetwork:
    def __init__(
        self,
        domain_sizes: list[int],
        layers: list[tuple[I8, list[int], list[int], int, int]],
        kernel: str = "",
    ) -> None: ...
    def forward(self, digits: I32) -> I32: ...

class RiceSet:
    def __init__(self, universe: int, count: int, parameter: int, code: U8) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, number: int) -> bool: ...
    def members(self) -> list[int]: ...

class LearnedPdb:
    def __init__(
        self,
        index: PatternIndex,
        network: IntegerNetwork,
        ratio: int,
        thresholds: list[int] | None,
        values: list[int],
        exceptions: list[tuple[int, int, U8]],
        base: Pdb | None,
    ) -> None: ...
    def lookup(self, states: I32) -> F32: ...
    def count_levels(self, exact: Pdb, order: SweepOrder, grid: list[int]) -> dict[str, Any]: ...
    def find_overestimates(self, exact: Pdb, order: SweepOrder) -> list[U64]: ...
    def count_values(self, exact: Pdb, order: SweepOrder) -> dict[str, Any]: ...

class SweepOrder:
    def __init__(
        self, first: int, end: int, threads: int, batch: int, deadline: float, memory_bytes: int, /
    ) -> None: ...

class NlmShape:
    num_parameters: int
    weight_shapes: list[tuple[int, int, int, int]]
    def __init__(
        self,
        breadth: int,
        depth: int,
        width: int,
        outputs: int,
        exclude_self: bool,
        dense: bool,
        activation: str,
        channels: list[int],
    ) -> None: ...

def nlm_forward(
    shape: NlmShape, theta: F32, sizes: I32, starts: I64, entries: I32, values: F32, threads: int
) -> F32: ...
def nlm_backward(
    shape: NlmShape,
    theta: F32,
    sizes: I32,
    starts: I64,
    entries: I32,
    values: F32,
    grad: F32,
    threads: int,
) -> F32: ...
def ground(
    spec: dict[str, Any],
    keep_irrelevant: bool,
    keep_constant: bool,
    deadline: float,
    memory_bytes: int,
) -> Task: ...
def table_histogram(
    table: U8, cells: int, bits: int, levels: list[int], weights: list[int]
) -> list[int]: ...
def integer_kernel_names() -> list[str]: ...
def decode_levels(logits: I32, ratio: int, thresholds: list[int]) -> I32: ...
def encode_set(members: list[int]) -> tuple[int, bytes]: ...
def encode_weights(weights: I8, bits: int) -> bytes: ...
def decode_weights(code: U8, rows: int, columns: int, bits: int) -> I8: ...
def task_fingerprint(task: Task) -> int: ...
def cube_place_names() -> tuple[list[str], list[str]]: ...
def monotonic_seconds() -> float: ...
def peak_resident_bytes() -> int: ...

MlpLayers = list[tuple[NDArray[np.float32], NDArray[np.float32], str, bool]]

class TrainingRows:
    def __init__(
        self,
        num_atoms: int,
        starts: NDArray[np.int64],
        atoms: NDArray[np.int32],
        h: NDArray[np.float32],
        lower: NDArray[np.float32],
        upper: NDArray[np.float32],
        weights: NDArray[np.float32],
    ) -> None: ...
    def __len__(self) -> int: ...

class MlpTrainer:
    kernel: str
    def __init__(
        self,
        rows: TrainingRows,
        layers: MlpLayers,
        objective: str = "squared",
        scale: float = 1.0,
        epsilon: float = 0.1,
        kernel: str = "",
    ) -> None: ...
    def epoch(
        self,
        order: NDArray[np.int32],
        batch: int,
        learning_rate: float,
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> float: ...
    def loss(
        self, rows: NDArray[np.int32], deadline: float = 0.0, memory_bytes: int = 0
    ) -> float: ...
    def outputs(
        self, rows: NDArray[np.int32], deadline: float = 0.0, memory_bytes: int = 0
    ) -> NDArray[np.float32]: ...
    def weights(self) -> MlpLayers: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, layers: MlpLayers, state: dict[str, Any] | None = None) -> None: ...

def mlp_training_kernels() -> list[str]: ...
