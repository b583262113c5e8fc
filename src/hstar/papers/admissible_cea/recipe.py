"""The experiments of "Learning admissible heuristics for A*: theory and practice", and what a
certificate adds to them.

    tables          exact pattern databases, counted (Tables 1 and 3)
    classical       their compressions, the paper's and stronger ones
    networks        trained with both losses and in phases, each measured as the paper decodes it
                    and certified (Tables 2 and 5, Figures 5 to 9)
    models          certified files that are there already take the place of trainings
    generalisation  the same network from training sets of different sizes (Figure 2)
    planning        A* with tables and certified networks beside h^FF and the default planner

Each piece is a file below one directory. A run that was stopped makes only what is missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hstar.papers import experiment as shared
from hstar.papers.admissible_cea.classical import build_table, classical_rows, table_row
from hstar.papers.admissible_cea.generalisation import measure_generalisation
from hstar.papers.admissible_cea.networks import (
    certified_row,
    digest_of,
    learn_network,
    measure_argmax,
    read_certified,
)
from hstar.papers.admissible_cea.planning import plan_on_boards, planning_files
from hstar.papers.admissible_cea.scales import CEA, MODELS, Generalisation, Learning, Scale, Subject
from hstar.papers.experiment import in_processes, read_part, say_nothing, write_part
from hstar.papers.page import compare_runs
from hstar.pdb import read_pdb, write_pdb
from hstar.slots.pattern_network import LearnedFile

if TYPE_CHECKING:
    from hstar.experiments.report import Comparison

LARGE = "cube3"  # the puzzle whose networks are worth a GPU; others train on one core each
Row = dict[str, Any]


@dataclass(frozen=True)
class Experiment(shared.Experiment[Scale]):
    """Networks of the 3x3x3 cube train one after another on `device`, or on `jobs` threads.
    `models` is a folder of certified files."""

    models: Path | None = None

    def table(self, subject: str) -> Path:
        return self.directory / "tables" / f"{subject}.pdb"

    def model(self, learning: Learning) -> Path:
        return self.directory / "models" / f"{learning.name}.safetensors"

    def part(self, kind: str, name: str) -> Path:
        return self.directory / "parts" / kind / f"{name}.json"

    def learnings(self) -> list[Learning]:
        """Those of the scale, with the experiment's seed."""
        return [
            replace(one, options=replace(one.options, seed=self.seed))
            for one in self.scale.learnings
        ]

    def puzzle_of(self, learning: Learning) -> str:
        return next(s.puzzle for s in self.scale.subjects if s.name == learning.subject)


@dataclass(frozen=True, slots=True)
class Results:
    """What the pieces hold: of each subject its table, classical rows, networks by label, rows of
    Figure 2; certified files by name; and runs of planners, where the scale asks for them."""

    tables: dict[str, Row]
    classical: dict[str, list[Row]]
    networks: dict[str, dict[str, Row]]
    models: dict[str, Row]
    generalisation: dict[str, list[Row]]
    planning: list[tuple[str, str, Path]]

    def to_dict(self) -> Row:
        """For rows.json: None stands for NaN and infinity, which JSON does not have."""
        held = asdict(self)
        del held["planning"]
        return cast(Row, _finite(held))

    @property
    def compared(self) -> Comparison | None:
        return compare_runs(self.planning) if self.planning else None


def _finite(held: Any) -> Any:
    if isinstance(held, dict):
        return {name: _finite(value) for name, value in held.items()}
    if isinstance(held, list):
        return [_finite(value) for value in held]
    return None if isinstance(held, float) and not math.isfinite(held) else held


def run_experiment(experiment: Experiment) -> Results:
    """All pieces. Raises JournalError where the directory holds another experiment, and
    ModelFileError for a damaged model."""
    experiment.keep_settings()
    for folder in ("tables", "models"):
        (experiment.directory / folder).mkdir(exist_ok=True)
    found = read_certified(experiment.models)
    missing = [
        one
        for one in experiment.learnings()
        if one.model not in found and not experiment.part("networks", one.name).is_file()
    ]
    large = [one for one in missing if experiment.puzzle_of(one) == LARGE]
    if large:
        experiment.say(
            f"{len(large)} networks of the 3x3x3 cube are to be learned: minutes each on a GPU, "
            "days each without one"
        )
    for subject in experiment.scale.subjects:
        make_table(experiment, subject)
    quiet = replace(experiment, say=say_nothing)
    pieces = list(small_pieces(quiet, [one for one in missing if one not in large], found))
    if pieces:
        experiment.say(f"{len(pieces)} pieces to do, {experiment.jobs} at once")
    for count, line in enumerate(in_processes(experiment.jobs, run_piece, pieces), start=1):
        experiment.say(f"{count}/{len(pieces)} {line}")
    for learning in large:
        experiment.say(learn_network(experiment, learning, alone=True))
    for learning in experiment.learnings():
        puzzle, model = experiment.puzzle_of(learning), experiment.model(learning)
        if learning.label == CEA and puzzle.startswith("tiles-") and model.is_file():
            plan_on_boards(experiment, puzzle, experiment.table(learning.subject), model)
    return collect(experiment)


