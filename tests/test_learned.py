"""Learned heuristics in search: their values, what must not change them, and files that are bad."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_domains
import torch
from hard_tasks import write_task
from hstar.learned.modelfile import ModelFile, ModelFileError, read_model, write_model
from hstar.objectives.losses import BASES, LOWER_BOUNDS, Objective, Targets, decoded
from numpy.typing import NDArray
from program import SECONDS, environment
from safetensors.numpy import save_file

import hstar
from hstar.cli import run as run_cli
from hstar.features.vocabulary import domain_hash
from hstar.heuristics import make_heuristic
from hstar.learned.heuristic import DECODERS, LearnedHeuristic, load_model
from hstar.models import KINDS, TaskStates
from hstar.pddl import UnsupportedPddlError, parse
from hstar.pddl.validate import validate
from hstar.search import SEARCHES, search
from hstar.spaces.task import Task, ground, load_task

TINY: dict[str, dict[str, Any]] = {
    "nlm": {"width": 4, "depth": 4},
    "hgn": {"hidden": 4, "steps": 2},
    "linear": {},
}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    f"nlm {activation}{' dense' * dense}{' with loops' * (not exclude_self)}": (
        "nlm",
        {"activation": activation, "dense": dense, "exclude_self": exclude_self},
    )
    for activation in ("relu", "sigmoid")
    for dense in (False, True)
    for exclude_self in (False, True)
}
NETWORKS["hgn"] = ("hgn", {})

States = NDArray[np.int32]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def untrained(
    kind: str,
    task: Task,
    objective: Objective,
    cost: str = "one",
    seed: int = 0,
    **options: Any,
) -> LearnedHeuristic:
    """A model for the domain of a task with random weights, large enough to make a difference."""
    chosen = {**TINY[kind], **options}
    config = KINDS[kind].configure(task.problem.domain, [task], objective.outputs, chosen)
    network = KINDS[kind].build(config, torch.Generator().manual_seed(seed))
    metadata = {
        "model": kind,
        "config": config,
        "objective": objective.to_dict(),
        "decode": objective.decode,
        "cost": cost,
        "domain": {"name": task.problem.domain.name, "hash": domain_hash(task.problem.domain)},
        "training": {},
    }
    scale = 0.2 if kind == "linear" else 2.0
    tensors = {name: scale * tensor.numpy() for name, tensor in network.state_dict().items()}
    return LearnedHeuristic(ModelFile(metadata, tensors), f"{kind}.safetensors")


def values(heuristic: LearnedHeuristic, task: Task, states: States) -> NDArray[np.float32]:
    bound = heuristic.bind(task)
    evaluate: Callable[[States], NDArray[np.float32]] = getattr(bound, "evaluate", bound)
    return evaluate(states)


def read_task(folder: Path, domain: str, problem: str) -> Task:
    return load_task(*write_task(folder, domain, problem))


def random_walk(task: Task, rng: random.Random, length: int) -> States:
    states = [task.initial_state]
    for _ in range(length):
        _, successors = task.successors(states[-1])
        if len(successors) == 0:
            break
        states.append(successors[rng.randrange(len(successors))])
    return np.stack(states)


# -- what must not matter: names, orders, objects that nothing is said about

# A constant, subtypes, a quantified effect and precondition, a negative goal.
ODD = """(define (domain odd) (:requirements :adl)
(:types room thing - object tool - thing) (:constants hall - room)
(:predicates (at ?t - thing ?r - room) (lit ?r - room) (door ?a ?b - room) (clean ?t - thing))
(:action carry :parameters (?t - thing ?a ?b - room)
  :precondition (and (at ?t ?a) (door ?a ?b) (lit hall))
  :effect (and (at ?t ?b) (not (at ?t ?a)) (not (clean ?t))))
(:action switch :parameters (?r - room)
  :effect (and (when (lit ?r) (not (lit ?r))) (when (not (lit ?r)) (lit ?r))))
(:action wash :parameters (?k - tool) :precondition (at ?k hall)
  :effect (forall (?t - thing) (when (at ?t hall) (clean ?t)))))
