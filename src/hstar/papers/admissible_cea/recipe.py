"""The experiments of "Learning admissible heuristics for A*: theory and practice", and what a
certificate adds to them.

    tables          exact pattern databases, counted (Tables 1 and 3)
    classical       their compressions, the paper's and stronger ones
    networks        trained with both losses and in phases, each measured as the paper decodes it
                    and certified (Tables 2 and 5, Figures 5 to 9)
    models          certified files that are there already take the place of trainings
    generalisation  the same network from training sets of different sizes (Figure 2)

Each piece is a file below one directory; what is there is not made again, so a run that was stopped
goes on where it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hstar.papers.admissible_cea.classical import build_table, classical_rows, table_row
from hstar.papers.admissible_cea.generalisation import measure_generalisation
from hstar.papers.admissible_cea.networks import (
    certified_row,
    digest_of,
    learn_network,
    measure_argmax,
    read_certified,
)
from hstar.papers.admissible_cea.scales import (
    MODELS,
    SCALES,
    Generalisation,
    Learning,
    Scale,
    Subject,
)
from hstar.papers.experiment import (
    Say,
    in_processes,
    keep_settings,
    read_part,
    say_nothing,
    write_part,
)
from hstar.pdb import read_pdb, write_pdb

LARGE = "cube3"  # the puzzle whose networks are worth a GPU; others train on one core each
Piece = tuple[Callable[..., str], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Where and how to run. `jobs` processes work at once, one thread each; networks of the 3x3x3
    cube train one after another on `device`, or on `jobs` threads. `models` is a folder of
    certified files."""

    scale: Scale
    directory: Path
    jobs: int = 1
    device: str = "auto"
    seed: int = 0
    models: Path | None = None
    say: Say = print

    def table(self, subject: str) -> Path:
        return self.directory / "tables" / f"{subject}.pdb"

    def model(self, learning: Learning) -> Path:
        return self.directory / "models" / f"{learning.subject}-{learning.label}.safetensors"

    def part(self, kind: str, name: str) -> Path:
        return self.directory / "parts" / kind / f"{name}.json"

    def learning_part(self, learning: Learning) -> Path:
        return self.part("networks", f"{learning.subject}-{learning.label}")

    def generalisation_part(self, asked: Generalisation, size: int, seed: int) -> Path:
        return self.part("generalisation", f"{asked.subject}-{size}-{seed}")


@dataclass(frozen=True, slots=True)
class Results:
    """What the pieces hold: of each subject its table, classical rows, networks by label, rows of
    Figure 2; and certified files by name."""

    tables: dict[str, dict[str, Any]]
    classical: dict[str, list[dict[str, Any]]]
    networks: dict[str, dict[str, dict[str, Any]]]
    models: dict[str, dict[str, Any]]
    generalisation: dict[str, list[dict[str, Any]]]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def experiment_at(scale: str, directory: str | os.PathLike[str], **options: Any) -> Experiment:
    """The experiment of a named scale. Raises ValueError for an unknown one."""
    if scale not in SCALES:
        raise ValueError(f"unknown scale '{scale}'; choose one of {', '.join(SCALES)}")
    return Experiment(SCALES[scale], Path(directory), **options)


def run_experiment(experiment: Experiment) -> Results:
    """All pieces. Raises JournalError where the directory holds another experiment, and
    CertifiedFileError for a damaged model."""
    keep_settings(
        experiment.directory, {"scale": asdict(experiment.scale), "seed": experiment.seed}
    )
    for folder in ("tables", "models"):
        (experiment.directory / folder).mkdir(exist_ok=True)
    found = read_certified(experiment.models)
    missing = [one for one in learnings(experiment) if one.model not in found]
    large = [one for one in missing if _puzzle_of(experiment, one) == LARGE]
    if any(not experiment.learning_part(one).is_file() for one in large):
        experiment.say(
            f"{len(large)} networks of the 3x3x3 cube are to be learned: minutes each on a GPU, "
            "days each without one"
        )
    for subject in experiment.scale.subjects:
        make_table(experiment, subject)
    pieces = [*small_pieces(experiment, missing)]
    for name, (path, _) in found.items():
        pieces += argmax_pieces(experiment, name, path)
    if pieces:
        experiment.say(f"{len(pieces)} pieces to do, {experiment.jobs} at once")
    for count, line in enumerate(in_processes(experiment.jobs, run_piece, pieces), start=1):
        experiment.say(f"{count}/{len(pieces)} {line}")
    for learning in large:
        part = experiment.learning_part(learning)
        if not part.is_file():
            experiment.say(learn(experiment, learning, experiment.device, experiment.jobs, True))
    return collect(experiment)


