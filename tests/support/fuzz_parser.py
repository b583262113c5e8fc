"""Mutates PDDL texts and checks that the parser answers every one with a model or a PddlError.

    python tests/support/fuzz_parser.py --count 100000 --seed 0

The same seed gives the same mutants, so a failure can be run again from its number.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

from hstar.pddl import PddlError, UnsupportedPddlError
from hstar.pddl.domain import read_domain
from hstar.pddl.model import Domain
from hstar.pddl.problem import read_problem
from hstar.pddl.source import source_from_bytes

_DATA = Path(__file__).parents[1] / "data"
_TOKEN = re.compile(rb"[()]|[^()\s]+|\s+")
_ONE_LINE_WITH_PLACE = re.compile(r"[^\n]+\.pddl:\d+:\d+: [^\n]+; [^\n]+")
_SPLICES = [
    b"(", b")", b"()", b"-", b"?", b"?x", b":", b"=", b";", b"\0", b"\xff", b"object", b"either",
    b"(either a b)", b"and", b"not", b"forall", b"exists", b"when", b"imply", b"increase",
    b"(total-cost)", b"-1", b"1e400", b"9" * 500, b"(= (total-cost) 1)", b":init", b"(:init",
    b"(:goal", b"(:types a - b b - a)", b"(and)", b"(or)", b"number", b"(" * 300,
]  # fmt: skip


def load_seeds() -> list[tuple[bytes, bytes]]:
    """The (domain, problem) pairs that mutants are made from."""
    folders = sorted(path.parent for path in _DATA.glob("*/domain.pddl"))
    return [
        ((folder / "domain.pddl").read_bytes(), (folder / "problem.pddl").read_bytes())
        for folder in folders
    ]


def mutate(text: bytes, other: bytes, rng: random.Random) -> bytes:
    """One small change: to bytes, to tokens, a cut, or a join with another file."""
    kind = rng.randrange(8)
    if kind == 0:  # flip bytes
        changed = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    if kind == 1:  # cut off
        return text[: rng.randrange(len(text))]
    if kind == 2:  # join with another file
        return text[: rng.randrange(len(text))] + other[rng.randrange(len(other)) :]
    tokens = _TOKEN.findall(text)
    here, there = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    if kind == 3:
        del tokens[here]
    elif kind == 4:
        tokens.insert(there, tokens[here])
    elif kind == 5:
        tokens[here], tokens[there] = tokens[there], tokens[here]
    elif kind == 6:  # repeat or drop a stretch
        end = min(len(tokens), here + rng.randint(1, 30))
        tokens[here:end] = tokens[here:end] * rng.choice((0, 2, 3))
    else:
        tokens.insert(here, b" " + rng.choice(_SPLICES) + b" ")
    return b"".join(tokens)


def parse_bytes(domain: bytes | Domain, problem: bytes) -> str:
    """Parse and say how it went: "parsed", "error in domain", ...; other exceptions escape."""
    file = "domain"
    try:
        if isinstance(domain, bytes):
            domain = read_domain(source_from_bytes("domain.pddl", domain))
        file = "problem"
        read_problem(source_from_bytes("problem.pddl", problem), domain)
    except PddlError as error:
        if not _ONE_LINE_WITH_PLACE.fullmatch(str(error)):
            raise AssertionError(f"message without place or advice: {str(error)!r}") from error
        kind = "unsupported feature" if isinstance(error, UnsupportedPddlError) else "error"
        return f"{kind} in {file}"
    return "parsed"


def fuzz(count: int, seed: int = 0, progress: bool = False) -> Counter[str]:
    """Parse `count` mutants; returns how often each outcome came up, raises on any other."""
    seeds = load_seeds()
    domains = [read_domain(source_from_bytes("domain.pddl", text)) for text, _ in seeds]
    outcomes: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        chosen = rng.randrange(len(seeds))
        others = seeds[rng.randrange(len(seeds))]
        domain_text, problem_text = seeds[chosen]
        domain: bytes | Domain = domains[chosen]
        mutate_domain = rng.random() < 0.5
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            if mutate_domain:
                domain_text = mutate(domain_text, rng.choice(others), rng) or b" "
                domain = domain_text
            else:
                problem_text = mutate(problem_text, rng.choice(others), rng) or b" "
        try:
            outcomes[parse_bytes(domain, problem_text)] += 1
        except Exception as failure:
            text = domain_text if mutate_domain else problem_text
            raise AssertionError(f"mutant {number} of seed {seed}: {text!r}") from failure
        if progress and number % 10_000 == 9_999:
            print(f"{number + 1} mutants", file=sys.stderr)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random changes")
    arguments = parser.parse_args()
    start = time.perf_counter()
    outcomes = fuzz(arguments.count, arguments.seed, progress=True)
    print(f"{arguments.count} mutants in {time.perf_counter() - start:.1f} s, no crash")
    for outcome, times in outcomes.most_common():
        print(f"{times:8d}  {outcome}")


if __name__ == "__main__":
    main()