"""


def odd(rng: random.Random) -> tuple[str, str]:
    rooms, things = ["r0", "r1"], ["t0", "t1", "k0"]
    init = [f"(at {t} {rng.choice(['hall', *rooms])})" for t in things]
    for room, other in (("hall", "r0"), ("r0", "r1"), ("r1", "hall")):
        init += [f"(door {room} {other})", f"(door {other} {room})"]
    goal = ["(at t0 r1)", "(clean t1)", "(not (lit hall))", "(not (clean k0))"]
    objects = "r0 r1 - room t0 t1 - thing k0 - tool"
    return ODD, small_domains.problem_text("odd", objects, init, goal)


DOMAINS = {**small_domains.ALL, "odd": odd}
# Of these types an object can exist that nothing is said about, and no action comes to it.
SPARE = {
    "blocks": "object",
    "gripper": "ball",
    "logistics": "package",
    "ferry": "car",
    "transport": "truck",
    "odd": "thing",
}


@dataclass(frozen=True, slots=True)
class Twins:
    """Two tasks that differ in nothing that matters, and the states of a walk through both."""

    task: Task
    states: States
    other: Task
    other_states: States


def renamed_atom(name: str, names: dict[str, str]) -> str:
    predicate, _, rest = name.rstrip(")").partition("(")
    return f"{predicate}({', '.join(names.get(part, part) for part in rest.split(', '))})"


def words(text: str, names: dict[str, str]) -> str:
    """PDDL with names replaced."""
    parts = text.replace("(", " ( ").replace(")", " ) ").split()
    return " ".join(names.get(part, part) for part in parts)


def twins(folder: Path, name: str, seed: int, change: str, length: int = 12) -> Twins:
    rng = random.Random(seed)
    domain, problem = DOMAINS[name](rng)
    task = read_task(folder, domain, problem)
    lifted = task.problem
    own = [o for o in lifted.objects if o not in lifted.domain.constants]
    names = {o: o for o in own}
    init = [f"({' '.join(atom)})" for atom in lifted.init]
    init += [f"(= ({' '.join(f)}) {value})" for f, value in lifted.function_values.items()]
    goal = [str(part) for part in getattr(lifted.goal, "parts", [lifted.goal])]
    if change == "names":
        names = dict(
            zip(own, rng.sample([f"x{i}" for i in range(len(own))], len(own)), strict=True)
        )
        assert [names[o] for o in sorted(own)] != sorted(names.values())
    elif change == "orders":
        before = list(own), list(init)
        for part in (own, init, goal):
            rng.shuffle(part)
        assert (own, init) != before
    objects = [f"{names[o]} - {lifted.objects[o][0]}" for o in own]
    if change == "objects":
        spare = [f"aa - {SPARE[name]}", f"zz - {SPARE[name]}"]
        objects = [spare[0], *objects, spare[1]]
    metric = "(:metric minimize (total-cost))" if lifted.uses_metric else ""
    text = small_domains.problem_text(
        lifted.domain.name,
        " ".join(objects),
        [words(item, names) for item in init],
        [words(item, names) for item in goal],
        metric,
    )
    other = read_task(folder, domain, text)
    states, other_states = random_walk(task, rng, length), [other.initial_state]
    for state in states[1:]:
        wanted = {renamed_atom(atom, names) for atom in task.atoms(state)}
        _, successors = other.successors(other_states[-1])
        other_states.append(next(s for s in successors if set(other.atoms(s)) == wanted))
    return Twins(task, states, other, np.stack(other_states))


CHANGES = [
    (name, change)
    for name in DOMAINS
    for change in ("names", "orders", "objects")
    if change != "objects" or name in SPARE
]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_names_orders_and_unused_objects_change_no_value(
    name: str, change: str, tmp_path: Path
) -> None:
    """h^FF and LM-cut break ties by the order of operators, so what networks are added to and
    bounded by are here hadd and hmax, which do not."""
    differ = 0
    for seed in range(2):
        pair = twins(tmp_path, name, seed, change)
        for base, lower, loss in (
            ("none", "none", "l-gbfs"),
            ("hadd", "hmax", "truncated-gaussian"),
        ):
            for kind, options in NETWORKS.values():
                objective = Objective(loss, base=base, lower=lower)
                heuristic = untrained(kind, pair.task, objective, seed=seed, **options)
                expected = values(heuristic, pair.task, pair.states)
                found = values(heuristic, pair.other, pair.other_states)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
                differ += np.ptp(expected) > 1e-3
    assert differ > 1.5 * len(NETWORKS)  # of 4 times as many: the networks do tell states apart


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_the_linear_model_sees_its_features_and_nothing_else(
    name: str, change: str, tmp_path: Path
) -> None:
    same = total = 0
    for seed in range(2):
        pair = twins(tmp_path, name, seed, change)
        heuristic = untrained("linear", pair.task, Objective("gaussian", base="none"), seed=seed)
        features = make_heuristic(pair.task, "ff", "one").plan_features(pair.states)
        other = make_heuristic(pair.other, "ff", "one").plan_features(pair.other_states)
        agree = (features == other).all(axis=1)
        expected = values(heuristic, pair.task, pair.states)
        found = values(heuristic, pair.other, pair.other_states)
        np.testing.assert_allclose(found[agree], expected[agree], rtol=1e-6)
        same, total = same + int(agree.sum()), total + len(agree)
    assert same > total / 2


# -- values


# Stepping onto thin ice breaks it, and some ways need it whole; tolls make costs differ.
ICE = """(define (domain ice) (:requirements :action-costs)
(:predicates (at ?x) (path ?x ?y) (thin ?x ?y) (whole)) (:functions (total-cost) (toll ?x))
(:action walk :parameters (?x ?y) :precondition (and (at ?x) (path ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) 2)))
(:action slide :parameters (?x ?y) :precondition (and (at ?x) (thin ?x ?y))
  :effect (and (at ?y) (not (at ?x)) (not (whole)) (increase (total-cost) (toll ?y))))
