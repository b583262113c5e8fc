"""Learning for one problem: sample backwards from its goal, train small networks, choose by search.

    sample   sets of facts with upper bounds on their distance to the goal (hstar.teachers.backward)
    train    one small network per candidate, in the core (hstar.training.native)
    choose   short searches from states that random walks reach, of each candidate and of the
             default planner

A candidate is a teacher with its options. Candidates are tried in turn, and then again with other
seeds, until the time is spent. Each finished one is kept in a journal, so that a killed run goes on
with the next.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hstar import _core
from hstar.features.facts import FACTS, fact_rows
from hstar.features.vocabulary import domain_hash
from hstar.learned.file import ModelFile, from_bytes, to_bytes
from hstar.learned.heuristic import LearnedHeuristic
from hstar.learning.trials import Score, Trial, run_trials, sentence, trial_states
from hstar.pddl import Problem
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.search import STRONGEST, SearchOptions
from hstar.spaces.task import ground
from hstar.teachers.backward import FactSets, check_goal, sample_focused, sample_rollouts
from hstar.training.native import FactRows, MlpOptions, Trained, train_mlp

SAMPLERS: dict[str, Callable[..., FactSets]] = {
    "regression": sample_rollouts,
    "fsm": sample_focused,
}

END_SHARE = 0.02  # of the time left to the whole program, to write the result


@dataclass(frozen=True, slots=True)
class Candidate:
    """A teacher with its options."""

    teacher: str
    options: Mapping[str, Any]

    @property
    def label(self) -> str:
        said = [f"{name}={value}" for name, value in self.options.items() if name != "states"]
        return f"{self.teacher}({', '.join(said)})" if said else self.teacher


MOST_CANDIDATES = 1000
LEAST_SECONDS = 12.0  # for a candidate to be worth trying
# Different domains reward different teachers, so each kind has its turn.
CANDIDATES = (
    Candidate("regression", {}),
    Candidate("fsm", {"completion": "variables"}),
    Candidate(
        "regression",
        {"rollouts": 100, "length": 200, "completion": "variables", "h2": True, "random": 0.2},
    ),
    Candidate("fsm", {"completion": "variables", "length": 200, "stride": 4}),
)


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """`seconds` for everything. Of these, trials get a share; candidates divide the rest evenly."""

    seconds: float = 120.0
    states: int = 100_000
    network: MlpOptions = dataclasses.field(
        default_factory=lambda: MlpOptions(
            hidden=128,
            width=128,
            learning_rate=1e-3,
            batch=256,
            patience=10,
            output="none",
            init="he",
            precision="int16",
        )
    )
    candidates: tuple[Candidate, ...] = CANDIDATES
    trials: int = 10
    trial_share: float = 0.25
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning came to. `file` and `score` are None if no network was trained in time."""

    file: ModelFile | None
    score: Score | None
    default: Score
    finished: int
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    @property
    def pays(self) -> bool:
        return self.score is not None and self.score.beats(self.default)

    def sentence(self) -> str:
        return sentence(self.score, self.default)

    def to_dict(self) -> dict[str, Any]:
        """For JSON output."""
        return {
            "pays": self.pays,
            "states": len(self.default.trials),
            "learned_solved": self.score.solved if self.score is not None else 0,
            "learned_seconds": self.score.seconds if self.score is not None else None,
            "default_solved": self.default.solved,
            "default_seconds": self.default.seconds,
            "candidates": self.finished,
            "seconds": self.seconds,
            "verdict": self.sentence(),
        }


Say = Callable[[str], None]
Kept = Callable[[str], bytes | None]
Keep = Callable[[str, bytes], None]


