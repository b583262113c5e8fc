"""The experiments of "Learning admissible heuristics for A*: theory and practice", and what a
certificate adds to them.

    tables          exact pattern databases, counted (Tables 1 and 3)
    classical       their compressions, the paper's and stronger ones
    networks        trained with both losses and in phases, each measured as the paper decodes it
                    (the likeliest class) and certified, by thresholds and exceptions (Tables 2 and
                    5, Figures 5 to 9)
    models          certified files that are there already take the place of trainings
    generalisation  the same network from training sets of different sizes (Figure 2)
    planning        A* with tables and certified networks beside h^FF and the default planner

Networks of the 3x3x3 cube train one after another on `device`, or on `jobs` threads. `models` is a
folder of certified files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import torch

from hstar.domains import DOMAINS, Parameters, random_board
from hstar.experiments.bench import BenchOptions, read_runs, run_bench
from hstar.experiments.report import Comparison
from hstar.experiments.study import (
    BASELINE,
    DEFAULT_LABEL,
    Claim,
    Piece,
    Report,
    Row,
    StudyRun,
    make,
    read_part,
    write_part,
)
from hstar.papers.admissible_cea.page import parts, planning_tables, trained
from hstar.papers.admissible_cea.scales import (
    CEA,
    MODELS,
    SCALES,
    Generalisation,
    Learning,
    PatternScale,
    PatternStudied,
)
from hstar.papers.admissible_cea.tables import WORDS, claims, table_2
from hstar.pdb import (
    Compressions,
    build_difference,
    list_compressions,
    read_pdb,
    table_row,
    write_pdb,
)
from hstar.planning import make_puzzle
from hstar.runtime import Progress, digest_of, write_atomically
from hstar.slots import LearnedFile, find_heuristic, read_learned
from hstar.slots.features import PatternStates
from hstar.training import TableData, choose_device, prepare_table
from hstar.training.certified import (
    DeviceSweep,
    SweepOptions,
    argmax_row,
    certified_row,
    count_sampled,
    learn,
    measure,
    measure_generalisation,
    without_exceptions,
)

if TYPE_CHECKING:
    from hstar.training import Line

CURVE = ("train_loss", "overestimates", "beta", "eta")
DEVICE_BATCH = 2**16
MEMORY = 2 * 2**30
LABELS = {"network": "A*, certified network", "table": "A*, exact table"}
LABELS |= {"ff": BASELINE, "default": DEFAULT_LABEL}
LARGE = "cube3"  # the puzzle whose networks are worth a GPU; others train on one core each


@dataclass(frozen=True, slots=True)
class PatternResults:
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
        text = json.dumps(asdict(replace(self, planning=[])))
        held: Row = json.loads(text, parse_constant=lambda _: None)
        del held["planning"]
        return held

    @property
    def compared(self) -> Comparison | None:
        """Problems are the same if their names are, but for the suffix: a puzzle's start state has
        the name of the PDDL problem that describes it."""
        import polars as pl

        problem = pl.col("problem").str.replace(":", "-").str.strip_suffix(".pddl")
        tables = [
            read_runs(path).rows.with_columns(
                domain=pl.lit(domain),
                label=pl.lit(label),
                instance=pl.format("{}/{}", pl.lit(domain), problem),
            )
            for domain, label, path in self.planning
        ]
        return Comparison.of(pl.concat(tables)) if tables else None


class AdmissibleCea(StudyRun[PatternScale, PatternResults]):
    scales = SCALES

    def table(self, subject: str) -> Path:
        return self.directory / "tables" / f"{subject}.pdb"

    def model(self, learning: Learning) -> Path:
        return self.directory / "models" / f"{learning.name}.safetensors"

    def part(self, kind: str, name: str) -> Path:
        return self.directory / "parts" / kind / f"{name}.json"

    def learnings(self) -> list[Learning]:
        """Those of the scale, with the experiment's seed."""
        asked = self.scale.learnings
        return [replace(one, options=replace(one.options, seed=self.seed)) for one in asked]

    def puzzle_of(self, learning: Learning) -> str:
        return next(s.puzzle for s in self.scale.subjects if s.name == learning.subject)

    def execute(self) -> PatternResults:
        """Raises ModelFileError for a damaged model, too."""
        self.keep_settings()
        for folder in ("tables", "models"):
            (self.directory / folder).mkdir(exist_ok=True)
        found = read_certified(self.models)
        missing = [
            one
            for one in self.learnings()
            if one.model not in found and not self.part("networks", one.name).is_file()
        ]
        large = [one for one in missing if self.puzzle_of(one) == LARGE]
        if large:
            self.say(WORDS.text("large", count=len(large)))
        for subject in self.scale.subjects:
            self.make_table(subject)
        small = [self.learning(one) for one in missing if one not in large]
        points = chain(*map(self.points_of_figure_2, self.scale.generalisations))
        others = [*small, *self.classical(), *points, *self.likeliest(found)]
        is_on_gpu = choose_device(self.device).type == "cuda"
        if not is_on_gpu:
            self.carry_out("networks and tables", others)
        for learning in large:
            self.say(make(*self.learning(learning, alone=True)))
        if is_on_gpu:  # its time is dear, so what it is for comes first
            self.carry_out("networks and tables", others)
        for learning in self.learnings():
            puzzle, model = self.puzzle_of(learning), self.model(learning)
            if learning.label == CEA and puzzle.startswith("tiles-") and model.is_file():
                plan_on_boards(self, puzzle, self.table(learning.subject), model)
        return self.collect()

    def make_table(self, subject: PatternStudied) -> None:
        part = self.part("tables", subject.name)
        if part.is_file():
            return
        start = time.monotonic()
        puzzle = make_puzzle(subject.puzzle)
        database = build_difference(puzzle, subject.pattern, subject.base)
        row = table_row(database, time.monotonic() - start)
        write_pdb(self.table(subject.name), database)
        write_part(part, row)
        about = f"{row['states']} states, mean {row['mean']:.4f}, {row['seconds']} s"
        self.say(f"table of {subject.name}: {about}")

    def learning(self, one: Learning, alone: bool = False) -> Piece:
        """A network that trains alone has the device and all threads."""
        device, threads = (self.device, self.jobs) if alone else ("cpu", 1)
        about = one, self.table(one.subject), self.model(one), device, threads, alone
        return self.part("networks", one.name), learn_network, about

    def classical(self) -> Iterator[Piece]:
        for one in self.scale.subjects:
            if one.compressions is not None:
                yield self.part("classical", one.name), make_classical, (one, self.table(one.name))

    def points_of_figure_2(self, asked: Generalisation) -> Iterator[Piece]:
        """A network for each number of training states and each seed."""
        for size, seed in product(asked.sizes, asked.seeds):
            part = self.part("generalisation", f"{asked.subject}-{size}-{seed}")
            yield (
                part,
                measure_generalisation,
                (self.table(asked.subject), asked.options, size, seed),
            )

    def likeliest(self, found: dict[str, tuple[Path, LearnedFile]]) -> Iterator[Piece]:
        """What the networks of certified files do without their certificates."""
        for name, (path, _) in found.items():
            table = self.table(MODELS[name])
            if table.is_file():
                about = path, table, self.device, self.scale.sampled
                yield self.argmax_part(name, path), measure_argmax, about

    def argmax_part(self, name: str, path: Path) -> Path:
        return self.part("models", f"{name}-{digest_of(path.read_bytes())[:12]}")

    def collect(self) -> PatternResults:
        """What the finished pieces say."""
        networks: dict[str, dict[str, Row]] = {}
        for learning in self.learnings():
            if held := read_part(self.part("networks", learning.name)):
                networks.setdefault(learning.subject, {})[learning.label] = held
        models = {
            name: {
                "subject": MODELS[name],
                "certified": certified_row(file, path.stat().st_size),
                "argmax": read_part(self.argmax_part(name, path)),
            }
            for name, (path, file) in read_certified(self.models).items()
        }
        generalisation: dict[str, list[Row]] = {}
        for asked in self.scale.generalisations:
            rows = [read_part(part) for part, *_ in self.points_of_figure_2(asked)]
            generalisation.setdefault(asked.subject, []).extend(rows)
        puzzles = {one.name: one.puzzle for one in self.scale.subjects}
        tables = {name: read_part(self.part("tables", name)) for name in puzzles}
        classical = {name: read_part(self.part("classical", name)) or [] for name in puzzles}
        planning = [f for one in puzzles.values() for f in planning_files(self.directory, one)]
        return PatternResults(tables, classical, networks, models, generalisation, planning)

    def report(self, results: PatternResults, scale: str) -> Report:
        summary = [table_2(results), *planning_tables(results)]
        files = {"rows.json": json.dumps(results.to_dict(), indent=1) + "\n"}
        verdicts = Claim.listed(claims(results))
        shown = "\n\n".join([*(table.text() for table in summary), verdicts])
        return WORDS.report(scale, list(trained(results)), parts(results), shown, files)