(:action cross :parameters (?x ?y) :precondition (and (at ?x) (path ?y ?x) (whole))
  :effect (and (at ?y) (not (at ?x)) (increase (total-cost) 3))))
"""


def ice_problem(tolls: str = "5") -> str:
    edges = ["(path b a)", "(path c b)", "(path d c)", "(path a e)"]
    edges += ["(thin a c)", "(thin b d)", "(thin b e)"]
    init = ["(at a)", "(whole)", *edges, *(f"(= (toll {x}) {tolls})" for x in "abcde")]
    end = "(:metric minimize (total-cost))"
    return small_domains.problem_text("ice", "a b c d e", init, ["(at d)"], end)


def all_states(task: Task, limit: int = 500) -> States:
    found = {task.initial_state.tobytes(): task.initial_state}
    waiting = [task.initial_state]
    while waiting and len(found) < limit:
        for state in task.successors(waiting.pop())[1]:
            if state.tobytes() not in found:
                found[state.tobytes()] = state
                waiting.append(state)
    return np.stack(list(found.values()))


def outputs_of(heuristic: LearnedHeuristic, task: Task, states: States) -> torch.Tensor:
    """What the network of a model says, computed by its training code."""
    kind, config = KINDS[heuristic.metadata["model"]], heuristic.metadata["config"]
    network = kind.build(config, torch.Generator())
    tensors = {name: torch.from_numpy(a) for name, a in heuristic.model.tensors.items()}
    network.load_state_dict(tensors)
    first = np.cumsum([0, *task.domain_sizes[:-1]])
    features = make_heuristic(task, "ff", heuristic.metadata["cost"]).plan_features(states)
    inputs = kind.inputs(config, [TaskStates(task, list(states + first), features)])
    with torch.no_grad():
        result: torch.Tensor = network(inputs.select(np.arange(len(states))))
    return result


@pytest.mark.parametrize("cost", ["one", "normal"])
@pytest.mark.parametrize("kind", TINY)
def test_values_are_the_decoded_outputs(kind: str, cost: str, tmp_path: Path) -> None:
    """For all bases, lower bounds, decodings and kinds of sigma, capped or not; and dead ends are
    infinite. One problem has dead ends, in the other some bases are far above the bounds."""
    icy = read_task(tmp_path, ICE, ice_problem())
    states = all_states(icy)
    assert 0 < np.isinf(make_heuristic(icy, "ff", cost).evaluate(states)).sum() < len(states)
    check_decoded_outputs(kind, cost, icy, states)
    rng = random.Random(3)
    blocks = read_task(tmp_path, *small_domains.blocks(rng))
    assert check_decoded_outputs(kind, cost, blocks, random_walk(blocks, rng, 12)) > 50


def check_decoded_outputs(kind: str, cost: str, task: Task, states: States) -> int:
    """Returns how often a cap made a difference."""
    symbolic = {
        name: make_heuristic(task, name, cost).evaluate(states) for name in (*BASES[1:], "blind")
    }
    symbolic["none"] = np.zeros(len(states), dtype=np.float32)
    lowered = 0
    for sigma, cap in itertools.product((None, 1.4), (None, 1.0, 1.15)):
        outputs = None
        for base, lower, decode in itertools.product(BASES, LOWER_BOUNDS, DECODERS):
            objective = Objective("truncated-gaussian", sigma, base, lower, 0.2)
            if cap is not None and not objective.can_be_capped:
                continue
            objective = replace(objective, cap=cap)
            heuristic = untrained(kind, task, objective, cost)
            heuristic.decode = decode
            if outputs is None:
                outputs = outputs_of(heuristic, task, states)
            bounded = (cap or decode in ("clip", "truncated-mean")) and lower != "none"
            bound = symbolic[lower] if bounded else np.full(len(states), -np.inf, np.float32)
            dead = np.isinf(symbolic[base]) | (bound == np.inf)
            if kind == "linear":
                dead |= np.isinf(symbolic["ff"])
            alive = torch.from_numpy(~dead)
            corrected = symbolic[base]
            if cap is not None:
                corrected = np.minimum(corrected, np.float32(cap) * bound)
            lowered += int((corrected < symbolic[base])[~dead].sum())
            targets = Targets(
                h_star=torch.zeros(int(alive.sum())),
                base=torch.from_numpy(corrected)[alive],
                lower=torch.from_numpy(bound)[alive],
                upper=torch.full((int(alive.sum()),), torch.inf),
                weight=torch.ones(int(alive.sum())),
            )
            expected = np.full(len(states), np.inf, dtype=np.float32)
            expected[~dead] = decoded(outputs[alive], targets, objective, decode).numpy()
            found = values(heuristic, task, states)
            message = f"{sigma} {cap} {base} {lower} {decode}"
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=message)
    return lowered


@pytest.mark.parametrize("kind", TINY)
def test_a_ranking_is_output_plus_base(kind: str, tmp_path: Path) -> None:
    task = read_task(tmp_path, *small_domains.blocks(random.Random(3)))
    states = random_walk(task, random.Random(0), 20)
    heuristic = untrained(kind, task, Objective("l-star", base="hadd", lower="lmcut"))
    outputs = outputs_of(heuristic, task, states)
    assert outputs.shape == (len(states), 1)
    expected = outputs[:, 0].numpy() + make_heuristic(task, "hadd", "one").evaluate(states)
    np.testing.assert_allclose(values(heuristic, task, states), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("decode", ["clip", "truncated-mean"])
@pytest.mark.parametrize("kind", TINY)
def test_a_ranking_is_not_decoded_as_a_distribution(kind: str, decode: str, tmp_path: Path) -> None:
    """It has no scale, and its values are in no unit that a bound could be in."""
    task = read_task(tmp_path, *small_domains.blocks(random.Random(3)))
    ranking = untrained(kind, task, Objective("l-gbfs", base="none", lower="lmcut"))
    write_model(tmp_path / "m.safetensors", ranking.model)
    with pytest.raises(ValueError, match="ranking"):
        load_model(tmp_path / "m.safetensors", decode)


@pytest.mark.parametrize(
    "kind",
    [
        "nlm",
        "linear",
        "hgn",
    ],
)
def test_a_model_of_unit_costs_ignores_the_costs_of_a_problem(kind: str, tmp_path: Path) -> None:
    """It was trained where every action costs 1, and that is how it must see any problem."""
    text = ice_problem()
    plain = read_task(tmp_path, ICE, text.replace("(:metric minimize (total-cost))", ""))
    priced = read_task(tmp_path, ICE, text)
    heuristic = untrained(kind, plain, Objective(), "one")
    found = values(heuristic, priced, all_states(priced))
    assert found.tolist() == values(heuristic, plain, all_states(plain)).tolist()


def test_plan_takes_the_name_of_a_model_file(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem())
    heuristic = untrained("linear", task, Objective())
    write_model(tmp_path / "m.safetensors", heuristic.model)
    (tmp_path / "d.pddl").write_text(ICE)
    (tmp_path / "p.pddl").write_text(ice_problem())
    files = tmp_path / "d.pddl", tmp_path / "p.pddl"
    named = hstar.plan(*files, heuristic=str(tmp_path / "m.safetensors"))
    loaded = hstar.plan(*files, heuristic=load_model(tmp_path / "m.safetensors"))
    assert named.solved and named.plan == loaded.plan
    assert named.evaluated == loaded.evaluated


def test_an_unknown_decoding_is_refused(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem())
    write_model(tmp_path / "m.safetensors", untrained("nlm", task, Objective()).model)
    assert load_model(tmp_path / "m.safetensors").decode == "truncated-mean"
    assert load_model(tmp_path / "m.safetensors", "clip").decode == "clip"
    with pytest.raises(ValueError, match="unknown decoding 'median'"):
        load_model(tmp_path / "m.safetensors", "median")


# -- search


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize("kind", TINY)
def test_plans_found_with_learned_heuristics_are_valid(
    kind: str, algorithm: str, tmp_path: Path
) -> None:
    for name in ("blocks", "gripper", "briefcase"):
        task = read_task(tmp_path, *small_domains.ALL[name](random.Random(1)))
        result = search(task, untrained(kind, task, Objective()), algorithm, batch=3)
        assert result.solved, result.status
        steps = [tuple(step[1:-1].split()) for step in result.plan or ()]
        assert validate(task.problem, steps).valid
        assert result.plan_cost == len(steps) > 0


@pytest.mark.parametrize("kind", TINY)
def test_dead_ends_and_ends_that_are_there_already(kind: str, tmp_path: Path) -> None:
    problem = ice_problem().replace("(thin b d)", "")  # d can be reached over whole ice alone
    task = read_task(tmp_path, ICE, problem)
    heuristic = untrained(kind, task, Objective())
    result = search(task, heuristic)
    assert result.solved
    assert result.deadends > 0
    solved = read_task(tmp_path, ICE, problem.replace("(at a)", "(at d)"))
    assert search(solved, heuristic).plan == []
    broken = read_task(tmp_path, ICE, problem.replace("(whole)", ""))
    # The search does not believe a function in torch that a dead end is one.
    assert search(broken, heuristic).status == ("gave up" if kind == "hgn" else "unsolvable")


def test_decimal_costs_are_refused_where_costs_matter(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem("0.5"))
    assert search(task, untrained("nlm", task, Objective(), "one")).solved
    with pytest.raises(ModelFileError, match="the problem has decimal ones"):
        search(task, untrained("nlm", task, Objective(), "normal"))


def test_a_network_refuses_a_goal_it_cannot_see(tmp_path: Path) -> None:
    task = read_task(tmp_path, ICE, ice_problem().replace("(at d)", "(or (at d) (at c))"))
    for kind in ("hgn", "linear"):
        assert search(task, untrained(kind, task, Objective())).solved
    with pytest.raises(UnsupportedPddlError, match="conjunctions of literals"):
        search(task, untrained("nlm", task, Objective()))


# -- files


@dataclass(frozen=True, slots=True)
class Saved:
    """A model file and a problem for it."""

    model: Path
    domain: Path
    problem: Path


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    return save_blocks_model(tmp_path, "nlm")


def save_blocks_model(folder: Path, kind: str) -> Saved:
    domain, problem = write_task(folder, *small_domains.blocks(random.Random(1)))
    task = load_task(domain, problem)
    path = folder / f"{kind}.safetensors"
    write_model(path, untrained(kind, task, Objective()).model)
    return Saved(path, domain, problem)


@pytest.mark.parametrize("kind", TINY)
def test_a_model_file_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    files = save_blocks_model(tmp_path, kind)
    task = load_task(files.domain, files.problem)
    model = untrained(kind, task, Objective()).model
    held = read_model(files.model)
    written = json.loads(json.dumps(model.metadata))  # no tuples in it
    assert held.metadata == {"format": "hstar-model-1", **written}
    assert held.tensors.keys() == model.tensors.keys()
    assert all(np.array_equal(held.tensors[name], model.tensors[name]) for name in held.tensors)
    content = files.model.read_bytes()
    write_model(files.model, held)
    assert files.model.read_bytes() == content
    assert load_model(files.model).label == kind


PROGRAM = """import sys
from hstar.cli import run
code = run(sys.argv[1:])
print("torch" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("kind", TINY)
def test_the_command_plans_with_a_model(kind: str, tmp_path: Path) -> None:
    """Without torch, except for hypergraph networks."""
    files = save_blocks_model(tmp_path, kind)
    plan = tmp_path / "found.plan"
    arguments = ["plan", "-H", files.model, files.domain, files.problem, "--plan-file", plan]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment({"OMP_NUM_THREADS": "1"}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, f"{kind == 'hgn'}\n")
    assert f"heuristic {kind}." in done.stdout
    assert run_cli(["validate", str(files.domain), str(files.problem), str(plan)]) == 0


def check_refused(files: Saved, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both the library and the command say what is wrong with a model, in one line."""
    task = ground(parse(files.domain, files.problem))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(files.model).bind(task)
    assert caught.value.path == str(files.model)
    plan = files.problem.with_suffix(".plan")
    arguments = ["-H", str(files.model), str(files.domain), str(files.problem)]
    assert run_cli(["plan", *arguments, "--plan-file", str(plan)]) == 31
    assert capsys.readouterr().err == f"hstar: {caught.value}\n"
    assert "\n" not in str(caught.value)
    assert not plan.exists()


Edit = Callable[[bytes], bytes]


def flipped(position: int) -> Edit:
    def edit(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[position] ^= 1
        return bytes(changed)

    return edit


def edited_metadata(content: bytes) -> bytes:
    """The bound less open than in training; the file is as long as before."""
    old = rb"\"epsilon\": 0.1"
    assert content.count(old) == 1
    return content.replace(old, rb"\"epsilon\": 0.2")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda content: b"", "no intact"),
        (lambda content: content[:100], "no intact"),
        (lambda content: content[:-1], "no intact"),
        (lambda content: content + b"more", "no intact"),
        (lambda content: b"(define (domain blocks))" * 40, "no intact"),
        (lambda content: b"\x00" * 64, "no intact|no hstar metadata"),
        (flipped(-1), "changed after training"),
        (flipped(-500), "changed after training"),
        (edited_metadata, "changed after training"),
    ],
)
def test_a_damaged_file_is_refused(
    edit: Edit, message: str, saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    saved.model.write_bytes(edit(saved.model.read_bytes()))
    check_refused(saved, message, capsys)


def test_no_flipped_bit_goes_unnoticed(saved: Saved) -> None:
    content = saved.model.read_bytes()
    rng = random.Random(0)
    for position in rng.sample(range(len(content)), 300):
        changed = bytearray(content)
        changed[position] ^= 1 << rng.randrange(8)
        saved.model.write_bytes(changed)
        with pytest.raises(ModelFileError):
            read_model(saved.model)


def test_a_missing_file_is_refused(saved: Saved, capsys: pytest.CaptureFixture[str]) -> None:
    saved.model.unlink()
    check_refused(saved, "no such model file; train one with 'hstar train'", capsys)


def test_a_folder_is_no_model(saved: Saved, capsys: pytest.CaptureFixture[str]) -> None:
    saved.model.unlink()
    saved.model.mkdir()
    check_refused(saved, "cannot read the model|no intact", capsys)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "it was not made by hstar"),
        ({"other": "{}"}, "it was not made by hstar"),
        ({"hstar": "{"}, "the metadata is damaged"),
        ({"hstar": "[]"}, "format None"),
        ({"hstar": '{"format": "hstar-model-2"}'}, "format 'hstar-model-2', this version"),
        ({"hstar": '{"format": "hstar-model-1"}'}, "changed after training"),
    ],
)
def test_files_of_other_programs_are_refused(
    metadata: dict[str, str] | None,
    message: str,
    saved: Saved,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save_file({"theta": np.zeros(3, dtype=np.float32)}, saved.model, metadata=metadata)
    check_refused(saved, message, capsys)


@pytest.mark.parametrize("key", ["model", "config", "objective", "domain", "training"])
def test_a_file_that_lacks_something_is_refused(key: str, saved: Saved) -> None:
    held = read_model(saved.model)
    del held.metadata[key]
    write_model(saved.model, held)
    with pytest.raises(ModelFileError, match=f"lacks '{key}'"):
        load_model(saved.model)


def test_files_of_versions_with_other_options(saved: Saved) -> None:
    """An option that was not used does no harm, one that was would change the values."""
    held = read_model(saved.model)
    objective = dict(held.metadata["objective"])
    del objective["cap"]
    held.metadata["objective"] = {**objective, "blend": False}
    write_model(saved.model, held)
    assert load_model(saved.model).metadata["objective"] == objective
    assert load_model(saved.model).specification()["cap"] == 0
    held.metadata["objective"] = {**objective, "blend": True}
    write_model(saved.model, held)
    with pytest.raises(ModelFileError, match="trained with 'blend', which this version"):
        load_model(saved.model)


def test_an_unknown_kind_of_model_is_refused(
    saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    held = read_model(saved.model)
    held.metadata["model"] = "forest"
    write_model(saved.model, held)
    check_refused(saved, "this version of hstar has no model 'forest'", capsys)


@pytest.mark.parametrize("kind", TINY)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("(not (handempty))", ""), ("(handempty)", "")], "lacks the predicate 'handempty'"),
        ([("(clear ?x) (hand", "(clear ?x) (wet ?x) (hand")], "has the predicate 'wet'"),
        ([("(handempty)", "(handempty b0)")], "'handempty' has 1 parameters in .*, 0 where"),
        ([("(not (ontable ?x))", "")], ""),
        ([("(:action stack", "(:action put")], ""),
    ],
)
def test_another_domain_is_refused(
    kind: str,
    changes: list[tuple[str, str]],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = save_blocks_model(tmp_path, kind)
    for old, new in changes:
        domain = files.domain.read_text()
        assert old in domain
        files.domain.write_text(domain.replace(old, new.replace("b0", "?x")))
        files.problem.write_text(files.problem.read_text().replace(old, new))
    if kind != "nlm" or not message:
        message = "whose predicates, types or actions differ from those of 'blocks'; use the domain"
    check_refused(files, f"the model was trained on domain 'blocks'.*{message}", capsys)


WIDE = """(define (domain wide) (:predicates (a ?x) (b ?x) (c ?x) (next ?x ?y))
(:action make :parameters (?x) :precondition (c ?x) :effect (and (a ?x) (b ?x)))
(:action move :parameters (?x ?y) :precondition (and (c ?x) (next ?x ?y)) :effect (c ?y)))
"""


def test_a_problem_that_needs_more_slots_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where b is never wanted, grounding drops it, and the network has seen no action with both."""
    init = ["(c u)", "(next u v)", "(next v w)"]
    problem = small_domains.problem_text("wide", "u v w", init, ["(a w)"])
    domain_file, problem_file = write_task(tmp_path, WIDE, problem)
    task = load_task(domain_file, problem_file)
    write_model(tmp_path / "hgn.safetensors", untrained("hgn", task, Objective()).model)
    problem_file.write_text(problem.replace("(a w)", "(a w) (b w)"))
    files = Saved(tmp_path / "hgn.safetensors", domain_file, problem_file)
    check_refused(files, "2 adds, but the network was made for at most 1", capsys)
