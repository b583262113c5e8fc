"""RTDP with a Neural Logic Machine, a second time: plain Python, and torch in double precision."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hstar.planning.heuristics import make_heuristic
from hstar.planning.task import REACH_GOAL, Task
from hstar.slots.features.atoms import ATOMS, Batch
from hstar.slots.models.nlm import NLMConfig
from hstar.slots.models.nlm_network import NLM, Ragged, dense_inputs
from hstar.training.reinforcement.rtdp import RtdpSettings

State = tuple[int, ...]
Place = tuple[int, State]  # problem and state
Vector = NDArray[np.float32]

MASK = 2**64 - 1


class SplitMix64:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, count: int) -> int:
        return ((self.bits() >> 32) * count) >> 32

    def unit(self) -> float:
        return (self.bits() >> 11) * 2.0**-53


class World:
    """One problem. `expanded` are the states whose successors were looked at."""

    def __init__(self, task: Task, base: str, lower: str) -> None:
        self.task = task
        make = {name: make_heuristic(task, name, cost="one") for name in {base, lower} - {"none"}}
        self.base, self.bound = make.get(base), make.get(lower)
        self.start: State = tuple(map(int, task.initial_state))
        self.expanded: set[State] = set()
        self._steps: dict[State, list[State]] = {}
        self._h: dict[State, float] = {}
        self._goal: dict[State, bool] = {}

    def steps(self, s: State) -> list[State]:
        if s not in self._steps:
            ops, rows = self.task.successors(row(s))
            self._steps[s] = [
                tuple(map(int, after))
                for op, after in zip(ops, rows, strict=True)
                if self.task.operator_name(int(op)) != REACH_GOAL
            ]
        return self._steps[s]

    def expand(self, s: State) -> list[State]:
        self.expanded.add(s)
        return self.steps(s)

    def is_goal(self, s: State) -> bool:
        if s not in self._goal:
            self._goal[s] = self.task.satisfies_goal(row(s))
        return self._goal[s]

    def h(self, s: State) -> float:
        if s not in self._h:
            known = 0.0 if self.base is None else float(self.base.evaluate(row(s)[None])[0])
            self._h[s] = 0.0 if self.is_goal(s) else known
        return self._h[s]

    def lower(self, s: State) -> float:
        return 1.0 if self.bound is None else max(1.0, float(self.bound.evaluate(row(s)[None])[0]))

    def is_stuck(self, s: State) -> bool:
        return not self.is_goal(s) and (math.isinf(self.h(s)) or not self.steps(s))

    def is_dead_end(self, s: State) -> bool:
        if self.is_goal(s):
            return False
        if self.is_stuck(s):
            return True
        return s in self.expanded and all(map(self.is_stuck, self.steps(s)))

    def is_over(self, s: State) -> bool:
        return self.is_goal(s) or self.is_dead_end(s)


def row(s: State) -> NDArray[np.int32]:
    return np.array(s, np.int32)


class Bucket:
    def __init__(self, capacity: int) -> None:
        self.capacity, self.fresh = capacity, 0
        self.places: list[Place] = []

    def push(self, place: Place) -> None:
        self.places = [*self.places, place][-self.capacity :]
        self.fresh = min(self.fresh + 1, len(self.places))

    def draw(self, count: int, fresh_first: bool, random: SplitMix64) -> list[Place]:
        newest_first = self.places[::-1]
        taken = self.fresh if fresh_first else 0
        self.fresh = 0
        size = len(newest_first)
        wanted = max(taken, min(count, size))
        for i in range(taken, wanted):
            j = i + random.below(size - i)
            newest_first[i], newest_first[j] = newest_first[j], newest_first[i]
        return newest_first[:wanted]


class Reference:
    """The same arguments as training/reinforcement/rtdp.py, and the weights to begin with."""

    def __init__(
        self,
        tasks: Sequence[Task],
        settings: RtdpSettings,
        seed: int,
        network: NLMConfig,
        theta: Vector,
    ) -> None:
        self.settings = self.shaping = settings
        lower = settings.lower if settings.bounded else "none"
        self.worlds = [World(task, settings.base, lower) for task in tasks]
        features = ATOMS.configure(
            tasks, {"breadth": settings.breadth, "types": settings.types}, "one"
        )
        self.encode = [ATOMS.encoder(features, task) for task in tasks]
        names = [tuple(task.problem.objects) for task in tasks]
        kinds = {"one": [()] * len(names), "objects": list(map(len, names)), "names": names}
        of: list[Any] = kinds[settings.buckets]
        self.bucket_of = [sorted(set(of)).index(kind) for kind in of]
        self.buckets = [Bucket(settings.capacity) for _ in set(of)]
        self.network = NLM(network)
        self.random = SplitMix64(seed)
        self.theta, self.target, self.average = theta.copy(), theta.copy(), theta.copy()
        self.mean, self.square = np.zeros_like(theta), np.zeros_like(theta)
        self.known: dict[str, dict[Place, float]] = {"online": {}, "target": {}}
        self.upper: dict[Place, float] = {}
        self.steps = self.updates = self.episodes = self.goals = 0
        self.loss = self.returns = 0.0

    # The network

    def outputs(self, places: Sequence[Place], theta: torch.Tensor) -> torch.Tensor:
        batch = Batch.concatenate([self.encode[p](row(s)[None]) for p, s in places])
        ragged = Ragged(batch.sizes, self.settings.breadth, torch.device("cpu"))
        dense = dense_inputs(batch, self.network.config.channels)
        self.network.theta = torch.nn.Parameter(theta)
        inputs = [torch.from_numpy(x).double() for x in dense]
        return self.network.forward_dense(inputs, ragged)[:, 0]

    def evaluate(self, places: Sequence[Place], by: str) -> None:
        known = self.known[by]
        unknown = list(dict.fromkeys(place for place in places if place not in known))
        if unknown:
            theta = self.theta if by == "online" else self.target
            with torch.no_grad():
                found = self.outputs(unknown, torch.from_numpy(theta).double()).numpy()
            known.update(zip(unknown, found.astype(np.float32).tolist(), strict=True))

    # Values

    def phi(self, p: int, s: State) -> float:
        world = self.worlds[p]
        return 0.0 if world.is_goal(s) else float(self.shaping.phi(world.h(s)))

    def dead_end_value(self) -> float:
        return 0.0 if self.shaping.reward == "goal" else -self.shaping.limit

    def reward(self, reaches_goal: bool) -> float:
        if self.shaping.reward == "goal":
            return float(reaches_goal)
        return 0.0 if self.shaping.reward == "free-last" and reaches_goal else -1.0

    def q(self, p: int, s: State, by: str) -> list[float]:
        world, gamma = self.worlds[p], self.shaping.gamma
        after = world.expand(s)
        self.evaluate([(p, t) for t in after if not world.is_over(t)], by)
        found = []
        for t in after:
            rest = self.phi(p, t)  # of the unshaped value after the step, less what is known of it
            if world.is_dead_end(t):
                value = self.dead_end_value() - rest
            else:
                value = 0.0 if world.is_goal(t) else self.known[by][p, t]
            shaped = self.reward(world.is_goal(t)) + gamma * rest - self.phi(p, s)
            found.append(shaped + gamma * value)
        return found

    def backup(self, p: int, s: State) -> float:
        world, settings = self.worlds[p], self.settings
        if world.is_goal(s):
            return 0.0
        if world.is_dead_end(s):
            return self.dead_end_value() - self.phi(p, s)
        q = np.array(self.q(p, s, "target" if settings.target_period else "online"))
        value = float(q.max())
        if not settings.max_backup and settings.temperature > 0:
            weights = np.exp((q - q.max()) / settings.temperature)
            value = float((weights * q).sum() / weights.sum())
        if not settings.bounded:
            return value
        best = min([self.steps_seen(p, s), *(1 + self.steps_seen(p, t) for t in world.steps(s))])
        self.upper[p, s] = best
        most = -float(self.shaping.discounted(world.lower(s)))
        least = -float(self.shaping.discounted(best))
        return min(max(value + self.phi(p, s), min(least, most)), most) - self.phi(p, s)

    def steps_seen(self, p: int, s: State) -> float:
        return 0.0 if self.worlds[p].is_goal(s) else self.upper.get((p, s), math.inf)

    # Episodes

    def run(self, until: int) -> None:
        for world in self.worlds:
            world.expand(world.start)
        self.last = self.settings.updates
        while self.steps < min(until, self.last):
            problem = self.random.below(len(self.worlds))
            (self.search if self.settings.searches else self.rollout)(problem)

    def rollout(self, p: int) -> None:
        world = self.worlds[p]
        s = world.start
        way, earned = [s], 0.0
        if not world.is_over(s):
            self.push(p, s)
        while len(way) <= self.settings.episode_steps and not world.is_over(s):
            if self.steps >= self.last:
                break
            s = world.steps(s)[self.choose(self.q(p, s, "online"))]
            earned += self.shaping.gamma ** (len(way) - 1) * self.reward(world.is_goal(s))
            way.append(s)
            self.observe(p, s)
        self.finish(p, way if world.is_goal(s) else None, earned)

    def choose(self, q: list[float]) -> int:
        best, tau = q.index(max(q)), self.settings.temperature
        if not self.settings.samples_actions or tau == 0:
            return best
        weights = [math.exp((one - q[best]) / tau) for one in q]
        left = sum(weights) * self.random.unit()
        for action, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return action
        return best

    def search(self, p: int) -> None:
        world, start = self.worlds[p], self.worlds[p].start
        parent: dict[State, State | None] = {start: None}
        goal = start if world.is_goal(start) else None
        heap = [] if world.is_dead_end(start) else [(0.0, 0, start)]
        pushed, expansions = len(heap), 0
        while heap and goal is None and expansions < self.settings.episode_steps:
            if self.steps >= self.last:
                break
            s = heapq.heappop(heap)[2]
            expansions += 1
            fresh = []
            for t in world.expand(s):
                if t not in parent:
                    parent[t] = s
                    if world.is_goal(t):
                        goal = t
                    elif not world.is_dead_end(t):
                        fresh.append(t)
            self.evaluate([(p, t) for t in fresh], "online")
            for t in fresh:
                cost = -self.known["online"][p, t] - self.phi(p, t)
                heapq.heappush(heap, (cost, pushed, t))
                pushed += 1
            self.observe(p, s)
        way: list[State] = []
        s_or_none = goal
        while s_or_none is not None:
            way.insert(0, s_or_none)
            s_or_none = parent[s_or_none]
        length = self.settings.episode_steps if goal is None else len(way) - 1
        free = self.shaping.reward == "free-last"
        earned = -float(self.shaping.discounted(max(0, length - free)))
        if self.shaping.reward == "goal":
            earned = self.shaping.gamma ** (length - 1)
        self.finish(p, way or None, earned)

    def finish(self, p: int, way: list[State] | None, earned: float) -> None:
        self.episodes += 1
        self.returns += earned
        if way is None:
            return
        self.goals += 1
        if self.settings.bounded:
            for left, s in enumerate(reversed(way)):
                self.upper[p, s] = min(self.steps_seen(p, s), left)

    def push(self, p: int, s: State) -> None:
        self.buckets[self.bucket_of[p]].push((p, s))

    def observe(self, p: int, s: State) -> None:
        if self.settings.learns_dead_ends or not self.worlds[p].is_dead_end(s):
            self.push(p, s)
        self.steps += 1
        if sum(len(bucket.places) for bucket in self.buckets) >= self.settings.least_states:
            self.update()

    # Learning

    def update(self) -> None:
        settings = self.settings
        ready = [b for b in self.buckets if len(b.places) >= settings.batch]
        ready = ready or [b for b in self.buckets if b.places]
        if not ready:
            return
        bucket = ready[self.random.below(len(ready))]
        batch = self.alive(bucket.draw(settings.batch, settings.fresh_first, self.random))
        for p, s in batch:
            if not self.worlds[p].is_over(s):
                self.worlds[p].expand(s)
        batch = self.alive(batch)
        if not batch:
            return
        # Once per state, however often it was drawn: backups learn bounds from each other.
        backups = {(p, s): self.backup(p, s) for p, s in dict.fromkeys(batch)}
        targets = torch.tensor([backups[place] for place in batch], dtype=torch.float64)
        outputs = self.outputs(batch, torch.from_numpy(self.theta).double())
        loss = (0.5 * (outputs - targets) ** 2).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        assert self.network.theta.grad is not None
        self.loss += float(loss.detach())
        self.updates += 1
        self.adam(self.network.theta.grad.numpy())
        self.known["online"] = {}
        if settings.target_period and self.updates % settings.target_period == 0:
            self.target = self.theta.copy()
            self.known["target"] = {}

    def alive(self, places: list[Place]) -> list[Place]:
        if self.settings.learns_dead_ends:
            return places
        return [(p, s) for p, s in places if not self.worlds[p].is_dead_end(s)]

    def adam(self, gradient: NDArray[np.float64]) -> None:
        self.mean = (0.9 * self.mean + 0.1 * gradient).astype(np.float32)
        self.square = (0.999 * self.square + 0.001 * gradient**2).astype(np.float32)
        mean = self.mean / (1 - 0.9**self.updates)
        square = self.square / (1 - 0.999**self.updates)
        step = self.settings.learning_rate * mean / (np.sqrt(square) + 1e-8)
        kept = 1 - self.settings.learning_rate * self.settings.weight_decay
        self.theta = (kept * self.theta - step).astype(np.float32)
        if self.settings.average > 0:
            take = max(1 - self.settings.average, 9 / (self.updates + 9))
            self.average = (self.average + take * (self.theta - self.average)).astype(np.float32)
        else:
            self.average = self.theta