def make_classical(subject: PatternStudied, table: Path) -> list[Row]:
    """All compressions that a subject asks for."""
    pattern = subject.pattern if subject.base is None else f"{subject.pattern} less {subject.base}"
    asked = subject.compressions or Compressions()
    return list(list_compressions(read_pdb(table), make_puzzle(subject.puzzle), pattern, asked))


def learn_network(
    learning: Learning, table: Path, output: Path, device: str, threads: int, alone: bool
) -> Row:
    """Train and measure one network, and certify one in integers. A killed training goes on from
    its .partial file. A network that trains `alone` shows its progress."""
    if choose_device(device).type == "cpu":
        torch.set_num_threads(threads)
    database = read_pdb(table)
    data = TableData(database, make_puzzle(database.layout.space))
    options = replace(learning.options, device=device)
    sweeping = SweepOptions(threads, 4096, Progress if alone else None)
    with Progress(f"{learning.subject} {learning.label}", learning.options.steps) as progress:

        def report(line: Line, _: int) -> None:
            if alone:
                progress.update(line["step"], f"too large {line['overestimates']:.1e}")

        if options.in_integers:
            budget = {"budget": learning.budget}
            learned = learn(data, output, replace(options, decode_options=budget), sweeping, report)
            assert learned is not None
            loop, likeliest = learned.loop, without_exceptions(learned.file.model)
            argmax = argmax_row(likeliest, learned.sweep.count_values(likeliest))
            certified = certified_row(learned.file, output.stat().st_size)
        else:
            loop, certified = prepare_table(data, options).write(output, report), None
            found = measure(find_heuristic(output), database, data.space, loop.device, sweeping)
            argmax = {"bytes": output.stat().st_size, **found.to_dict()}
    return {
        "subject": learning.subject,
        "label": learning.label,
        "options": learning.options.to_dict(),
        "certified": certified,
        "argmax": argmax,
        "curve": [[line["step"], *map(line.get, CURVE)] for line in loop.curve],
        "seconds": round(loop.seconds, 1),
    }


