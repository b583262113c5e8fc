"""How long it takes to write, read and convert a million labelled states.

    python benchmarks/label_files.py [--states 1000000]

The states are those of a blocksworld problem with 6 blocks, found by the exhaustive teacher. They
are repeated until there are enough.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hstar.domains import generate
from hstar.slots.teachers import LabelOptions, LabelRows, label, read_labels
from hstar.slots.teachers.labels import write_labels
from hstar.slots.teachers.states import atoms_of_states, states_of_atoms
from hstar.training.dataset import load_dataset

BLOCKS = 6


@contextmanager
def timed(title: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"{title:<28}{time.perf_counter() - start:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=1_000_000)
    wanted = parser.parse_args().states
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        generate(
            "blocksworld", top, ["train"], count=1, ranges={"blocks": range(BLOCKS, BLOCKS + 1)}
        )
        small, large = top / "small.parquet", top / "large.parquet"
        with timed("label exhaustively"):
            label(top / "train", small, LabelOptions("exhaustive", jobs=1, retries=0))
        found = read_labels(small)
        task = load_dataset(small).tasks[0]
        states = task.states[np.arange(wanted) % len(task.states)]
        values = np.resize(found.rows.h, wanted)
        print(f"{len(task.states)} states repeated to {wanted}, {states.shape[1]} variables")
        with timed("values to atom sets"):
            names, starts, atoms = atoms_of_states(task.task, states)
        nan, zero = np.full(wanted, np.nan, np.float32), np.zeros(wanted, np.int32)
        rows = LabelRows(zero, starts, atoms, values, nan, nan, zero.astype(np.uint8))
        problem = {name: getattr(found.problems[0], name) for name in ("problem", "pddl", "plan")}
        problem |= {"status": "solved", "atoms": names, "attempts": []}
        about = {n: getattr(found, n) for n in ("teacher", "options", "kinds", "cost", "domain")}
        about |= {"domain_hash": "", "limits": {}, "hstar": "", "problems": [problem]}
        with timed("write"):
            write_labels(large, rows, about, {}, top)
        print(f"{'file size':<28}{large.stat().st_size / 2**20:8.1f} MiB")
        with timed("read"):
            again = read_labels(large)
        with timed("atom sets to values"):
            back = states_of_atoms(task.task, names, again.rows)
        assert (back == states).all()
        with timed("load as training data"):
            data = load_dataset(large)
        with timed("h^FF of every state"):
            data.column("ff")


if __name__ == "__main__":
    main()
