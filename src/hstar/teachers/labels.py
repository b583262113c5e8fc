"""The files of labels: one Parquet row per state, and a manifest that says where they come from.

labels.parquet        problem, step, state, h_star, lower, upper, and a column per heuristic
labels.manifest.json  the domain, every problem with its plan, limits, and a digest of the rows
labels.times.json     how long everything took; the other two are the same on every run, this not

Costs are in the problem's unit. A label that the teacher does not know is null; a heuristic's value
is infinite in dead ends and never null.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically
from hstar.teachers.attempt import Attempt

if TYPE_CHECKING:
    import polars as pl

FORMAT = "hstar-labels-1"
LABEL_COLUMNS = ("h_star", "lower", "upper")
HEURISTIC_COLUMNS = (
    "blind",
    "goalcount",
    "hmax",
    "hadd",
    "ff",
    "lmcut",
    "ff_deletes",
    "ff_deletes_mean",
)


class LabelsError(InputFileError):
    """A file of labels is missing, incomplete, or not one."""


@dataclass(frozen=True, slots=True)
class LabelledProblem:
    """What became of one problem. Only those with `status` "solved" have rows.

    `pddl` is the text that was labelled: with `retry` above that of the folder it replaced the text
    of the file. `attempts` lists every (retry, status) in turn. Counters are None without a plan.
    """

    problem: str
    pddl: str
    status: str
    plan: list[str]
    plan_cost: int | float | None
    retry: int
    expanded: int | None
    evaluated: int | None
    attempts: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels as read from files. `rows` is a polars DataFrame, see the head of the module."""

    teacher: str
    cost: str
    domain: str
    domain_hash: str
    problems: tuple[LabelledProblem, ...]
    limits: dict[str, Any]
    hstar: str
    rows: pl.DataFrame

    def problem(self, name: str) -> LabelledProblem:
        """The problem of that file name. Raises KeyError."""
        for problem in self.problems:
            if problem.problem == name:
                return problem
        raise KeyError(name)


def manifest_path(path: Path) -> Path:
    """Where the manifest of a Parquet file lies."""
    return path.with_suffix(".manifest.json")


def times_path(path: Path) -> Path:
    return path.with_suffix(".times.json")


def schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of the rows and their polars types."""
    import polars as pl

    numbers = dict.fromkeys([*LABEL_COLUMNS, *HEURISTIC_COLUMNS], pl.Float32)
    return {"problem": pl.String, "step": pl.Int32, "state": pl.List(pl.String), **numbers}


def make_rows(solved: Sequence[tuple[str, Attempt]]) -> pl.DataFrame:
    """The rows of solved attempts, given with their problems' file names."""
    import polars as pl

    columns: dict[str, list[Any]] = {name: [] for name in schema()}
    for name, attempt in solved:
        columns["problem"] += [name] * len(attempt.states)
        columns["step"] += range(len(attempt.states))
        columns["state"] += attempt.states
        for column in (*LABEL_COLUMNS, *HEURISTIC_COLUMNS):
            columns[column] += attempt.columns[column]
    return pl.DataFrame(columns, schema=schema())


def write_labels(
    path: Path, rows: pl.DataFrame, manifest: dict[str, Any], times: dict[str, Any], scratch: Path
) -> None:
    """Write the three files, the Parquet file last: where it is, everything is.

    `scratch` is a folder beside the output that is removed later, so that a kill leaves nothing.
    """
    parquet = scratch / "rows.parquet"
    rows.write_parquet(parquet, compression="zstd")
    digest = hashlib.sha256(parquet.read_bytes()).hexdigest()
    text = json.dumps({"format": FORMAT, **manifest, "rows": digest}, indent=1) + "\n"
    for target, content in (
        (times_path(path), json.dumps(times, indent=1) + "\n"),
        (manifest_path(path), text),
    ):
        write_atomically(scratch / target.name, content)
        os.replace(scratch / target.name, target)
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
        raise LabelsError(f"not JSON ({error}); write the labels again", str(beside)) from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise LabelsError(
            f"its format is {found!r}, but this hstar reads {FORMAT!r}; write the labels again",
            str(beside),
        )
    assert isinstance(manifest, dict)
    return manifest


def rows_match(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether a Parquet file is the one its manifest was written for."""
    return hashlib.sha256(path.read_bytes()).hexdigest() == manifest.get("rows")


def read_labels(path: str | os.PathLike[str]) -> Labels:
    """Read labels that `hstar label` wrote. Raises LabelsError."""
    import polars as pl

    parquet = Path(path)
    manifest = read_manifest(parquet)
    beside = manifest_path(parquet)
    if "rows" in manifest and not rows_match(parquet, manifest):
        raise LabelsError(
            f"its rows are not those that {beside.name} was written for; "
            "keep the two files of one run together",
            str(parquet),
        )
    try:
        rows = pl.read_parquet(parquet)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise LabelsError(f"not a Parquet file ({error})", str(parquet)) from None
    for column, kind in schema().items():
        if column not in rows.columns:
            raise LabelsError(f"the column '{column}' is missing", str(parquet))
        if rows.schema[column] != kind:
            found = rows.schema[column]
            raise LabelsError(f"the column '{column}' has type {found}, not {kind}", str(parquet))
    known = {field.name for field in dataclasses.fields(Labels)} - {"rows", "problems"}
    try:
        problems = tuple(
            LabelledProblem(**{**fields, "attempts": [(r, s) for r, s in fields["attempts"]]})
            for fields in manifest["problems"]
        )
        return Labels(**{name: manifest[name] for name in known}, problems=problems, rows=rows)
    except (KeyError, TypeError, ValueError) as error:
        raise LabelsError(
            f"something is missing in it ({error}); write the labels again", str(beside)
        ) from None
