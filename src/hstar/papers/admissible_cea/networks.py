"""Networks, each measured as two heuristics: "argmax" is the paper's, the likeliest class, which
overestimates some states; "certified" has thresholds and exceptions and overestimates none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hstar.experiments.study import Row
from hstar.papers.admissible_cea.scales import MODELS, Learning
from hstar.pdb import read_pdb
from hstar.planning import make_puzzle
from hstar.runtime import Progress
from hstar.slots import LearnedFile, read_learned

if TYPE_CHECKING:
    from hstar.training import Line

CURVE = ("train_loss", "overestimates", "beta", "eta")
DEVICE_BATCH = 2**16


def learn_network(
    learning: Learning, table: Path, output: Path, device: str, threads: int, alone: bool
) -> Row:
    """Train, certify and measure one network. A killed training goes on from its .partial file. A
    network that trains `alone` shows its progress."""
    import torch

    from hstar.training import TableData, choose_device
    from hstar.training.certified import (
        SweepOptions,
        argmax_row,
        certified_row,
        learn,
        without_exceptions,
    )

    if choose_device(device).type == "cpu":
        torch.set_num_threads(threads)
    database = read_pdb(table)
    data = TableData(database, make_puzzle(database.layout.space))
    options = replace(learning.options, decode_options={"budget": learning.budget}, device=device)
    sweeping = SweepOptions(threads, 4096, Progress if alone else None)
    with Progress(f"{learning.subject} {learning.label}", learning.options.steps) as progress:

        def report(line: Line, _: int) -> None:
            if alone:
                progress.update(line.step, f"too large {line['overestimates']:.1e}")

        learned = learn(data, output, options, sweeping, report)
    assert learned is not None
    likeliest = without_exceptions(learned.file.model)
    return {
        "subject": learning.subject,
        "label": learning.label,
        "options": learning.options.to_dict(),
        "certified": certified_row(learned.file, output.stat().st_size),
        "argmax": argmax_row(likeliest, learned.sweep.count_values(likeliest)),
        "curve": [[line.step, *map(line.metrics.get, CURVE)] for line in learned.loop.curve],
        "seconds": round(learned.loop.seconds, 1),
    }


def read_certified(folder: Path | None) -> dict[str, tuple[Path, LearnedFile]]:
    """The certified models in a folder, by name. Raises CertifiedFileError for a damaged one."""
    paths = {name: folder / f"{name}.safetensors" for name in MODELS} if folder else {}
    return {name: (path, read_learned(path)) for name, path in paths.items() if path.is_file()}


def measure_argmax(path: Path, table: Path, device: str, sampled: int) -> Row:
    """What the network of a certified file does without thresholds and exceptions: on every state
    with a GPU, otherwise on `sampled` ones."""
    from hstar.slots.features import PatternStates
    from hstar.training import choose_device
    from hstar.training.certified import DeviceSweep, argmax_row, count_sampled, without_exceptions

    database = read_pdb(table)
    model = without_exceptions(read_learned(path).model)
    where = choose_device(device)
    states = PatternStates(database, make_puzzle(database.layout.space), where)
    if where.type == "cuda":
        return argmax_row(model, DeviceSweep(states, DEVICE_BATCH).count_values(model))
    return argmax_row(model, count_sampled(model, states, sampled))