def make_table(experiment: Experiment, subject: Subject) -> None:
    part = experiment.part("tables", subject.name)
    if part.is_file():
        return
    start = time.monotonic()
    database = build_table(subject)
    row = table_row(database, time.monotonic() - start)
    write_pdb(experiment.table(subject.name), database)
    write_part(part, row)
    about = f"{row['states']} states, mean {row['mean']:.4f}, {row['seconds']} s"
    experiment.say(f"table of {subject.name}: {about}")


def small_pieces(
    experiment: Experiment,
    missing: list[Learning],
    found: dict[str, tuple[Path, LearnedFile]],
) -> Iterator[tuple[Callable[..., str], tuple[Any, ...]]]:
    """What needs one core each and is not done yet, the longest first."""
    for learning in sorted(missing, key=lambda one: -one.options.steps * one.options.batch):
        yield learn_network, (experiment, learning)
    for subject in experiment.scale.subjects:
        part = experiment.part("classical", subject.name)
        if subject.compressions is not None and not part.is_file():
            yield make_classical, (subject, experiment.table(subject.name), part)
    for asked, size, seed, part in points_of_figure_2(experiment):
        if not part.is_file():
            table = experiment.table(asked.subject)
            yield measure_generalisation, (table, asked.options, size, seed, part)
    for name, (path, _) in found.items():
        part, table = argmax_part(experiment, name, path), experiment.table(MODELS[name])
        if table.is_file() and not part.is_file():
            yield measure_argmax, (path, table, part, experiment.device, experiment.scale.sampled)


def points_of_figure_2(
    experiment: Experiment,
) -> Iterator[tuple[Generalisation, int, int, Path]]:
    """What to train, the number of training states, seed and file of each point."""
    for asked in experiment.scale.generalisations:
        for size in asked.sizes:
            for seed in asked.seeds:
                name = f"{asked.subject}-{size}-{seed}"
                yield asked, size, seed, experiment.part("generalisation", name)


def argmax_part(experiment: Experiment, name: str, path: Path) -> Path:
    """What the network of a certified file does without its certificate."""
    return experiment.part("models", f"{name}-{digest_of(path)}")


def run_piece(work: Callable[..., str], arguments: tuple[Any, ...]) -> str:
    return work(*arguments)


def make_classical(subject: Subject, table: Path, part: Path) -> str:
    start = time.monotonic()
    rows = list(classical_rows(read_pdb(table), subject))
    write_part(part, rows)
    return f"{subject.name}: {len(rows)} classical tables, {time.monotonic() - start:.0f} s"


def collect(experiment: Experiment) -> Results:
    """What the finished pieces say."""
    networks: dict[str, dict[str, Row]] = {}
    for learning in experiment.learnings():
        held = read_part(experiment.part("networks", learning.name))
        if held is not None:
            networks.setdefault(learning.subject, {})[learning.label] = held
    models = {
        name: {
            "subject": MODELS[name],
            "certified": certified_row(file, path.stat().st_size),
            "argmax": read_part(argmax_part(experiment, name, path)),
        }
        for name, (path, file) in read_certified(experiment.models).items()
    }
    generalisation: dict[str, list[Row]] = {}
    for asked, *_, part in points_of_figure_2(experiment):
        generalisation.setdefault(asked.subject, []).append(read_part(part))
    subjects = experiment.scale.subjects

    def held_of(kind: str) -> dict[str, Any]:
        return {one.name: read_part(experiment.part(kind, one.name)) or [] for one in subjects}

    tables, classical = held_of("tables"), held_of("classical")
    planning = [file for one in subjects for file in planning_files(experiment, one.puzzle)]
    return Results(tables, classical, networks, models, generalisation, planning)
