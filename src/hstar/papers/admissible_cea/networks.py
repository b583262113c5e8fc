"""Networks of the admissible-cea recipe, each measured as two heuristics: "argmax" is the paper's,
the likeliest class, which overestimates some states; "certified" has thresholds and exceptions and
overestimates none."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hstar.papers.admissible_cea.scales import MODELS, Learning
from hstar.papers.experiment import write_part
from hstar.pdb import read_pdb
from hstar.planning.puzzle import make_puzzle
from hstar.runtime.progress import Progress
from hstar.slots.levels import Decoding
from hstar.slots.model_file import to_bytes
from hstar.slots.models.integer_network import Network
from hstar.slots.pattern_network import LearnedDatabase, LearnedFile, read_learned
from hstar.training.certified.sweep import SweepOptions, ValueCounts

if TYPE_CHECKING:
    from torch import Tensor

    from hstar.papers.admissible_cea.recipe import Experiment
    from hstar.slots.features.pattern_states import PatternStates
    from hstar.training.loop import Line

SLICE = 2**16
CURVE = ("train_loss", "overestimates", "beta", "eta")
DEVICE_BATCH = 2**16


def learn_network(experiment: Experiment, learning: Learning, alone: bool = False) -> str:
    """Train, certify and measure one network; returns a line about it. A killed training goes on
    from its .partial file. A network that trains `alone` has the device and all threads, and shows
    its progress."""
    import torch

    from hstar.training.certified.learning import learn
    from hstar.training.pattern_source import TableData
    from hstar.training.train import choose_device

    device, threads = (experiment.device, experiment.jobs) if alone else ("cpu", 1)
    if choose_device(device).type == "cpu":
        torch.set_num_threads(threads)
    database, output = read_pdb(experiment.table(learning.subject)), experiment.model(learning)
    data = TableData(database, make_puzzle(database.layout.space))
    options = replace(learning.options, decode_options={"budget": learning.budget}, device=device)
    sweeping = SweepOptions(threads, 4096, Progress if alone else None)
    name = f"{learning.subject} {learning.label}"
    with Progress(name, learning.options.steps) as progress:

        def report(line: Line, _: int) -> None:
            if alone:
                progress.update(line.step, f"too large {line['overestimates']:.1e}")

        learned = learn(data, output, options, sweeping, report)
    assert learned is not None
    likeliest = without_exceptions(learned.file.model)
    certified = certified_row(learned.file, output.stat().st_size)
    argmax = argmax_row(likeliest, learned.sweep.count_values(likeliest))
    measured = {
        "subject": learning.subject,
        "label": learning.label,
        "options": learning.options.to_dict(),
        "certified": certified,
        "argmax": argmax,
        "curve": [[line.step, *map(line.metrics.get, CURVE)] for line in learned.curve],
        "seconds": round(learned.seconds, 1),
    }
    write_part(experiment.part("networks", learning.name), measured)
    return (
        f"{name}: argmax {argmax['mean']:.3f} with {argmax['rate']:.1e} overestimated, certified "
        f"{certified['mean']:.3f} in {certified['bytes']} bytes, {learned.seconds:.0f} s"
    )


def without_exceptions(model: LearnedDatabase) -> LearnedDatabase:
    """The network as the paper decodes it: the likeliest class."""
    return replace(model, decoding=Decoding.argmax(), exceptions=())


def certified_row(file: LearnedFile, num_bytes: int) -> dict[str, Any]:
    """What the certificate in a file says. `total` counts the base's mean, too."""
    certificate = file.certificate or {}
    model = file.model
    base = model.base.mean if model.base else 0.0
    return {
        "bytes": num_bytes,
        "mean": certificate["mean"],
        "total": certificate["mean"] + base,
        "exact": certificate["exact_total"] / certificate["states"],
        "states": certificate["states"],
        "overestimates": certificate["overestimates"],
        "exceptions": sum(one.count for one in model.exceptions),
        "exception_bytes": sum(len(one.code) for one in model.exceptions),
        "parameters": model.network.num_parameters,
    }


def argmax_row(model: LearnedDatabase, counts: ValueCounts) -> dict[str, Any]:
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
    if folder is None:
        return {}
    paths = {name: folder / f"{name}.safetensors" for name in MODELS}
    return {name: (path, read_learned(path)) for name, path in paths.items() if path.is_file()}


def digest_of(path: Path) -> str:
    """Tells models of one name apart."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def measure_argmax(path: Path, table: Path, part: Path, device: str, sampled: int) -> str:
    """What the network of a certified file does without thresholds and exceptions: on every state
    with a GPU, otherwise on `sampled` ones."""
    from hstar.slots.features.pattern_states import PatternStates
    from hstar.training.certified.device_sweep import DeviceSweep
    from hstar.training.train import choose_device

    database = read_pdb(table)
    puzzle = make_puzzle(database.layout.space)
    model = without_exceptions(read_learned(path).model)
    where = choose_device(device)
    states = PatternStates(database, puzzle, where)
    if where.type == "cuda":
        counts = DeviceSweep(states, DEVICE_BATCH).count_values(model)
    else:
        counts = count_sampled(model, states, sampled)
    row = argmax_row(model, counts)
    write_part(part, row)
    return f"{path.stem}: argmax {row['mean']:.3f} with {row['rate']:.1e} overestimated"


def count_sampled(model: LearnedDatabase, states: PatternStates, sampled: int) -> ValueCounts:
    """Of states drawn at random (an even stride would favour some places of a piece), or of all if
    there are no more: classes by argmax, and overestimates."""
    import torch

    drawn = np.arange(states.cells)
    if sampled < states.cells:
        drawn = np.random.default_rng(0).integers(states.cells, size=sampled)
    classes = model.network.num_classes
    found = np.zeros((classes, classes), dtype=np.uint64)
    unreached = 0
    for first in range(0, len(drawn), SLICE):
        index = torch.from_numpy(drawn[first : first + SLICE])
        exact = states.exact(index).numpy()
        reached = exact < classes
        unreached += int((~reached).sum())
        guess = predict(model.network, states, index)[reached]
        np.add.at(found, (exact[reached], guess), 1)
    return ValueCounts(found.sum(axis=0), np.triu(found, 1), int(found.sum()), unreached)


def predict(network: Network, states: PatternStates, index: Tensor) -> NDArray[np.intp]:
    """The likeliest class of each index; of equals the first, as in the core."""
    digits = states.digits(index).cpu().numpy().astype(np.int32)
    likeliest: NDArray[np.intp] = network.forward(digits).argmax(axis=1)
    return likeliest
