"""
The native core of hstar: grounding, heuristics, search, pattern databases, small models.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray

class Stopped(Exception):
    pass

class Unsupported(Exception):
    pass

class Space:
    pass

class Task(Space):
    @property
    def domain_sizes(self) -> list[int]: ...
    @property
    def num_facts(self) -> int: ...
    @property
    def num_operators(self) -> int: ...
    @property
    def has_conditional_effects(self) -> bool: ...
    @property
    def goal(self) -> list[tuple[int, int]]: ...
    @property
    def goal_is_false(self) -> bool: ...
    @property
    def initial_values(self) -> list[int]: ...
    @property
    def mutex_groups(self) -> list[list[int]]: ...
    @property
    def state_bytes(self) -> int: ...
    def atom_name(self, arg: int, /) -> str: ...
    def positive_atoms(self) -> list[str]: ...
    def operator_name(self, arg: int, /) -> str: ...
    def is_artificial(self, arg: int, /) -> bool: ...
    def operator_parts(
        self, arg: int, /
    ) -> tuple[str, int, list[tuple[int, int]], list[tuple[list[tuple[int, int]], int, int]]]: ...
    def successors(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None, None))],
    ]: ...

def ground(
    spec: dict[str, Any],
    keep_irrelevant: bool,
    keep_constant: bool,
    deadline: float,
    memory_bytes: int,
) -> Task: ...
def random_walks(
    task: Task, count: int, steps: int, seed: int, deadline: float, memory_bytes: int
) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

class PreImages:
    def __len__(self) -> int: ...
    @property
    def facts(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]: ...
    @property
    def depth(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def parent(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def op(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def walk(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def improve(self, seconds: float, deadline: float, memory_bytes: int) -> bool: ...
    def complete(
        self,
        chosen: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        way: str,
        seed: int,
        deadline: float,
        memory_bytes: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]: ...
    def smallest_depths(
        self,
        starts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        facts: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        deadline: float,
        memory_bytes: int,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Regression:
    def __init__(self, task: Task, deadline: float, memory_bytes: int) -> None: ...
    def add_h2(self, seconds: float, deadline: float, memory_bytes: int) -> bool: ...
    @property
    def num_left_out(self) -> int: ...
    @property
    def num_mutexes(self) -> int: ...
    def exclusive(self, arg0: int, arg1: int, /) -> bool: ...
    def operators(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> list[int]: ...
    def backward_walks(
        self, count: int, length: int, novelty: str, seed: int, deadline: float, memory_bytes: int
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

def label_by_search(
    task: Task,
    starts: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    heuristic: Heuristic,
    options: SearchOptions,
    seconds: float,
    deadline: float,
    memory_bytes: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None, None))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.uint8], dict(shape=(None,))],
]: ...
def distances(
    task: Task,
    states: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    heuristic: Heuristic,
    options: SearchOptions,
    max_evaluations: int,
    deadline: float,
    memory_bytes: int,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], int]: ...
def bellman_values(
    task: Task,
    states: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    heuristic: Heuristic,
    deadline: float,
    memory_bytes: int,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

class Environment:
    def __init__(
        self,
        problems: Sequence[tuple[Task, dict[str, Any]]],
        heuristic: str,
        lower: str,
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    def num_states(self, arg: int, /) -> int: ...
    def add(
        self,
        problem: int,
        state: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
    ) -> int: ...
    def values(
        self, problem: int, state: int
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def about(
        self,
        problems: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        states: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> dict[str, Any]: ...
    def expand(
        self,
        problems: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        states: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    ]: ...
    def inputs(
        self,
        problems: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        states: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None, None))],
        Annotated[NDArray[numpy.float32], dict(shape=(None,))],
    ]: ...

class RtdpOptions:
    def __init__(self) -> None: ...
    @property
    def gamma(self) -> float: ...
    @gamma.setter
    def gamma(self, arg: float, /) -> None: ...
    def set_reward(self, arg: str, /) -> None: ...
    def set_potential(self, arg: str, /) -> None: ...
    @property
    def episode_steps(self) -> int: ...
    @episode_steps.setter
    def episode_steps(self, arg: int, /) -> None: ...
    @property
    def temperature(self) -> float: ...
    @temperature.setter
    def temperature(self, arg: float, /) -> None: ...
    @property
    def samples_actions(self) -> bool: ...
    @samples_actions.setter
    def samples_actions(self, arg: bool, /) -> None: ...
    @property
    def max_backup(self) -> bool: ...
    @max_backup.setter
    def max_backup(self, arg: bool, /) -> None: ...
    @property
    def batch(self) -> int: ...
    @batch.setter
    def batch(self, arg: int, /) -> None: ...
    @property
    def capacity(self) -> int: ...
    @capacity.setter
    def capacity(self, arg: int, /) -> None: ...
    @property
    def least_states(self) -> int: ...
    @least_states.setter
    def least_states(self, arg: int, /) -> None: ...
    @property
    def fresh_first(self) -> bool: ...
    @fresh_first.setter
    def fresh_first(self, arg: bool, /) -> None: ...
    @property
    def target_period(self) -> int: ...
    @target_period.setter
    def target_period(self, arg: int, /) -> None: ...
    @property
    def learns_dead_ends(self) -> bool: ...
    @learns_dead_ends.setter
    def learns_dead_ends(self, arg: bool, /) -> None: ...
    @property
    def searches(self) -> bool: ...
    @searches.setter
    def searches(self, arg: bool, /) -> None: ...
    @property
    def bounded(self) -> bool: ...
    @bounded.setter
    def bounded(self, arg: bool, /) -> None: ...
    @property
    def average(self) -> float: ...
    @average.setter
    def average(self, arg: float, /) -> None: ...
    @property
    def weight_decay(self) -> float: ...
    @weight_decay.setter
    def weight_decay(self, arg: float, /) -> None: ...

class RtdpLearner:
    def __init__(
        self,
        environment: Environment,
        buckets: Sequence[int],
        shape: NlmShape,
        theta: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
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
    def values(
        self,
        problems: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        states: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def progress(self) -> dict[str, Any]: ...
    def weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def memory(self) -> dict[str, Any]: ...
    def restore(self, memory: dict[str, Any]) -> None: ...

class Heuristic:
    def __init__(
        self, space: Space, name: str, cost: str, deadline: float = 0.0, memory_bytes: int = 0
    ) -> None: ...
    @staticmethod
    def learned(task: Task, spec: dict[str, Any]) -> Heuristic: ...
    @staticmethod
    def pdb(space: Space, sums: list[Any]) -> Heuristic: ...
    @property
    def network_states(self) -> int: ...
    def evaluate(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def preferred_operators(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> list[list[int]]: ...
    def plan_features(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...
    @property
    def seconds_spent(self) -> float: ...
    def set_wide_threshold(self, arg: int, /) -> None: ...
    def states_side_by_side(self) -> int: ...

class SearchOptions:
    def __init__(self) -> None: ...
    @property
    def g_weight(self) -> float: ...
    @g_weight.setter
    def g_weight(self, arg: float, /) -> None: ...
    @property
    def h_weight(self) -> float: ...
    @h_weight.setter
    def h_weight(self, arg: float, /) -> None: ...
    @property
    def tie_by_h(self) -> bool: ...
    @tie_by_h.setter
    def tie_by_h(self, arg: bool, /) -> None: ...
    @property
    def use_h(self) -> bool: ...
    @use_h.setter
    def use_h(self, arg: bool, /) -> None: ...
    @property
    def early_goal_test(self) -> bool: ...
    @early_goal_test.setter
    def early_goal_test(self, arg: bool, /) -> None: ...
    @property
    def reopen(self) -> bool: ...
    @reopen.setter
    def reopen(self, arg: bool, /) -> None: ...
    @property
    def lazy(self) -> bool: ...
    @lazy.setter
    def lazy(self, arg: bool, /) -> None: ...
    @property
    def partial(self) -> bool: ...
    @partial.setter
    def partial(self, arg: bool, /) -> None: ...
    @property
    def deepen(self) -> bool: ...
    @deepen.setter
    def deepen(self, arg: bool, /) -> None: ...
    @property
    def follow(self) -> bool: ...
    @follow.setter
    def follow(self, arg: bool, /) -> None: ...
    @property
    def ranked(self) -> bool: ...
    @ranked.setter
    def ranked(self, arg: bool, /) -> None: ...
    @property
    def lookahead(self) -> int: ...
    @lookahead.setter
    def lookahead(self, arg: int, /) -> None: ...
    @property
    def boost(self) -> int: ...
    @boost.setter
    def boost(self, arg: int, /) -> None: ...
    @property
    def advisers(self) -> int: ...
    @advisers.setter
    def advisers(self, arg: int, /) -> None: ...
    @property
    def batch(self) -> int: ...
    @batch.setter
    def batch(self, arg: int, /) -> None: ...
    @property
    def width(self) -> int: ...
    @width.setter
    def width(self, arg: int, /) -> None: ...
    @property
    def seed(self) -> int: ...
    @seed.setter
    def seed(self, arg: int, /) -> None: ...
    @property
    def max_evaluations(self) -> int: ...
    @max_evaluations.setter
    def max_evaluations(self, arg: int, /) -> None: ...
    @property
    def max_expansions(self) -> int: ...
    @max_expansions.setter
    def max_expansions(self, arg: int, /) -> None: ...
    @property
    def queues(self) -> list[tuple[int, int]]: ...
    @queues.setter
    def queues(self, arg: Sequence[tuple[int, int]], /) -> None: ...

def search(
    space: Space,
    initial_state: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    heuristics: list[Any],
    options: SearchOptions,
    deadline: float,
    memory_bytes: int,
) -> dict[str, Any]: ...
def search_in_turns(
    space: Space,
    initial_state: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    searches: Sequence[tuple[list[Any], SearchOptions]],
    seconds: Sequence[float],
    deadline: float,
    memory_bytes: int,
) -> tuple[int, list[dict[str, Any]]]: ...
def explore(
    task: Task, max_states: int, deadline: float, memory_bytes: int
) -> (
    tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None, None))],
        Annotated[NDArray[numpy.float32], dict(shape=(None,))],
        list[str],
    ]
    | None
): ...

class NlmShape:
    def __init__(
        self,
        breadth: int,
        depth: int,
        width: int,
        outputs: int,
        exclude_self: bool,
        dense: bool,
        activation: str,
        channels: Sequence[int],
        sums: bool = False,
    ) -> None: ...
    @property
    def num_parameters(self) -> int: ...
    @property
    def weight_shapes(self) -> list[tuple[int, int, int, int]]: ...

def nlm_forward(
    arg0: NlmShape,
    arg1: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg2: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg3: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg4: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    arg5: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg6: int,
    /,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...
def nlm_backward(
    arg0: NlmShape,
    arg1: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg2: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg3: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg4: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    arg5: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg6: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    arg7: int,
    /,
) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

class WlFeatures:
    def __init__(self, task: Task, spec: dict[str, Any]) -> None: ...
    def collect(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    ]: ...
    def counts(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...
    def operator_colours(
        self,
        states: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        ops: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        actions: Sequence[int],
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None))]: ...

class TrainingRows:
    def __init__(
        self,
        num_atoms: int,
        starts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        atoms: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        h: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        lower: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        upper: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def __len__(self) -> int: ...

class MlpTrainer:
    def __init__(
        self,
        rows: TrainingRows,
        layers: list[Any],
        objective: str = "squared",
        scale: float = 1.0,
        epsilon: float = 0.1,
        kernel: str = "",
    ) -> None: ...
    def epoch(
        self,
        order: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        batch: int,
        learning_rate: float,
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> float: ...
    def loss(
        self,
        rows: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> float: ...
    def outputs(
        self,
        rows: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        deadline: float = 0.0,
        memory_bytes: int = 0,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def weights(
        self,
    ) -> list[
        tuple[
            Annotated[NDArray[numpy.float32], dict(shape=(None, None))],
            Annotated[NDArray[numpy.float32], dict(shape=(None,))],
            str,
            bool,
        ]
    ]: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, layers: list[Any], state: dict[str, Any] | None = None) -> None: ...
    @property
    def kernel(self) -> str: ...

def rank_svm(
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    width: int,
    penalty: float = 1.0,
    tolerance: float = 0.01,
    max_passes: int = 1000,
    seed: int = 0,
    deadline: float = 0.0,
    memory_bytes: int = 0,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], int, bool]: ...
def newton_fit(
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    width: int,
    loss: str,
    targets: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    penalty: float = 1.0,
    tolerance: float = 1e-06,
    max_steps: int = 100,
    deadline: float = 0.0,
    memory_bytes: int = 0,
) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], int, bool]: ...
def mlp_training_kernels() -> list[str]: ...

class Puzzle(Space):
    def __init__(self, arg: str, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def domain_sizes(self) -> list[int]: ...
    @property
    def goal(self) -> list[int]: ...
    @property
    def move_names(self) -> list[str]: ...
    @property
    def inverse_moves(self) -> list[int]: ...
    @property
    def groups(self) -> list[tuple[str, int, int, int, int]]: ...
    @property
    def num_states(self) -> int | None: ...
    def may_follow(self, arg0: int, arg1: int, /) -> bool: ...
    def check(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> None: ...
    def expand(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None,))],
        Annotated[NDArray[numpy.int32], dict(shape=(None, None))],
    ]: ...
    def apply(
        self,
        arg0: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        arg1: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...
    def rank(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def unrank(
        self,
        arg: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...
    def random_moves(self, arg0: int, arg1: int, /) -> list[int]: ...

def cube_place_names() -> tuple[list[str], list[str]]: ...

class PatternIndex:
    @staticmethod
    def pieces(
        puzzle: Puzzle, variables: Sequence[int], order: str, symmetric: bool
    ) -> PatternIndex: ...
    @staticmethod
    def projection(task: Task, variables: Sequence[int]) -> PatternIndex: ...
    @property
    def size(self) -> int: ...
    @property
    def variables(self) -> list[int]: ...
    @property
    def multiplicities(self) -> list[int]: ...
    def rank(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def unrank(
        self,
        arg: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...
    def build(
        self, additive: bool, cost: str, deadline: float, memory_bytes: int
    ) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], int]: ...

class Pdb:
    def __init__(
        self,
        index: PatternIndex,
        grouping: str,
        number: int,
        table: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        bits: int,
        levels: Sequence[int],
        base: Pdb | None,
    ) -> None: ...
    def lookup(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def regrouped(
        self, arg0: PatternIndex, arg1: str, arg2: int, arg3: float, arg4: int, /
    ) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], int]: ...
    def subtracted(
        self, arg0: Pdb, arg1: float, arg2: int, /
    ) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], int]: ...
    def quantized(
        self, arg0: Sequence[int], arg1: float, arg2: int, /
    ) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], int]: ...

def table_histogram(
    arg0: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg1: int,
    arg2: int,
    arg3: Sequence[int],
    arg4: Sequence[int],
    /,
) -> list[int]: ...
def task_fingerprint(arg: Task, /) -> int: ...

class IntegerNetwork:
    def __init__(
        self,
        domain_sizes: Sequence[int],
        layers: Sequence[
            tuple[
                Annotated[
                    NDArray[numpy.int8],
                    dict(shape=(None, None), order="C", device="cpu", writable=False),
                ],
                Sequence[int],
                Sequence[int],
                int,
                int,
            ]
        ],
        kernel: str = "",
    ) -> None: ...
    def forward(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

class RiceSet:
    def __init__(
        self,
        arg0: int,
        arg1: int,
        arg2: int,
        arg3: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, arg: int, /) -> bool: ...
    def members(self) -> list[int]: ...

class SweepOrder:
    def __init__(
        self, arg0: int, arg1: int, arg2: int, arg3: int, arg4: float, arg5: int, /
    ) -> None: ...

class LearnedPdb:
    def __init__(
        self,
        index: PatternIndex,
        network: IntegerNetwork,
        ratio: int,
        thresholds: Sequence[int] | None,
        values: Sequence[int],
        exceptions: Sequence[
            tuple[
                int,
                int,
                Annotated[
                    NDArray[numpy.uint8],
                    dict(shape=(None,), order="C", device="cpu", writable=False),
                ],
            ]
        ],
        base: Pdb | None,
    ) -> None: ...
    def lookup(
        self,
        arg: Annotated[
            NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        /,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...
    def count_levels(
        self, exact: Pdb, order: SweepOrder, grid: Sequence[int]
    ) -> dict[str, Any]: ...
    def find_overestimates(
        self, exact: Pdb, order: SweepOrder
    ) -> list[Annotated[NDArray[numpy.uint64], dict(shape=(None,))]]: ...
    def count_values(self, exact: Pdb, order: SweepOrder) -> dict[str, Any]: ...

def integer_kernel_names() -> list[str]: ...
def decode_levels(
    logits: Annotated[
        NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    ratio: int,
    thresholds: Sequence[int],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def encode_set(arg: Sequence[int], /) -> tuple[int, bytes]: ...
def encode_weights(
    weights: Annotated[
        NDArray[numpy.int8], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    bits: int,
) -> bytes: ...
def decode_weights(
    code: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: int,
    columns: int,
    bits: int,
) -> Annotated[NDArray[numpy.int8], dict(shape=(None, None))]: ...
def monotonic_seconds() -> float: ...
def peak_resident_bytes() -> int: ...

source_digest: str = ...
