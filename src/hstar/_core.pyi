"""Types of the native core; see cpp/bindings. A deadline or a number of bytes of 0 is no limit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Ints = NDArray[np.int32]
_Longs = NDArray[np.int64]
_Floats = NDArray[np.float32]
_Doubles = NDArray[np.float64]
_Facts = list[tuple[int, int]]  # variables and values
_Table = tuple[_Bytes, int]  # its bytes, and the bits of an entry

source_digest: str

class Stopped(Exception): ...
class Unsupported(Exception): ...
class Space: ...

class Task(Space):
    domain_sizes: list[int]
    num_facts: int
    num_operators: int
    has_conditional_effects: bool
    goal: _Facts
    goal_is_false: bool
    initial_values: list[int]
    mutex_groups: list[list[int]]
    state_bytes: int
    def atom_name(self, fact: int) -> str: ...
    def positive_atoms(self) -> list[str]: ...
    def operator_name(self, op: int) -> str: ...
    def is_artificial(self, op: int) -> bool: ...
    def operator_parts(self, op: int) -> tuple[str, int, _Facts, list[tuple[_Facts, int, int]]]: ...
    def successors(self, state: _Ints) -> tuple[_Ints, _Ints]: ...

class WlFeatures:
    def __init__(self, task: Task, spec: dict[str, Any]) -> None: ...
    def collect(
        self, states: _Ints
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int32]]: ...
    def counts(self, states: _Ints) -> NDArray[np.int32]: ...
    def operator_colours(
        self, states: _Ints, ops: _Ints, actions: list[int]
    ) -> NDArray[np.uint64]: ...

def rank_svm(
    starts: NDArray[np.int64],
    columns: _Ints,
    values: NDArray[np.float32],
    width: int,
    penalty: float = 1.0,
    tolerance: float = 0.01,
    max_passes: int = 1000,
    seed: int = 0,
    deadline: float = 0.0,
    memory_bytes: int = 0,
) -> tuple[NDArray[np.float64], int, bool]: ...
def newton_fit(
    starts: NDArray[np.int64],
    columns: _Ints,
    values: NDArray[np.float32],
    width: int,
    loss: str,
    targets: NDArray[np.float64],
    penalty: float = 1.0,
    tolerance: float = 1e-6,
    max_steps: int = 100,
    deadline: float = 0.0,
    memory_bytes: int = 0,
) -> tuple[NDArray[np.float64], int, bool]: ...

class PreImages:
    facts: tuple[NDArray[np.int64], NDArray[np.int32]]
    depth: NDArray[np.int32]
    parent: NDArray[np.int32]
    op: NDArray[np.int32]
    rollout: NDArray[np.int32]
    def __len__(self) -> int: ...
    def improve(self, seconds: float, deadline: float, memory_bytes: int) -> bool: ...
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
    def __init__(self, task: Task, deadline: float, memory_bytes: int) -> None: ...
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
    follow: bool
    ranked: bool
    lookahead: int
    queues: list[tuple[int, int]]
    boost: int
    advisers: int
    batch: int
    width: int
    seed: int
    max_evaluations: int
    max_expansions: int

def search(
    space: Space,
    initial_state: _Ints | None,
    heuristics: list[Heuristic | Callable[[Any], Any]],
    options: SearchOptions,
    deadline: float,
    memory_bytes: int,
) -> dict[str, Any]: ...
def search_in_turns(
    space: Space,
    initial_state: _Ints | None,
    searches: list[tuple[list[Heuristic | Callable[[Any], Any]], SearchOptions]],
    seconds: list[float],
    deadline: float,
    memory_bytes: int,
) -> tuple[int, list[dict[str, Any]]]: ...
def label_by_search(
    task: Task,
    starts: _Ints,
    heuristic: Heuristic,
    options: SearchOptions,
    seconds: float,
    deadline: float,
    memory_bytes: int,
) -> tuple[_Ints, _Ints, NDArray[np.uint8]]: ...
def distances(
    task: Task,
    states: _Ints,
    heuristic: Heuristic,
    options: SearchOptions,
    max_evaluations: int,
    deadline: float,
    memory_bytes: int,
) -> tuple[_Doubles, int]: ...
def bellman_values(
    task: Task, states: _Ints, heuristic: Heuristic, deadline: float, memory_bytes: int
) -> _Floats: ...
def explore(
    task: Task, max_states: int, deadline: float, memory_bytes: int
) -> tuple[_Ints, _Floats, list[str]] | None: ...

class Shaping:
    def __init__(self, gamma: float, reward: str, potential: str) -> None: ...

class TabularOptions:
    steps: int
    depth: int
    temperature: float
    sample: bool
    expectation: bool
    random_starts: bool
    seed: int

class StateTable:
    states: _Ints
    is_goal: _Bytes
    def value_iteration(
        self, shaping: Shaping, h: _Doubles, tolerance: float, deadline: float, memory_bytes: int
    ) -> _Doubles: ...
    def rtdp(
        self,
        shaping: Shaping,
        h: _Doubles,
        options: TabularOptions,
        deadline: float,
        memory_bytes: int,
    ) -> tuple[_Doubles, int, int]: ...

def tabulate(
    task: Task, max_states: int, deadline: float, memory_bytes: int
) -> StateTable | None: ...

class Heuristic:
    network_states: int
    def __init__(
        self, space: Space, name: str, cost: str, deadline: float = 0.0, memory_bytes: int = 0
    ) -> None: ...
    @staticmethod
    def learned(task: Task, spec: dict[str, Any]) -> Heuristic: ...
    @staticmethod
    def pdb(space: Space, sums: list[list[Pdb | LearnedPdb]]) -> Heuristic: ...
    def evaluate(self, states: _Ints) -> _Floats: ...
    def preferred_operators(self, states: _Ints) -> list[list[int]]: ...
    def plan_features(self, states: _Ints) -> _Floats: ...
    @property
    def seconds_spent(self) -> float: ...
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
    def check(self, states: _Ints) -> None: ...
    def expand(self, states: _Ints) -> tuple[_Ints, _Ints, _Ints]: ...
    def apply(self, states: _Ints, moves: _Ints) -> _Ints: ...
    def rank(self, states: _Ints) -> _Longs: ...
    def unrank(self, ranks: _Longs) -> _Ints: ...
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
    def rank(self, states: _Ints) -> _Longs: ...
    def unrank(self, ranks: _Longs) -> _Ints: ...
    def build(self, additive: bool, cost: str, deadline: float, memory_bytes: int) -> _Table: ...

class Pdb:
    def __init__(
        self,
        index: PatternIndex,
        grouping: str,
        number: int,
        table: _Bytes,
        bits: int,
        levels: list[int],
        base: Pdb | None,
    ) -> None: ...
    def lookup(self, states: _Ints) -> _Floats: ...
    def regrouped(
        self, index: PatternIndex, grouping: str, number: int, deadline: float, memory_bytes: int, /
    ) -> _Table: ...
    def subtracted(self, base: Pdb, deadline: float, memory_bytes: int, /) -> _Table: ...
    def quantized(self, levels: list[int], deadline: float, memory_bytes: int, /) -> _Table: ...

class IntegerNetwork:
    def __init__(
        self,
        domain_sizes: list[int],
        layers: list[tuple[NDArray[np.int8], list[int], list[int], int, int]],
        kernel: str = "",
    ) -> None: ...
    def forward(self, digits: _Ints) -> _Ints: ...

class RiceSet:
    def __init__(self, universe: int, count: int, parameter: int, code: _Bytes) -> None: ...
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
        exceptions: list[tuple[int, int, _Bytes]],
        base: Pdb | None,
    ) -> None: ...
    def lookup(self, states: _Ints) -> _Floats: ...
    def count_levels(self, exact: Pdb, order: SweepOrder, grid: list[int]) -> dict[str, Any]: ...
    def find_overestimates(self, exact: Pdb, order: SweepOrder) -> list[NDArray[np.uint64]]: ...
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
        sums: bool = False,
    ) -> None: ...

# A batch is sizes, starts, entries and values; then a number of threads, after the gradient of the
# outputs for nlm_backward.
def nlm_forward(
    shape: NlmShape, theta: _Floats, /, *batch: *tuple[_Ints, _Longs, _Ints, _Floats, int]
) -> _Floats: ...
def nlm_backward(
    shape: NlmShape, theta: _Floats, /, *batch: *tuple[_Ints, _Longs, _Ints, _Floats, _Floats, int]
) -> _Floats: ...
def ground(
    spec: dict[str, Any],
    keep_irrelevant: bool,
    keep_constant: bool,
    deadline: float,
    memory_bytes: int,
) -> Task: ...
def table_histogram(
    table: _Bytes, cells: int, bits: int, levels: list[int], weights: list[int]
) -> list[int]: ...
def integer_kernel_names() -> list[str]: ...
def decode_levels(logits: _Ints, ratio: int, thresholds: list[int]) -> _Ints: ...
def encode_set(members: list[int]) -> tuple[int, bytes]: ...
def encode_weights(weights: NDArray[np.int8], bits: int) -> bytes: ...
def decode_weights(code: _Bytes, rows: int, columns: int, bits: int) -> NDArray[np.int8]: ...
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

# Problems are (task, encoding); the encoding is what the features "atoms" make for the core
class Environment:
    def __init__(
        self,
        problems: list[tuple[Task, dict[str, Any]]],
        heuristic: str,
        lower: str,
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    def num_states(self, problem: int) -> int: ...
    def add(self, problem: int, state: _Ints) -> int: ...
    def values(self, problem: int, state: int) -> _Ints: ...
    def about(self, problems: _Ints, states: _Longs) -> dict[str, NDArray[Any]]: ...
    def expand(self, problems: _Ints, states: _Longs) -> tuple[_Longs, _Ints, _Longs]: ...
    def inputs(self, problems: _Ints, states: _Longs) -> tuple[_Ints, _Longs, _Ints, _Floats]: ...

class RtdpOptions:
    gamma: float
    episode_steps: int
    temperature: float
    samples_actions: bool
    max_backup: bool
    batch: int
    capacity: int
    least_states: int
    fresh_first: bool
    target_period: int
    learns_dead_ends: bool
    searches: bool
    bounded: bool
    average: float
    weight_decay: float
    def __init__(self) -> None: ...
    def set_reward(self, name: str) -> None: ...
    def set_potential(self, name: str) -> None: ...

class RtdpLearner:
    def __init__(
        self,
        environment: Environment,
        buckets: list[int],
        shape: NlmShape,
        theta: _Floats,
        options: RtdpOptions,
        seed: int,
        threads: int,
    ) -> None: ...
    def run(
        self,
        until: int,
        last: int,
        learning_rate: float,
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> None: ...
    def values(self, problems: _Ints, states: _Longs) -> _Floats: ...
    def progress(self) -> dict[str, float]: ...
    def weights(self) -> _Floats: ...
    def memory(self) -> dict[str, Any]: ...
    def restore(self, memory: dict[str, Any]) -> None: ...
