"""Labels: states of several problems, with what is known of their cost to the goal, as arrays.

labels.parquet        one row per state: problem, state, h, lower, upper, kind
labels.manifest.json  the domain, every problem with its plan and its atoms, a digest of the rows
labels.times.json     how long each attempt took; only this file differs from run to run

A state is the set of its true atoms, as positions in the atom list of its problem. (Negated atoms
are listed only if the task has a variable just for them.) Costs are in the unit of the problem. An
unknown value is null in the file and NaN in memory; h is infinite in dead ends.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically
from hstar.runtime.journal import digest_of

if TYPE_CHECKING:
    import polars as pl

FORMAT = "hstar-labels-2"
VALUES = ("h", "lower", "upper")
SOLVED = "solved"


class LabelsError(InputFileError):
    """A file of labels is missing, incomplete, or something else."""


@dataclass(frozen=True, slots=True)
class LabelledProblem:
    """What became of one problem. Only problems with the status "solved" have rows.

    `pddl` is the text that was labelled. If `retry` is above that of the folder, it replaced the
    text of the file. `attempts` lists every (retry, status) in turn. `has_irrelevant` means that
    states and plan may contain atoms and steps that cannot matter for the goal, `has_open` that
    states are sets of atoms that may leave variables of the task without a value.
    """

    problem: str
    pddl: str
    status: str
    plan: list[str] = field(default_factory=list)
    plan_cost: int | float | None = None
    retry: int = 0
    expanded: int | None = None
    evaluated: int | None = None
    attempts: list[tuple[int, str]] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)
    has_irrelevant: bool = False
    has_open: bool = False


@dataclass(frozen=True)
class LabelRows:
    """Labelled states. State i has the atoms `atoms[starts[i]:starts[i + 1]]`."""

    problem: NDArray[np.int32]  # [S], ascending: position in the list of problems
    starts: NDArray[np.int64]  # [S + 1]
    atoms: NDArray[np.int32]
    h: NDArray[np.float32]  # [S], NaN where unknown; the same for `lower` and `upper`
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    kind: NDArray[np.uint8]  # [S], positions in the list of kinds of the labels

    def __len__(self) -> int:
        return len(self.problem)

    @staticmethod
    def of_one_problem(
        starts: NDArray[np.int64],
        atoms: NDArray[np.int32],
        *,
        h: ArrayLike = math.nan,
        lower: ArrayLike = math.nan,
        upper: ArrayLike = math.nan,
        kind: ArrayLike = 0,
    ) -> LabelRows:
        """Each value may be one number for all states, or one per state."""
        count = len(starts) - 1
        h, lower, upper = (np.full(count, value, dtype=np.float32) for value in (h, lower, upper))
        kinds = np.full(count, kind, np.uint8)
        return LabelRows(np.zeros(count, np.int32), starts, atoms, h, lower, upper, kinds)

    def of_problem(self, number: int) -> LabelRows:
        """The rows of one problem."""
        first, last = self.problem.searchsorted([number, number + 1])
        begin, end = self.starts[[first, last]]
        rows = {name: array[first:last] for name, array in vars(self).items()}
        starts = self.starts[first : last + 1] - begin
        return LabelRows(**rows | {"starts": starts, "atoms": self.atoms[begin:end]})

    @staticmethod
    def concatenate(parts: Sequence[LabelRows]) -> LabelRows:
        """The rows of several problems, numbered in the order given."""
        nothing = LabelRows.of_one_problem(np.zeros(1, np.int64), np.zeros(0, np.int32))
        every = [vars(part) for part in (nothing, *parts)]  # `nothing` where there are no parts
        lengths = np.concatenate([np.diff(one["starts"]) for one in every])
        names = ("atoms", *VALUES, "kind")
        return LabelRows(
            problem=np.repeat(np.arange(len(parts), dtype=np.int32), [len(one) for one in parts]),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            **{name: np.concatenate([one[name] for one in every]) for name in names},
        )

    def to_frame(self) -> pl.DataFrame:
        """The table that is stored."""
        import polars as pl

        rows = np.arange(len(self), dtype=np.int64)
        ragged = pl.DataFrame({"row": rows.repeat(np.diff(self.starts)), "state": self.atoms})
        states = ragged.group_by("row", maintain_order=True).agg("state")
        numbers = pl.DataFrame({"row": rows, "problem": self.problem}).with_columns(
            *(pl.Series(name, getattr(self, name)).fill_nan(None) for name in VALUES),
            pl.Series("kind", self.kind),
        )
        if len(states) < len(self):  # states without any atom
            states = numbers.select("row").join(states, "row", "left", maintain_order="left")
        state = states["state"].fill_null([])
        return numbers.with_columns(state.alias("state")).select(*schema())

    @staticmethod
    def from_frame(frame: pl.DataFrame) -> LabelRows:
        import polars as pl

        lengths = frame["state"].list.len().to_numpy()
        filled = frame.with_columns(pl.col(*VALUES).fill_null(float("nan")))
        return LabelRows(
            problem=frame["problem"].to_numpy(),
            starts=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            atoms=frame["state"].explode().drop_nulls().to_numpy(),
            **{name: filled[name].to_numpy() for name in VALUES},
            kind=frame["kind"].to_numpy(),
        )


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of several problems of one domain."""

    teacher: str
    options: dict[str, Any]  # of the teacher
    kinds: list[str]  # where a row may come from, such as "optimal"
    cost: str
    domain: str
    domain_hash: str
    problems: tuple[LabelledProblem, ...]
    limits: dict[str, Any]
    hstar: str
    rows: LabelRows