def learnings(experiment: Experiment) -> list[Learning]:
    """Those of the scale, with the experiment's seed."""
    return [
        replace(one, options=replace(one.options, seed=experiment.seed))
        for one in experiment.scale.learnings
    ]


def make_table(experiment: Experiment, subject: Subject) -> None:
    part = experiment.part("tables", subject.name)
    if part.is_file():
        return
    start = time.monotonic()
    database = build_table(subject)
    row = table_row(database, time.monotonic() - start)
    write_pdb(experiment.table(subject.name), database)
    write_part(part, row)
    experiment.say(
        f"table of {subject.name}: {row['states']} states, mean {row['mean']:.4f}, "
        f"{row['seconds']} s"
    )


def small_pieces(experiment: Experiment, missing: list[Learning]) -> Iterator[Piece]:
    """What needs one core each and is not done yet, the longest first."""
    for learning in sorted(missing, key=lambda one: -one.options.steps * one.options.batch):
        is_small = _puzzle_of(experiment, learning) != LARGE
        if is_small and not experiment.learning_part(learning).is_file():
            quiet = replace(experiment, say=say_nothing)
            yield learn, (quiet, learning, "cpu", 1, False)
    for subject in experiment.scale.subjects:
        part = experiment.part("classical", subject.name)
        if subject.compressions is not None and not part.is_file():
            yield make_classical, (subject, experiment.table(subject.name), part)
    for asked in experiment.scale.generalisations:
        for size in asked.sizes:
            for seed in asked.seeds:
                part = experiment.generalisation_part(asked, size, seed)
                if not part.is_file():
                    table = experiment.table(asked.subject)
                    yield measure_generalisation, (table, asked.options, size, seed, part, 1)


def argmax_pieces(experiment: Experiment, name: str, path: Path) -> Iterator[Piece]:
    """What the network of a certified file does without its certificate, where its table is."""
    part = experiment.part("models", f"{name}-{digest_of(path)}")
    table = experiment.table(MODELS[name])
    if table.is_file() and not part.is_file():
        yield measure_argmax, (path, table, part, experiment.device, experiment.scale.sampled)


def run_piece(work: Callable[..., str], arguments: tuple[Any, ...]) -> str:
    return work(*arguments)


def make_classical(subject: Subject, table: Path, part: Path) -> str:
    start = time.monotonic()
    rows = list(classical_rows(read_pdb(table), subject))
    write_part(part, rows)
    return f"{subject.name}: {len(rows)} classical tables, {time.monotonic() - start:.0f} s"


def learn(experiment: Experiment, learning: Learning, device: str, threads: int, show: bool) -> str:
    return learn_network(
        learning,
        experiment.table(learning.subject),
        experiment.model(learning),
        experiment.learning_part(learning),
        device,
        threads,
        show,
    )


def collect(experiment: Experiment) -> Results:
    """What the finished pieces say."""
    networks: dict[str, dict[str, dict[str, Any]]] = {}
    for learning in learnings(experiment):
        held = read_part(experiment.learning_part(learning))
        if held is not None:
            networks.setdefault(learning.subject, {})[learning.label] = held
    models = {}
    for name, (path, file) in read_certified(experiment.models).items():
        models[name] = {
            "subject": MODELS[name],
            "certified": certified_row(file, path.stat().st_size),
            "argmax": read_part(experiment.part("models", f"{name}-{digest_of(path)}")),
        }
    subjects = [subject.name for subject in experiment.scale.subjects]
    return Results(
        tables={name: read_part(experiment.part("tables", name)) for name in subjects},
        classical={name: read_part(experiment.part("classical", name)) or [] for name in subjects},
        networks=networks,
        models=models,
        generalisation={
            asked.subject: [
                read_part(experiment.generalisation_part(asked, size, seed))
                for size in asked.sizes
                for seed in asked.seeds
            ]
            for asked in experiment.scale.generalisations
        },
    )


def _puzzle_of(experiment: Experiment, learning: Learning) -> str:
    return next(s.puzzle for s in experiment.scale.subjects if s.name == learning.subject)
