"""From a table of exact values to a file: train, export, choose thresholds, sweep, write."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from hstar.slots.decode import find_decode
from hstar.slots.features.pattern_states import PatternStates
from hstar.slots.model_file import to_bytes, write_model
from hstar.slots.models.export import export
from hstar.slots.models.integer_network import Network
from hstar.slots.models.rounding import RoundedNet
from hstar.slots.pattern_network import Decoding, LearnedDatabase, LearnedFile, digests
from hstar.training.certified.certificate import certify
from hstar.training.certified.device_sweep import DeviceNetwork, DeviceSweep
from hstar.training.certified.sweep import AnySweep, Sweep, SweepOptions
from hstar.training.certified.thresholds import make_strict
from hstar.training.loop import Loop, Report
from hstar.training.options import TABLE_DEFAULTS, TrainOptions, refining
from hstar.training.source import PatternSource, TableData
from hstar.training.train import prepare_table

CHECKED_STATES = 1000


@dataclass(frozen=True)
class CertifiedNetwork:
    """A network in integers with its certificate, and how it came about."""

    file: LearnedFile
    num_bytes: int
    loop: Loop
    sweep: AnySweep


def learn(
    data: TableData,
    output: str | os.PathLike[str],
    options: TrainOptions,
    sweeping: SweepOptions | None = None,
    report: Report | None = None,
    deadline: float | None = None,
    start: Network | None = None,
) -> CertifiedNetwork | None:
    """Learn a table with a network in integers and write its file; None if the deadline came first.
    `start` is a network to go on from, whose shape and bits then replace those of the options.

    A stopped or killed run goes on from `output`.partial. Raises ValueError, FloatingPointError,
    CheckpointError and OSError.
    """
    if start is not None:
        options = refining(options, start)
    partial = Path(f"{os.fspath(output)}.partial")
    loop = prepare_table(data, options, start)
    if not loop.run(partial, report, deadline):
        return None
    source = cast(PatternSource, loop.source)
    sweep = make_sweep(data, source.states, sweeping or SweepOptions())
    file = finish(loop, data, sweep)
    size = write_model(output, file.to_model_file())
    partial.unlink(missing_ok=True)
    return CertifiedNetwork(file, size, loop, sweep)


def make_sweep(data: TableData, learned: PatternStates, options: SweepOptions) -> AnySweep:
    """On the device that trained, if that is a GPU; in the core otherwise."""
    if learned.device.type != "cuda":
        return Sweep(data.database, data.space, options)
    states = learned
    if learned.database is not data.database:  # symmetry classes are learned from all their states
        states = PatternStates(data.database, data.space, learned.device)
    return DeviceSweep(states, progress=options.progress)


def integer_network(loop: Loop) -> Network:
    """What a loop over a table has learned, in integers."""
    states = cast(PatternSource, loop.source).states
    return export(cast(RoundedNet, loop.network), states.domain_sizes)


def finish(loop: Loop, data: TableData, sweep: AnySweep) -> LearnedFile:
    """The integer network, decoded as wanted and swept over every state."""
    source, options = cast(PatternSource, loop.source), loop.options
    states, network = source.states, integer_network(loop)
    plain = LearnedDatabase(
        layout=data.database.layout,
        network=network,
        decoding=Decoding.argmax(),
        values=states.values,
        base=data.database.base,
    )
    _check_core(plain, source)
    described = options.objective.to_dict()
    described.pop("values", None)  # the decode has them
    notes = {"options": options.chosen(**TABLE_DEFAULTS), "objective": described}
    decode = find_decode(options.decode, options.objective)
    chosen = {**decode.options, **options.decode_options}
    if not decode.is_certified:
        if "tau" in chosen:
            decoding = Decoding.quantile(chosen["tau"], network.num_classes, chosen["temperature"])
            plain = replace(plain, decoding=decoding)
        return LearnedFile(plain, certify(plain, data.database, sweep), notes)

    def size_of(model: LearnedDatabase) -> int:
        file = LearnedFile(model, _longest(model, states), notes)
        return len(to_bytes(file.to_model_file()))

    strict = make_strict(plain, sweep, size_of, **chosen)
    certificate = certify(strict, data.database, sweep)
    if wrong := certificate["overestimates"]:
        raise RuntimeError(f"{wrong} states are still overestimated; this is a bug in hstar")
    return LearnedFile(strict, certificate, notes)


def _longest(model: LearnedDatabase, states: PatternStates) -> dict[str, object]:
    """A certificate that is at least as long as the real one will be."""
    most = states.cells
    total = most * max(model.values[-1], 1)
    return {
        "space": model.layout.space,
        "pattern": list(model.layout.pattern),
        **{"states": most, "unreached": most, "overestimates": 0},
        **{"total": total, "exact_total": total, "mean": 1.0000000000000002},
        "histogram": [[value, most] for value in model.values],
        "table_sha256": "0" * 64,
        **digests(model),
    }


def _check_core(model: LearnedDatabase, source: PatternSource) -> None:
    """The core must compute what torch computes of the same integers."""
    index = source.draws.at(0)[:CHECKED_STATES]
    digits = source.states.digits(index).cpu()
    expected = DeviceNetwork(model.network, digits.device).forward(digits).numpy()
    if not np.array_equal(model.network.forward(digits.int().numpy()), expected):
        raise RuntimeError("the core computes another network; this is a bug in hstar")
