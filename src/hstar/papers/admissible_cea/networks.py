"""Networks, each measured as two heuristics: "argmax" is the paper's, the likeliest class, which
overestimates some states; "certified" has thresholds and exceptions and overestimates none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hstar.experiments.study import Row
from hstar.papers.admissible_cea.scales import MODELS, Learning
from hstar.pdb import read_pdb
from hstar.planning import make_puzzle
from hstar.runtime import Progress
from hstar.slots import Decoding, LearnedDatabase, LearnedFile, read_learned, to_bytes

if TYPE_CHECKING:
    from hstar.training import Line
    from hstar.training.certified import ValueCounts

CURVE = ("train_loss", "overestimates", "beta", "eta")
DEVICE_BATCH = 2**16


def learn_network(
    learning: Learning, table: Path, output: Path, device: str, threads: int, alone: bool
) -> Row:
    """Train, certify and measure one network. A killed training goes on from its .partial file. A
    network that trains `alone` shows its progress."""
    import torch

    from hstar.training import TableData, choose_device
    from hstar.training.certified import SweepOptions, learn

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
        "curve": [[line.step, *map(line.metrics.get, CURVE)] for line in learned.curve],
        "seconds": round(learned.seconds, 1),
    }


def without_exceptions(model: LearnedDatabase) -> LearnedDatabase:
    """The network as the paper decodes it: the likeliest class."""
    return replace(model, decoding=Decoding.argmax(), exceptions=())


def certified_row(file: LearnedFile, num_bytes: int) -> Row:
    """What the certificate in a file says. `total` counts the base's mean, too."""
    certificate: Mapping[str, Any] = file.certificate or {}
    model = file.model
    return {
        "bytes": num_bytes,
        "mean": certificate["mean"],
        "total": certificate["mean"] + (model.base.mean if model.base else 0.0),
        "exact": certificate["exact_total"] / certificate["states"],
        "states": certificate["states"],
        "overestimates": certificate["overestimates"],
        "exceptions": sum(one.count for one in model.exceptions),
        "exception_bytes": sum(len(one.code) for one in model.exceptions),
        "parameters": model.network.num_parameters,
    }


def argmax_row(model: LearnedDatabase, counts: ValueCounts) -> Row:
    """`overestimates` lists [exact value, predicted value, states]; `bytes` are those of a file
    without certificate."""
    values = model.values
    total = sum(value * int(n) for value, n in zip(values, counts.classes, strict=True))
    pairs = [
        [values[exact], values[guess], int(counts.overestimates[exact, guess])]
        for exact, guess in np.argwhere(counts.overestimates).tolist()
    ]
    return {
        "bytes": len(to_bytes(LearnedFile(model, None, {}).to_model_file())),
        "mean": total / max(counts.states, 1),
        "rate": sum(pair[2] for pair in pairs) / max(counts.states, 1),
        "states": counts.states,
        "overestimates": pairs,
    }


def read_certified(folder: Path | None) -> dict[str, tuple[Path, LearnedFile]]:
    """The certified models in a folder, by name. Raises CertifiedFileError for a damaged one."""
    paths = {name: folder / f"{name}.safetensors" for name in MODELS} if folder else {}
    return {name: (path, read_learned(path)) for name, path in paths.items() if path.is_file()}


def digest_of(path: Path) -> str:
    """Tells models of one name apart."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def measure_argmax(path: Path, table: Path, device: str, sampled: int) -> Row:
    """What the network of a certified file does without thresholds and exceptions: on every state
    with a GPU, otherwise on `sampled` ones."""
    from hstar.slots.features import PatternStates
    from hstar.training import choose_device
    from hstar.training.certified import DeviceSweep, SampledSweep

    database = read_pdb(table)
    model = without_exceptions(read_learned(path).model)
    where = choose_device(device)
    states = PatternStates(database, make_puzzle(database.layout.space), where)
    on_gpu = where.type == "cuda"
    sweep = DeviceSweep(states, DEVICE_BATCH) if on_gpu else SampledSweep(states, sampled)
    return argmax_row(model, sweep.count_values(model))
