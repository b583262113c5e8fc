"""What the rest of the program knows of a teacher, and teachers that sample sets of facts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from hstar.pddl import Problem
from hstar.planning.task import Task, ground
from hstar.runtime.journal import digest_of
from hstar.runtime.resources import Budget
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.backward import COMPLETIONS, attempt_of
from hstar.slots.teachers.labels import LabelRows


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a teacher: `read` makes a value of a text and raises ValueError."""

    default: Any
    read: Callable[[str], Any]
    help: str

    @property
    def shown(self) -> str:
        """The default as a text, which is also taken for it."""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return "none" if self.default in (None, "") else str(self.default)


@dataclass(frozen=True, slots=True)
class Teacher:
    """`label(problem, budget, **options)` makes an Attempt, usually with `labelled`.

    `kinds` names the kinds of labels that it gives. Options that are not listed are those arguments
    of `label` whose annotation, Annotated[type, read, help], says how to read them.
    `prepare(folder, cost, **options)`, if there is one, reads what each problem needs besides its
    text, by problem file. It is passed to `label` as `given`; a problem without it gets the status
    `not_given`. `replaces` says whether a problem that it cannot solve may be replaced by another
    one of the same generator.
    """

    description: str
    label: Callable[..., Attempt]
    kinds: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    prepare: Callable[..., Mapping[str, Any]] | None = None
    not_given: str = "nothing given"
    replaces: bool = True

    def __post_init__(self) -> None:
        if not self.options:
            object.__setattr__(self, "options", options_of(self.label))

    @property
    def code(self) -> str:
        """A digest of the source file of the teacher, which may lie outside the package."""
        return digest_of(Path(inspect.getfile(inspect.unwrap(self.label))).read_bytes())

    def settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All options, those not given at their defaults. Texts are read. Raises ValueError."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise ValueError(f"the teacher has no option '{name}'; its options are: {known}")
        chosen = {name: option.default for name, option in self.options.items()}
        for name, value in options.items():
            option = self.options[name]
            if value == option.shown:
                continue
            try:
                chosen[name] = option.read(value) if isinstance(value, str) else value
            except ValueError as error:
                raise ValueError(f"the option {name} cannot be '{value}': {error}") from None
        return chosen


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Its arguments of the form `name: Annotated[type, read, help] = default`."""
    types = get_type_hints(function, include_extras=True)
    defaults = {n: one.default for n, one in inspect.signature(function).parameters.items()}
    described = {n: getattr(types.get(n), "__metadata__", None) for n in defaults}
    return {n: Option(defaults[n], *about) for n, about in described.items() if about}


def whole_number(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    """Makes an `Option.read` for a number that the core can count with."""

    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(f"it must be from {least} to {most}")
        return number

    return read


positive_number = whole_number(1)


def yes_or_no(text: str) -> bool:
    """For `Option.read`."""
    if text not in ("yes", "no"):
        raise ValueError("write yes or no")
    return text == "yes"


def share(text: str) -> float:
    """For `Option.read`."""
    number = float(text)
    if not 0 <= number < 1:
        raise ValueError("it must be at least 0 and less than 1")
    return number


def one_of(*names: str) -> Callable[[str], str]:
    """Makes an `Option.read` that takes some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"choose one of {', '.join(names)}")
        return text

    return read


# Options that several of them have.
MostPerAttempt = Annotated[int | None, positive_number, "the most per attempt"]
RandomShare = Annotated[float, share, "the share of states that are drawn around no pre-image"]
Completion = Annotated[str, one_of(*COMPLETIONS), "how open facts are drawn"]
UseH2 = Annotated[bool, yes_or_no, "whether to use the mutexes of h^2"]
Improve = Annotated[bool, yes_or_no, "whether to look for shorter ways between pre-images"]
Seed = Annotated[int, whole_number(0), "the seed of all draws"]


@dataclass(frozen=True, slots=True)
class SamplingTask:
    """What all teachers that sample get. Its annotated fields are options of all of them."""

    task: Task
    budget: Budget = field(default_factory=Budget)
    states: Annotated[int, whole_number(1), "the most states of a problem"] = 100_000
    seed: Seed = 0


def sampling_teacher(
    description: str, sample: Callable[..., LabelRows], kinds: tuple[str, ...]
) -> Teacher:
    """The teacher of a function `sample(wanted, *, ...)`, where `wanted` is a SamplingTask."""
    states, seed = options_of(SamplingTask).items()

    @functools.wraps(sample)  # its file is the teacher's code
    def label(problem: Problem, budget: Budget, *, states: int, seed: int, **own: Any) -> Attempt:
        """The task is grounded for any initial state."""
        task = ground(problem, keep_constant=True, budget=budget)
        return attempt_of(task, sample(SamplingTask(task, budget, states, seed), **own))

    options = dict([states, *options_of(sample).items(), seed])
    return Teacher(description, label, kinds, options, replaces=False)