def read_certified(folder: Path | None) -> dict[str, tuple[Path, LearnedFile]]:
    """The certified models in a folder, by name. Raises CertifiedFileError for a damaged one."""
    paths = {name: folder / f"{name}.safetensors" for name in MODELS} if folder else {}
    return {name: (path, read_learned(path)) for name, path in paths.items() if path.is_file()}


def measure_argmax(path: Path, table: Path, device: str, sampled: int) -> Row:
    """What the network of a certified file does without thresholds and exceptions: on every state
    with a GPU, otherwise on `sampled` ones."""
    database = read_pdb(table)
    model = without_exceptions(read_learned(path).model)
    where = choose_device(device)
    states = PatternStates(database, make_puzzle(database.layout.space), where)
    if where.type == "cuda":
        return argmax_row(model, DeviceSweep(states, DEVICE_BATCH).count_values(model))
    return argmax_row(model, count_sampled(model, states, sampled))


def planning_files(directory: Path, puzzle: str) -> list[tuple[str, str, Path]]:
    """The finished runs as (domain, planner, file)."""
    folder = directory / "planning" / puzzle
    files = [(puzzle, label, folder / f"{name}.parquet") for name, label in LABELS.items()]
    return [one for one in files if one[2].is_file()]


def plan_on_boards(run: AdmissibleCea, puzzle: str, table: Path, model: Path) -> None:
    """A* with the exact table and the certified network on as many random boards as the scale asks
    for, and h^FF and the default planner on the same boards in PDDL."""
    folder = run.directory / "planning" / puzzle
    if not run.scale.boards or len(planning_files(run.directory, puzzle)) == len(LABELS):
        return
    states, problems = write_boards(puzzle, run.scale.boards, run.seed, folder)
    options = BenchOptions(
        problems, ["ff"], time_limit=run.scale.limit, memory_limit=MEMORY, jobs=run.jobs
    )
    search = replace(options, suites=[f"{puzzle}:states={states}"], searches=["astar"])
    for name, chosen in (
        ("network", replace(search, heuristics=[model])),
        ("table", replace(search, heuristics=[f"pdb:{table}"])),
        ("ff", options),
        ("default", replace(options, heuristics=["default"])),
    ):
        output = folder / f"{name}.parquet"
        if run.begins(output, f"planning: {puzzle}, {name}"):
            run_bench(replace(chosen, output=output))


def write_boards(puzzle: str, count: int, seed: int, folder: Path) -> tuple[Path, list[Path]]:
    """Random boards: a file with the puzzle's states in its lines, and PDDL problems. The puzzle's
    blank is in the first corner and that of the PDDL domain in the last, so boards are turned by
    half a circle."""
    folder.mkdir(parents=True, exist_ok=True)
    generator, space = DOMAINS.find("sliding-tiles"), make_puzzle(puzzle)
    rows, columns = map(int, puzzle.removeprefix("tiles-").split("x"))
    write_atomically(folder / "domain.pddl", generator.domain_pddl)
    size: Parameters = {"rows": rows, "columns": columns}
    lines, problems = [], []
    for number in range(1, count + 1):
        drawn = f"{seed}-{number}"
        board = np.array(random_board(rows, columns, Random(drawn)))
        problems.append(folder / f"start-{number}.pddl")
        text = generator.make(size, Random(drawn), f"start-{number}")
        write_atomically(problems[-1], text)
        places = np.empty(len(board), dtype=np.int32)  # of each piece
        places[len(board) - 1 - board] = len(board) - 1 - np.arange(len(board))
        lines.append(space.format_state(places))
    states = folder / "start.txt"
    write_atomically(states, "\n".join(lines) + "\n")
    return states, problems
