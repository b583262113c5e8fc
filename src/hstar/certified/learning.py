"""From a pattern database to a certified file: train, export, choose, sweep, write."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from hstar.certified.certificate import Certificate, certify
from hstar.certified.sweep import AnySweep, Sweep, SweepOptions
from hstar.certified.thresholds import make_strict
from hstar.features.digits import PatternStates, states_to_learn
from hstar.learned.certified_file import LearnedFile, digests, to_bytes, write_learned
from hstar.learned.database import LearnedDatabase
from hstar.learned.levels import LOGIT_UNITS, Decoding
from hstar.models.export import emulate, export
from hstar.models.integer_network import Network
from hstar.pdb import PatternDatabase
from hstar.spaces.puzzle import Puzzle
from hstar.spaces.task import Task
from hstar.training.options import LearnOptions
from hstar.training.refining import options_from
from hstar.training.rounded import Report, Training, Window

CHECKED_STATES = 1000
DECODINGS = ("strict", "quantile", "argmax")


@dataclass(frozen=True, slots=True)
class Target:
    """What is wanted of the file: `decoding` "strict" certifies it, with at most `budget` bytes or
    at least this `mean`; "quantile" takes `tau` and "argmax" the likeliest class, uncertified."""

    decoding: str = "strict"
    budget: int | None = None
    mean: float | None = None
    tau: float = 0.99
    temperature: float = 1.0
    share: int = 1

    def __post_init__(self) -> None:
        if self.decoding not in DECODINGS:
            known = ", ".join(DECODINGS)
            raise ValueError(f"unknown decoding '{self.decoding}'; choose one of {known}")
        if self.budget is not None and self.mean is not None:
            raise ValueError("give a budget or a mean, not both")
        if self.share < 1 or not 0 <= self.tau <= 1:
            raise ValueError("tau is a probability and share at least 1")


@dataclass(frozen=True, slots=True)
class Learned:
    """`exceptions` are how many indices were lowered, counted once per step down."""

    file: LearnedFile
    certificate: Certificate
    num_bytes: int
    exceptions: int
    curve: tuple[Window, ...]
    seconds: float


def learn(
    database: PatternDatabase,
    space: Puzzle | Task,
    output: str | os.PathLike[str],
    options: LearnOptions,
    target: Target | None = None,
    sweeping: SweepOptions | None = None,
    report: Report | None = None,
    deadline: float | None = None,
    start: Network | None = None,
) -> Learned | None:
    """Learn a database and write its file; None if the deadline came first. `start` is a network to
    go on from, whose shape and bits then replace those of the options.

    A stopped or killed run goes on from `output`.partial. Raises ValueError, FloatingPointError and
    OSError.
    """
    from hstar.training.train import choose_device

    started = time.monotonic()
    states = states_to_learn(database, space, choose_device(options.device))
    if start is not None:
        options = options_from(start, options)
    training = Training(states, options, start)
    partial = Path(f"{os.fspath(output)}.partial")
    if not training.run(partial, report, deadline):
        return None
    sweep = Sweep(database, space, sweeping or SweepOptions())
    file, certificate = finish(training, database, sweep, target or Target())
    size = write_learned(output, file)
    partial.unlink(missing_ok=True)
    exceptions = sum(one.count for one in file.model.exceptions)
    seconds = time.monotonic() - started
    return Learned(file, certificate, size, exceptions, tuple(training.curve), seconds)


def finish(
    training: Training, database: PatternDatabase, sweep: AnySweep, target: Target
) -> tuple[LearnedFile, Certificate]:
    """The integer network, decoded as wanted and swept over every state."""
    states = training.states
    network = export(training.rounded())
    plain = LearnedDatabase(
        layout=replace(database.layout),
        network=network,
        decoding=Decoding.argmax(),
        values=states.values,
        base=database.base,
    )
    _check_core(plain, training)
    notes = {"options": training.options.to_dict()}
    if target.decoding != "strict":
        if target.decoding == "quantile":
            decoding = Decoding.quantile(target.tau, network.num_classes, target.temperature)
            plain = replace(plain, decoding=decoding)
        certificate = certify(plain, database, sweep)
        return LearnedFile(plain, certificate.to_dict(), notes), certificate

    def size_of(model: LearnedDatabase) -> int:
        return len(to_bytes(LearnedFile(model, _longest(model, states), notes)))

    strict, _ = make_strict(
        plain,
        sweep,
        size_of,
        budget=target.budget,
        mean=target.mean,
        temperature=target.temperature,
        share=target.share,
    )
    certificate = certify(strict, database, sweep)
    if certificate.overestimates:
        raise RuntimeError(
            f"{certificate.overestimates} states are still overestimated; this is a bug in hstar"
        )
    return LearnedFile(strict, certificate.to_dict(), notes), certificate


def _longest(model: LearnedDatabase, states: PatternStates) -> dict[str, object]:
    """A certificate that is at least as long as the real one will be."""
    most = states.cells
    certificate = Certificate(
        space=model.layout.space,
        pattern=list(model.layout.pattern),
        states=most,
        unreached=most,
        overestimates=0,
        total=most * max(model.values[-1], 1),
        exact_total=most * max(model.values[-1], 1),
        histogram=[[value, most] for value in model.values],
        table_sha256="0" * 64,
        **digests(model),
    )
    return {**certificate.to_dict(), "mean": 1.0000000000000002}


def _check_core(model: LearnedDatabase, training: Training) -> None:
    """The core must compute what the definition says."""
    index = training.draws.at(0)[:CHECKED_STATES]
    digits = training.states.digits(index).cpu().numpy().astype(np.int32)
    if not np.array_equal(model.network.forward(digits), emulate(model.network, digits)):
        raise RuntimeError("the core computes another network; this is a bug in hstar")


def agreement(training: Training, batch: int = 4096) -> tuple[float, float]:
    """Of the trained network and its integers: the share of states on whose likeliest class they
    agree, and the mean distance of their logits, in nats."""
    net = training.rounded()
    index = training.draws.at(0)[:batch]
    digits = training.states.digits(index)
    with torch.no_grad():
        logits = net(training._inputs(index).float()).cpu().numpy()
    whole = export(net).forward(digits.cpu().numpy().astype(np.int32)) / LOGIT_UNITS
    same = logits.argmax(axis=1) == whole.argmax(axis=1)
    return float(np.mean(same)), float(np.mean(np.abs(logits - whole)))
