"""A benchmark's result: one row per run, with downward-lab's names where it has one. The rows are a
Parquet file whose metadata say how they were made: command, date, options."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.pddl.errors import InputFileError, escape

if TYPE_CHECKING:
    import polars as pl

FORMAT = "hstar-runs-2"
METADATA_KEY = "hstar"

Row = dict[str, Any]

# Column -> type. `algorithm` is the label of the search; with `heuristic` it tells searches apart.
# `digest` is that of the problem's content.
# `coverage` is 1 for a validated plan, else 0; `error` is the status of the run, "solved" where all
# went well. `evaluated`, `evaluations` and `requested` are those of SearchResult. Times are in
# seconds, `memory` is the peak resident size in KB. Null: there is no such number.
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("run", "suite", "domain", "problem", "digest", "algorithm"), str),
    **dict.fromkeys(("search", "heuristic", "model"), str),
    **dict.fromkeys(("seed", "max_evaluations", "coverage"), int),
    "error": str,
    "cost": float,
    **dict.fromkeys(("plan_length", "evaluated", "evaluations", "requested"), int),
    **dict.fromkeys(("expanded", "generated", "reopened", "dead_ends"), int),
    **dict.fromkeys(("initial_h_value", "search_time", "total_time"), float),
    **dict.fromkeys(("memory", "exit_code"), int),
    **dict.fromkeys(("message", "hstar", "commit", "machine"), str),
}

# How a run may end without anything being wrong with the program or the files.
EXPLAINED = ("solved", "unsolvable", "gave up", "out of time", "out of memory")


class RunsError(InputFileError):
    """A file of runs that cannot be read as one."""


@dataclass(frozen=True)
class Runs:
    """The rows of a benchmark and how they were made (empty where the file does not say)."""

    rows: pl.DataFrame
    provenance: Mapping[str, Any]


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows as a table with the columns above, in their order. Texts are safe to show, and are
    characters that a table can hold, whatever the names of files are."""
    import polars as pl

    types = {str: pl.String, int: pl.Int64, float: pl.Float64}
    safe = [{k: escape(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    return pl.DataFrame(safe, schema={name: types[kind] for name, kind in COLUMNS.items()})


def to_parquet(rows: pl.DataFrame, provenance: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    metadata = json.dumps({"format": FORMAT, **provenance}, sort_keys=True)
    rows.write_parquet(file, metadata={METADATA_KEY: metadata})
    return file.getvalue()


def read_runs(path: str | os.PathLike[str]) -> Runs:
    """The runs in a Parquet file. Raises RunsError for anything else."""
    import polars as pl

    name = str(path)
    if not Path(path).is_file():
        raise RunsError("there is no such file; make one with 'hstar bench'", name)
    try:
        content = Path(path).read_bytes()  # polars opens no file whose name is not Unicode
        rows = pl.read_parquet(content)
        text = pl.read_parquet_metadata(content).get(METADATA_KEY, "{}")
        provenance = json.loads(text)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RunsError(f"this is no Parquet file of runs ({reason})", name) from error
    written = provenance.pop("format", FORMAT)
    if written != FORMAT:
        raise RunsError(
            f"the format is {written}, this hstar reads {FORMAT}; run 'hstar bench' again", name
        )
    missing = [column for column in COLUMNS if column not in rows.columns]
    if missing:
        raise RunsError(
            f"the columns {', '.join(missing)} are missing; is this the output of 'hstar bench'?",
            name,
        )
    texts = pl.col(pl.String).map_elements(escape, pl.String)
    return Runs(rows.select(list(COLUMNS)).with_columns(texts), provenance)
