"""Learning for one problem: make networks for its goal, and choose by search.

Candidates (hstar.learning.networks) are tried in turn, and then again with other seeds, until the
time is spent. Short searches from states that random walks reach show what a network is worth, and
which way of searching suits it. At the end, the best network searches from other such states, and
so has the default planner: a score on the states that chose the network would flatter it. Each
finished candidate is kept in a journal, so that a killed run goes on with the next.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar import _core
from hstar.learning.networks import CANDIDATES, Candidate, NetworkMaker, Say
from hstar.learning.trials import Score, Trial, run_trials, sentence, trial_states
from hstar.pddl import Problem
from hstar.planning.specification import DEFAULT_PLANNER, SearchSpecification
from hstar.planning.task import ground
from hstar.runtime.resources import Budget, OutOfResources, stopped
from hstar.slots.learned_heuristic import LearnedHeuristic
from hstar.slots.model_file import ModelFile, from_bytes, to_bytes
from hstar.training.fact_network import NETWORK
from hstar.training.native import MlpOptions

END_SHARE = 0.02  # of the time left to the whole program, to write the result
MOST_CANDIDATES = 1000
LEAST_SECONDS = 8.0  # for a candidate to be worth trying

Way = Mapping[str, Any]  # of searching: what SearchSpecification.to_dict has
# The first is used if no trial says more: it solved the most in longer searches. With one network
# for each of 20 tasks, plain greedy search solved 16 of 20 states, and the three ways together 19.
WAYS: tuple[Way, ...] = (
    {"algorithm": "gbfs", "preferred_by": "ff", "batch": 32},
    {"algorithm": "gbfs"},
    {"algorithm": "beam"},
)


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """`seconds` for everything. Of these, trials get a share; candidates divide the rest evenly."""

    seconds: float = 120.0
    states: int = 100_000
    network: MlpOptions = NETWORK
    candidates: tuple[Candidate, ...] = CANDIDATES
    ways: tuple[Way, ...] = WAYS
    trials: int = 8
    trial_share: float = 0.35
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Learned:
    """What learning came to. `file` is None if no network was trained in time, `score` also if it
    was not compared with the default planner, after Ctrl-C."""

    file: ModelFile | None
    score: Score | None
    default: Score
    finished: int
    seconds: float
    interrupted: bool = False  # by Ctrl-C

    @property
    def pays(self) -> bool:
        return self.score is not None and self.score.clearly_beats(self.default)

    def sentence(self) -> str:
        if self.file is not None and self.score is None:
            return "the best network so far is kept; it was not compared with the default planner"
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
            "cost_ratio": self.score.cost_ratio(self.default) if self.score is not None else None,
            "candidates": self.finished,
            "seconds": self.seconds,
            "verdict": self.sentence(),
        }


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
        self.start = _core.monotonic_seconds()
        self.deadline = self.start + options.seconds
        if budget.deadline:
            left = budget.deadline - self.start
            self.deadline = min(self.deadline, self.start + (1 - END_SHARE) * left)
        self.own = Budget(self.deadline, budget.memory_bytes)
        self.task = ground(problem, budget=self.own)
        self.maker = NetworkMaker(problem, options.network, options.states, self.own, say)
        count, seed = options.trials, options.seed
        self.states = trial_states(self.task, count, seed, self.own)  # to choose by
        other = trial_states(self.task, 2 * count, seed + 1, self.own, but=self.states)
        self.verdict_states = other[:count] if len(other) else self.states  # a tiny task has few
        seconds = self.deadline - self.start
        self.planned = planned_candidates(options.candidates, seconds)
        self.usual_seconds = seconds / (self.planned + 1)
        trials = max(1, len(self.states)) * len(options.ways)
        self.trial_seconds = options.trial_share * self.usual_seconds / trials

    def run(self) -> Learned:
        """Try all candidates that the time allows, or that there is time for until Ctrl-C.

        Raises OutOfResources for other limits, and for Ctrl-C before a network was trained.
        """
        default = self._kept_score("default")
        if default is None:
            default = self._judge(DEFAULT_PLANNER, self.verdict_states)
            self.write("default.json", _score_text(default))
            self.say(f"default: {default.text()}")
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
            is_lost = error.status != "out of memory" or best is None
            if error.status not in ("out of time", "interrupted") and is_lost:
                raise
            interrupted = error.status == "interrupted"
        if best is None:
            if interrupted:
                raise stopped("interrupt")
            return Learned(None, None, default, finished, self._seconds_gone())
        score = None
        if not interrupted:
            try:
                score = self._judge(search_with(best[1]), self.verdict_states)
            except OutOfResources as error:
                if error.status != "interrupted":
                    raise
                interrupted = True
        learned = Learned(best[1], score, default, finished, self._seconds_gone(), interrupted)
        best[1].metadata["training"]["verdict"] = learned.sentence()
        return learned

    def _seconds_left(self) -> float:
        """For candidates; the verdict needs the rest."""
        verdict = self.trial_seconds * len(self.verdict_states)
        return self.deadline - verdict - _core.monotonic_seconds()

    def _seconds_gone(self) -> float:
        return _core.monotonic_seconds() - self.start

    def _try(
        self, name: str, number: int, best: tuple[Score, ModelFile] | None
    ) -> tuple[Score, ModelFile] | None:
        """Make a network and judge it; each of the candidates planned gets the same time.

        Until a network has solved something, each is tried in every way of searching; from then on
        in the way that was best. None if there was no time to train.
        """
        candidates = self.options.candidates
        candidate = candidates[number % len(candidates)]
        ways = self.options.ways if best is None or not best[0].solved else [search_of(best[1])]
        trials = self.trial_seconds * len(self.states) * len(ways)
        share = self._seconds_left() / max(1, self.planned - number)
        deadline = _core.monotonic_seconds() + share - trials
        seed = self.options.seed + number // len(candidates)
        file = self.maker.make(candidate, seed, deadline, self.budget.memory_bytes)
        if file is None:
            return None
        epochs = len(file.metadata["training"]["curve"])
        least = best and best[0]
        scores: list[Score] = []
        for way in ways:
            what = f"{candidate.label}, {epochs} epochs, {way_text(way)}"
            options = search_with(with_search(file, way))
            score = self._judge(options, self.states, least)
            self.say(f"{what}: {score.text()}")
            scores.append(score)
            least = score if least is None or score.beats(least) else least
        score, way = best_of(scores, ways)
        file = with_search(file, way)
        self.write(name, to_bytes(file))
        self.write(f"{name}.json", _score_text(score))
        return score, file

    def _judge(
        self, options: SearchSpecification, states: NDArray[np.int32], least: Score | None = None
    ) -> Score:
        return run_trials(self.task, states, options, self.trial_seconds, self.own, least)

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


def planned_candidates(candidates: Sequence[Candidate], seconds: float) -> int:
    """How many of the candidates are worth trying in so many seconds."""
    return min(len(candidates), max(1, int(seconds / LEAST_SECONDS)))


def search_of(file: ModelFile) -> Way:
    """The way of searching that a file names."""
    return dict(file.metadata["search"])


def with_search(file: ModelFile, way: Way) -> ModelFile:
    """The model, to be used in a way of searching. Labels are steps, so every action costs 1."""
    return ModelFile({**file.metadata, "search": {"cost": "one", **way}}, file.tensors)


def search_with(file: ModelFile) -> SearchSpecification:
    """How to search with a model, in its own way."""
    return SearchSpecification(heuristic=LearnedHeuristic(file, "learned"), **search_of(file))


def way_text(way: Way) -> str:
    """Such as "gbfs, preferred by ff"."""
    said = {
        "heuristic": " with {}",
        "preferred_by": ", preferred by {}",
        "look_ahead": ", look-ahead",
        "ranked": ", ranked",
    }
    known = (text.format(way[name]) for name, text in said.items() if way.get(name))
    return "".join([str(way["algorithm"]), *known])


def best_of(scores: Sequence[Score], ways: Sequence[Way]) -> tuple[Score, Way]:
    """The first that no other beats."""
    best = 0
    for number, score in enumerate(scores):
        if score.beats(scores[best]):
            best = number
    return scores[best], ways[best]


def _score_text(score: Score) -> bytes:
    return json.dumps([dataclasses.asdict(trial) for trial in score.trials]).encode()
