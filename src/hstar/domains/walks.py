"""New initial states for a problem: where random walks from its own initial state end.

Objects, goal and everything else stay as in the file. A state that satisfies the goal, or that
another problem of the folder or the original has already, is left out.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.domains.generated_problem import atom_text
from hstar.pddl import Problem, parse
from hstar.pddl.source import Source, load_source
from hstar.planning.task import Task, atom_name, ground, parse_atom
from hstar.runtime.atomic import write_atomically
from hstar.runtime.resources import Budget

State = NDArray[np.int32]
INIT = re.compile(r"\(\s*:init\b")
ATTEMPTS = 4  # walks per state wanted


def write_walks(
    domain: Path, problem: Path, folder: Path, walks: int, steps: int, seed: int
) -> int:
    """Write at most `walks` problems to a folder, p01.pddl and so on, and domain.pddl.

    Raises PddlError, OutOfResources, OSError, and FileExistsError if the folder holds other
    problems.
    """
    lifted = parse(domain, problem)
    texts = list(walk_problems(lifted, problem, walks, steps, seed))
    files = {"domain.pddl": domain.read_bytes()}
    digits = max(2, len(str(walks)))
    files |= {f"p{n:0{digits}}.pddl": text.encode() for n, text in enumerate(texts, 1)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        if path.exists() and path.read_bytes() != content:
            raise FileExistsError(
                errno.EEXIST, "it holds something else; choose another -o", str(path)
            )
    for name, content in files.items():
        write_atomically(folder / name, content)
    return len(texts)


def walk_problems(problem: Problem, path: Path, walks: int, steps: int, seed: int) -> Iterable[str]:
    """The texts of the new problems, at most `walks`."""
    task = ground(problem, keep_irrelevant=True, keep_constant=True)
    source = load_source(path).text
    tracked = {task.core.atom_name(fact) for fact in range(task.num_facts)}
    tracked |= {name.removeprefix("not ") for name in tracked}
    never_change = [atom for atom in problem.init if atom_name(*atom) not in tracked]
    for state in walk_states(task, walks, seed % 2**64, Budget(), steps=steps):
        held = filter(None, map(parse_atom, task.atoms(state)))
        yield with_initial_state(source, problem, sorted({*never_change, *held}))


def walk_states(
    task: Task, count: int, seed: int, budget: Budget, but: Iterable[State] = (), steps: int = 200
) -> NDArray[np.int32]:
    """Distinct states int32[n, V] at the ends of random walks, n at most `count`. The initial
    state, goals and the states `but` are not among them."""
    with budget.native():
        found = _core.random_walks(task.core, ATTEMPTS * count, steps, seed, *budget.limits)
    left_out = {state.tobytes() for state in (task.initial_state, *but)}
    kept: dict[bytes, State] = {}
    for state in found:
        if len(kept) == count:
            break
        if state.tobytes() not in left_out and not task.satisfies_goal(state):
            kept.setdefault(state.tobytes(), state)
    return np.array(list(kept.values()), np.int32).reshape(len(kept), task.num_variables)


def with_initial_state(text: str, problem: Problem, atoms: Iterable[tuple[str, ...]]) -> str:
    """The text of a problem with another initial state; the values of functions are kept."""
    found = INIT.search(text)
    assert found is not None  # it was parsed before
    start = found.start()
    end = Source("", text).item_offset(start, len(text)) + 1  # after the ")"
    lines = [atom_text(atom) for atom in atoms]
    lines += [f"(= {atom_text(call)} {value})" for call, value in problem.function_values.items()]
    init = "".join(f"\n    {line}" for line in lines)
    kept = (line.rstrip() for line in f"{text[:start]}(:init{init}){text[end:]}".splitlines())
    return "\n".join(line for line in kept if line) + "\n"
