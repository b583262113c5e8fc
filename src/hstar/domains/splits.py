"""Draw problems so that no two splits share one, and no split contains one twice.

A hash of a problem's canonical form (see canonical.py) decides which split it belongs to. So
training, validation and test sets never share a problem, not even up to the names of objects, even
when they are generated with other sizes or seeds. Of ten hash values, seven are for training, two
for validation and one for test. For problems with many objects (Generator.large), eight are for
test and one for each of the others: visitall has few of them.

Each (generator, split, parameters, seed, retry) has its own stream of random numbers. Draws that
are solved already or belong to another split are skipped. So `regenerate` can make any problem
again without the others, and with retry = 1, 2, ... replacements of the same size and split.

Small sizes have few problems: gripper with two balls has 24, and 7 up to names. Within a split a
problem is taken, in this order of preference,
1. if it is new up to names,
2. if its text is new: when many seeds in a row gave nothing better, the size has no more of kind 1,
3. at the next larger size (Generator.enlarge) that still has one of kind 1.
The manifest lists the actual parameters of each problem, not those asked for.

Problems that are not kept `apart` are taken as they are drawn, as the literature does: they may
repeat, within a split and in others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from hstar.domains.canonical import canonical_form
from hstar.domains.generated_problem import GeneratedProblem
from hstar.domains.generator import Generator, Parameters
from hstar.domains.registry import DOMAINS
from hstar.pddl.errors import check_known

USUAL_SHARES = ("train",) * 7 + ("validation",) * 2 + ("test",)
LARGE_SHARES = ("test",) * 8 + ("train", "validation")
SALT = 3  # arbitrary; with this one the usual splits of ferry and the visitall test have all sizes

DRAWS = 200  # from one stream, before it counts as having nothing for its split
SEEDS = 250  # tried for one problem, before a size counts as used up
SEED_STEP = 1_000  # between the seeds tried for one problem
BASE_STEP = 1_000_000  # between the seeds of what `--seed 0` and `--seed 1` generate
ENLARGEMENTS = 1_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """A problem and how to make it again; `digest` and `canonical` ignore its name."""

    name: str
    text: str
    parameters: Parameters
    seed: int
    retry: int
    digest: str
    canonical: str


def owner(generator: Generator, instance: GeneratedProblem, canonical: str) -> str:
    """The split that a problem belongs to; depends only on the problem up to renaming."""
    objects = {name for atom in (*instance.init, *instance.goal) for name in atom[1:]}
    shares = LARGE_SHARES if len(objects) >= generator.large else USUAL_SHARES
    hashed = hashlib.sha256(f"{generator.name}{SALT} {canonical}".encode()).digest()
    return shares[int.from_bytes(hashed[:8], "big") % len(shares)]


def draw(
    generator: Generator,
    parameters: Mapping[str, int | float],
    split: str,
    seed: int,
    retry: int,
    known_forms: dict[str, str] | None = None,
    apart: bool = True,
) -> Drawn | None:
    """The problem of a stream, or None if the split seems to have none of this size.

    `known_forms` caches canonical forms by digest, because the few problems of small sizes are
    drawn many times. Raises ValueError for wrong parameters or an unknown split.
    """
    check_known("split", split, generator.splits)
    size = generator.check(parameters)
    key = json.dumps([generator.name, split, size, seed, retry])
    rng = Random(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))
    forms = {} if known_forms is None else known_forms
    for _ in range(DRAWS):
        instance = generator.sample(size, rng)
        if instance.solved:
            continue
        digest = instance.digest()
        if digest not in forms:
            forms[digest] = canonical_form(instance)
        if not apart or owner(generator, instance, forms[digest]) == split:
            name = problem_name(size, seed, retry)
            text = instance.to_pddl(f"{generator.name}-{split}-{name}", generator.domain_name)
            return Drawn(name, text, size, seed, retry, digest, forms[digest])
    return None


def regenerate(
    generator_name: str,
    parameters: Mapping[str, int | float],
    split: str,
    seed: int,
    retry: int,
    apart: bool = True,
) -> str:
    """The text of a problem from its manifest entry (retry 0), or of a replacement.

    Raises ValueError if there is no such generator or it has no such problem.
    """
    drawn = draw(DOMAINS.find(generator_name), parameters, split, seed, retry, apart=apart)
    if drawn is None:
        raise ValueError(f"{generator_name} has no problem of size {dict(parameters)} for {split}")
    return drawn.text


def problem_name(parameters: Parameters, seed: int, retry: int) -> str:
    """Such as "blocks07-seed003"; fractions are written in hundredths, as names have no dots."""
    parts = [
        f"{name}{value:02d}" if isinstance(value, int) else f"{name}{round(value * 100):03d}"
        for name, value in parameters.items()
    ]
    return "-".join([*parts, f"seed{seed:03d}", *([f"retry{retry}"] if retry else [])])


class SplitDrawer:
    """Draws the problems of one split in turn, none of them twice if they are kept `apart`."""

    def __init__(self, generator: Generator, split: str, seed: int, apart: bool) -> None:
        self.generator, self.apart = generator, apart
        self.split = split
        self.base = seed * BASE_STEP
        self.known_forms: dict[str, str] = {}
        self.taken: dict[str, set[str]] = {"canonical": set(), "digest": set()}
        self.used_up: set[tuple[str, str]] = set()

    def take(self, size: Parameters, number: int) -> Drawn | None:
        """The number-th problem (from 1) of a size, or None if the size is used up."""
        if not self.apart:
            seed, forms = self.base + number, self.known_forms
            return draw(self.generator, size, self.split, seed, 0, forms, apart=False)
        new_form = self._take_new("canonical", size, number)
        return new_form or self._take_new("digest", size, number)

    def take_larger(self, size: Parameters, number: int) -> Drawn:
        """A problem of the next larger size that has one which is new up to names.

        Raises ValueError when larger sizes do not help.
        """
        for _ in range(ENLARGEMENTS):
            size = self.generator.next_size(size)
            if drawn := self._take_new("canonical", size, number):
                return drawn
        raise ValueError(f"{self.generator.name} has no more problems, even of size {size}")

    def _take_new(self, what: str, size: Parameters, number: int) -> Drawn | None:
        """The first problem of so many seeds whose form or text is new. A size that had none is
        not tried again."""
        key = what, repr(size)
        for attempt in range(SEEDS if key not in self.used_up else 0):
            seed = self.base + number + attempt * SEED_STEP
            drawn = draw(self.generator, size, self.split, seed, 0, self.known_forms)
            if drawn is None:
                break
            if getattr(drawn, what) not in self.taken[what]:
                for name, values in self.taken.items():
                    values.add(getattr(drawn, name))
                return drawn
        self.used_up.add(key)
        return None


def draw_split(
    generator: Generator,
    split: str,
    sizes: Sequence[tuple[Parameters, int]],
    seed: int = 0,
    on_problem: Callable[[int], None] = lambda count: None,
    apart: bool = True,
) -> list[tuple[Parameters, Drawn]]:
    """All problems of a split with the sizes asked for, in the order of their names.

    `on_problem` is called with the number of problems drawn so far. Raises ValueError.
    """
    drawer = SplitDrawer(generator, split, seed, apart)
    drawn: list[tuple[Parameters, Drawn]] = []
    asked = [(size, number) for size, count in sizes for number in range(1, count + 1)]
    # First every size provides its own problems; then larger ones fill in for smaller ones.
    for take in (drawer.take, drawer.take_larger):
        left = []
        for size, number in asked:
            problem = take(size, number)
            if problem is None:
                left.append((size, number))
                continue
            drawn.append((size, problem))
            on_problem(len(drawn))
        asked = left
    return sorted(drawn, key=lambda pair: pair[1].name)