class InstanceLearner:
    """Learns for one problem within a budget. `read` and `write` are those of a journal."""

    def __init__(
        self,
        problem: Problem,
        options: LearnOptions,
        budget: Budget,
        say: Say,
        read: Kept = lambda _: None,
        write: Keep = lambda _name, _content: None,
    ) -> None:
        self.options, self.budget, self.say = options, budget, say
        self.read, self.write = read, write
        self.problem = problem
        self.start = _core.monotonic_seconds()
        self.deadline = self.start + options.seconds
        if budget.deadline:
            left = budget.deadline - self.start
            self.deadline = min(self.deadline, self.start + (1 - END_SHARE) * left)
        self.own = Budget(self.deadline, budget.memory_bytes)
        self.task = ground(problem, budget=self.own)
        self.any_task = ground(problem, keep_constant=True, budget=self.own)
        check_goal(self.any_task)
        self.features = FACTS.configure([self.any_task], {}, "one")
        rows, _ = fact_rows(self.features, self.any_task)
        self.row_of_fact = rows
        self.states = trial_states(self.task, options.trials, options.seed, self.own)
        seconds = self.deadline - self.start
        self.planned = min(len(options.candidates), max(1, int(seconds / LEAST_SECONDS)))
        self.usual_seconds = seconds / (self.planned + 1)
        self.trial_seconds = options.trial_share * self.usual_seconds / max(1, len(self.states))

    def run(self) -> Learned:
        """Try all candidates that the time allows, or that there is time for until Ctrl-C.

        Raises OutOfResources for other limits, and for Ctrl-C before a network was trained.
        """
        default = self._kept_score("default") or self._judge("default", "default", STRONGEST)
        best: tuple[Score, ModelFile] | None = None
        finished = 0
        interrupted = False
        try:
            for number in range(MOST_CANDIDATES):
                if number >= self.planned and self._seconds_left() < self.usual_seconds:
                    break
                name = f"candidate-{number}"
                found = self._kept(name) or self._try(name, number, best)
                if found is None:
                    if number >= self.planned:
                        break
                    continue
                finished += 1
                if best is None or found[0].beats(best[0]):
                    best = found
        except KeyboardInterrupt:  # between two calls of the core
            interrupted = True
        except OutOfResources as error:
            if error.status not in ("out of time", "interrupted"):
                raise
            interrupted = error.status == "interrupted"
        seconds = _core.monotonic_seconds() - self.start
        if best is None:
            if interrupted:
                raise stopped("interrupt")
            return Learned(None, None, default, finished, seconds)
        learned = Learned(best[1], best[0], default, finished, seconds, interrupted)
        best[1].metadata["training"]["verdict"] = learned.sentence()
        return learned

    def _seconds_left(self) -> float:
        return self.deadline - _core.monotonic_seconds()

    def _try(
        self, name: str, number: int, best: tuple[Score, ModelFile] | None
    ) -> tuple[Score, ModelFile] | None:
        """Sample, train and judge; each of the candidates planned gets the same time.

        None if sampling leaves no time to train.
        """
        candidates = self.options.candidates
        candidate = candidates[number % len(candidates)]
        trials = self.trial_seconds * len(self.states)
        share = self._seconds_left() / max(1, self.planned - number)
        deadline = _core.monotonic_seconds() + share - trials
        seed = self.options.seed + number // len(candidates)
        sets = SAMPLERS[candidate.teacher](
            self.any_task,
            self.own,
            **{"states": self.options.states, "seed": seed, **candidate.options},
        )
        if _core.monotonic_seconds() >= deadline:
            self.say(f"{candidate.label}: no time left to train")
            return None
        trained = train_mlp(
            self._rows(sets),
            self.features["width"],
            self.options.network,
            self.options.seed + number,
            deadline,
            memory_bytes=self.budget.memory_bytes,
        )
        if trained.stopped not in (None, "time"):
            raise stopped(trained.stopped)
        file = self._file(candidate, trained, len(sets))
        self.write(name, to_bytes(file))
        what = f"{candidate.label}, {len(trained.curve)} epochs"
        return self._judge(name, what, search_with(file), best and best[0]), file

    def _rows(self, sets: FactSets) -> FactRows:
        """The atoms that are inputs, of each set."""
        inputs = self.row_of_fact[sets.facts]
        is_input = inputs >= 0
        padded = np.append(is_input, False)  # a last set without facts starts behind the others
        counts = np.add.reduceat(padded, sets.starts[:-1], dtype=np.int64)
        counts[np.diff(sets.starts) == 0] = 0
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        lower = np.full(len(sets), np.nan, np.float32)
        return FactRows(self.features["width"], starts, inputs[is_input], sets.h, lower, sets.upper)

    def _judge(
        self, name: str, what: str, options: SearchOptions, least: Score | None = None
    ) -> Score:
        score = run_trials(self.task, self.states, options, self.trial_seconds, self.own, least)
        self.write(f"{name}.json", _score_text(score))
        self.say(f"{what}: {score.text()}")
        return score

    def _kept_score(self, name: str) -> Score | None:
        text = self.read(f"{name}.json")
        if text is None:
            return None
        return Score(tuple(Trial(**fields) for fields in json.loads(text)))

    def _kept(self, name: str) -> tuple[Score, ModelFile] | None:
        score, content = self._kept_score(name), self.read(name)
        if score is None or content is None:
            return None
        return score, from_bytes(content, name)

    def _file(self, candidate: Candidate, trained: Trained, states: int) -> ModelFile:
        network = self.options.network
        metadata: dict[str, Any] = {
            "form": "float",
            "features": {"name": "facts", "config": self.features},
            "model": {"name": "mlp", "config": network.config(self.features["width"])},
            "objective": {"name": network.objective},
            "decode": {"name": "value", "base": "none", "lower": "none", "cap": None},
            "cost": "one",
            "domain": {
                "name": self.problem.domain.name,
                "hash": domain_hash(self.problem.domain),
            },
            "training": {
                "teacher": {"name": candidate.teacher, **candidate.options},
                "states": states,
                **trained.summary(),
            },
            "certificate": None,
        }
        return ModelFile(json.loads(json.dumps(metadata)), trained.tensors())


def search_with(file: ModelFile) -> SearchOptions:
    """Greedy search with a learned heuristic."""
    return SearchOptions(heuristic=LearnedHeuristic(file, "learned"), algorithm="gbfs", cost="one")


def _score_text(score: Score) -> bytes:
    return json.dumps([dataclasses.asdict(trial) for trial in score.trials]).encode()
