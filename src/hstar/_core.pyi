"""Types of the native core; see cpp/bindings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Stopped(Exception): ...
class Unsupported(Exception): ...

class Task:
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
    def operator_name(self, op: int) -> str: ...
    def operator_parts(
        self, op: int
    ) -> tuple[str, int, list[tuple[int, int]], list[tuple[list[tuple[int, int]], int, int]]]: ...
    def initial_value(self, name: str, cost: str) -> float: ...
    def successors(
        self, state: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
    def search(
        self,
        heuristic: str | Heuristic | Callable[[Any], Any],
        cost: str,
        algorithm: str,
        weight: float,
        batch: int,
        use_preferred: bool,
        lookahead_depth: int,
        max_evaluations: int,
        max_expansions: int,
        deadline: float,
        memory_bytes: int,
    ) -> dict[str, Any]: ...

class Heuristic:
    def __init__(self, task: Task, name: str, cost: str) -> None: ...
    @staticmethod
    def learned(task: Task, spec: dict[str, Any]) -> Heuristic: ...
    def evaluate(self, states: NDArray[np.int32]) -> NDArray[np.float32]: ...
    def preferred_operators(self, states: NDArray[np.int32]) -> list[list[int]]: ...
    def plan_features(self, states: NDArray[np.int32]) -> NDArray[np.float32]: ...
    def set_wide_threshold(self, count: int) -> None: ...

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
    shape: NlmShape,
    theta: NDArray[np.float32],
    sizes: NDArray[np.int32],
    starts: NDArray[np.int64],
    entries: NDArray[np.int32],
    values: NDArray[np.float32],
    threads: int,
) -> NDArray[np.float32]: ...
def nlm_backward(
    shape: NlmShape,
    theta: NDArray[np.float32],
    sizes: NDArray[np.int32],
    starts: NDArray[np.int64],
    entries: NDArray[np.int32],
    values: NDArray[np.float32],
    grad: NDArray[np.float32],
    threads: int,
) -> NDArray[np.float32]: ...
def ground(
    spec: dict[str, Any], keep_irrelevant: bool, deadline: float, memory_bytes: int
) -> Task: ...
def heuristic_names() -> list[str]: ...
def monotonic_seconds() -> float: ...
def peak_resident_bytes() -> int: ...