def manifest_path(path: Path) -> Path:
    """Where the manifest of a Parquet file lies."""
    return path.with_suffix(".manifest.json")


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of the rows and their polars types."""
    import polars as pl

    values = dict.fromkeys(VALUES, pl.Float32)
    return {"problem": pl.Int32, "state": pl.List(pl.Int32), **values, "kind": pl.UInt8}


def write_labels(
    path: Path,
    rows: LabelRows,
    manifest: Mapping[str, Any],
    times: Mapping[str, Any],
    scratch: Callable[[str], Path],
) -> None:
    """Write the three files, the Parquet file last: if it is there, the others are as well.
    `scratch` names files on the same file system. The caller removes them, even after a kill."""
    parquet = scratch("rows.parquet")
    with parquet.open("wb") as file:  # polars opens none whose name is not Unicode
        rows.to_frame().write_parquet(file, compression="zstd")
    rows_digest = digest_of(parquet.read_bytes())
    text = json.dumps({"format": FORMAT, **manifest, "rows": rows_digest}, indent=1) + "\n"
    for target, content in (
        (path.with_suffix(".times.json"), json.dumps(times, indent=1) + "\n"),
        (manifest_path(path), text),
    ):
        made = scratch(target.name)
        write_atomically(made, content)
        os.replace(made, target)
    os.replace(parquet, path)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a Parquet file of labels. Raises LabelsError."""
    name = str(path)
    if not path.is_file():
        raise LabelsError("there is no such file; make it with 'hstar label'", name)
    beside = manifest_path(path)
    try:
        manifest = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabelsError(f"its manifest {beside.name} is missing beside it", name) from None
    except ValueError as error:
        raise LabelsError(f"not JSON ({error}); label the problems again", str(beside)) from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise LabelsError(
            f"its format is {found!r}, but this hstar reads {FORMAT!r}; label the problems again",
            str(beside),
        )
    assert isinstance(manifest, dict)
    return manifest


def rows_match(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether a Parquet file is the one for which its manifest was written."""
    return digest_of(path.read_bytes()) == manifest.get("rows")


def read_labels(path: str | os.PathLike[str]) -> Labels:
    """Read labels that `hstar label` wrote. Raises LabelsError."""
    parquet = Path(path)
    manifest = read_manifest(parquet)
    beside = manifest_path(parquet)
    if "rows" in manifest and not rows_match(parquet, manifest):
        raise LabelsError(
            f"its rows are not those for which {beside.name} was written; "
            "keep the two files of one run together",
            str(parquet),
        )
    known = {field.name for field in dataclasses.fields(Labels)} - {"rows", "problems"}
    try:
        problems = tuple(
            LabelledProblem(**{**fields, "attempts": [(r, s) for r, s in fields["attempts"]]})
            for fields in manifest["problems"]
        )
        about = {name: manifest[name] for name in known}
    except (KeyError, TypeError, ValueError) as error:
        raise LabelsError(
            f"something is missing in it ({error}); label the problems again", str(beside)
        ) from None
    rows = LabelRows.from_frame(_read_frame(parquet))
    _check_rows(rows, problems, len(about["kinds"]), str(parquet))
    return Labels(**about, problems=problems, rows=rows)


def _read_frame(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        frame = pl.read_parquet(path.read_bytes())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise LabelsError(f"not a Parquet file ({error})", str(path)) from None
    for column, kind in schema().items():
        if column not in frame.columns:
            raise LabelsError(f"the column '{column}' is missing", str(path))
        if frame.schema[column] != kind:
            found = frame.schema[column]
            raise LabelsError(f"the column '{column}' has type {found}, not {kind}", str(path))
        if column not in VALUES and frame[column].null_count():
            raise LabelsError(f"the column '{column}' has missing values", str(path))
    return frame


def _check_rows(
    rows: LabelRows, problems: Sequence[LabelledProblem], kinds: int, path: str
) -> None:
    """Raises LabelsError for numbers that the manifest does not know."""
    sizes = np.array([len(problem.atoms) for problem in problems], dtype=np.int64)
    known = (rows.problem >= 0) & (rows.problem < len(problems)) & (rows.kind < kinds)
    if not known.all() or (np.diff(rows.problem) < 0).any():
        raise LabelsError("the rows do not match the manifest's problems; label again", path)
    limits = sizes[rows.problem].repeat(np.diff(rows.starts))
    if len(rows.atoms) != len(limits) or ((rows.atoms < 0) | (rows.atoms >= limits)).any():
        raise LabelsError("a state has an atom that its problem lacks; label again", path)
