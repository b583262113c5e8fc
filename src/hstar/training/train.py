"""Training: labels x features x model x objective x decode -> a trained network and its file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from hstar.runtime.code import code_digest
from hstar.runtime.journal import digest_of
from hstar.slots.features.digits import digit_config
from hstar.slots.features.feature import Feature
from hstar.slots.learned_heuristic import BASE_TABLE
from hstar.slots.models import MODELS
from hstar.slots.models.export import rounded_from, shape_of
from hstar.slots.models.integer_network import Network
from hstar.training.dataset import Dataset, check_same_kind, fitted, no_plans, open_states
from hstar.training.loop import Loop
from hstar.training.options import TABLE_DEFAULTS, TrainOptions
from hstar.training.samplers import ShuffledSampler
from hstar.training.source import (
    BatchSource,
    PairSource,
    PatternSource,
    RowOptions,
    StateSource,
    TableData,
)

ROW_SOURCES: dict[str, type[BatchSource]] = {"states": StateSource, "pairs": PairSource}


def prepare(training: Dataset, validation: Dataset, options: TrainOptions) -> Loop:
    """Everything up to the first step of training on labelled states. Raises ValueError for pieces
    that do not fit each other."""
    check_same_kind(training, validation)
    device = choose_device(options.device)
    features, model, decode = options.entries()
    if decode.is_certified or options.in_integers:
        raise ValueError(
            "a certified decode and weights in integers need the exact value of every state; train "
            "on a pattern database (hstar pdb build), not on labels"
        )
    if training.has_open_variables or validation.has_open_variables:
        _check_open(options, features)
    datasets = (training, validation) if features.needs == "space" else (training,)
    tasks = [labelled.task for dataset in datasets for labelled in dataset.tasks]
    objective = fitted(options.objective, training)
    options = replace(options, objective=objective)
    feature_config = features.configure(tasks, options.chosen_of(features), training.cost)
    make: Any = ROW_SOURCES[objective.batches]
    if features.needs_states:
        feature_config = features.fit(feature_config, make.states_of(training))
    config = model.configure(feature_config, objective.outputs, options.chosen_of(model))
    network = model.build(config, torch.Generator().manual_seed(options.seed)).to(device)
    decode_options = {**decode.options, **options.decode_options}
    wanted = RowOptions(
        objective, decode, decode_options, features, feature_config, options.batch, options.seed
    )
    if options.batches == "shuffled":
        wanted = replace(wanted, sampler=ShuffledSampler)
    source = make(training, wanted, device)
    judge = make(validation, wanted, device)
    if device.type == "cuda":
        for one in (source, judge):
            one.hold(model, config)
    digests = [training.digest(), validation.digest(), code_digest()]
    described = [options.to_dict(), feature_config, config, *digests]
    sizes = {"problems": len(training.tasks), "states": len(training)}
    about = {
        "features": (options.features_name, feature_config),
        "model": (options.model, config),
        "cost": training.cost,
        "domain": training.domain,
        "training": {"options": options.chosen(), **sizes},
    }
    return Loop(network, source, judge, options, fingerprint_of(described), about)


def _check_open(options: TrainOptions, features: Feature) -> None:
    """Raises ValueError for what cannot be computed of a state with open variables."""
    if not features.reads_open:
        raise open_states(features.name)
    objective = options.objective
    if objective.batches == "pairs":
        raise no_plans(objective.name)
    constants = objective.constants()
    if constants["base"] != "none" or constants["lower"] != "none":
        raise ValueError(
            "some labelled states leave variables open, so they have no base and no lower bound; "
            "give --base none --lower none"
        )


def prepare_table(data: TableData, options: TrainOptions, start: Network | None = None) -> Loop:
    """A loop over all states of a table. `start` is a network in integers to go on from. Raises
    ValueError for pieces that do not fit each other."""
    _, model, _ = options.entries()
    _check_table(options)
    states = data.states(choose_device(options.device))
    values = np.array(states.values, dtype=np.float32)
    objective = options.objective.fitted({"h_star": values})
    options = replace(options, objective=objective)
    source = PatternSource(states, objective, options.sampling, options.batch, options.seed)
    layout = data.database.layout
    space = layout.fingerprint or layout.space
    feature_config = digit_config(layout.pattern, states.domain_sizes, space)
    config = model.configure(feature_config, objective.outputs, options.chosen_of(model))
    if start is None:
        if options.coarser != 1:
            raise ValueError("only a network that training goes on from can be made coarser")
        network = model.build(config, torch.Generator().manual_seed(options.seed))
    else:
        if shape_of(start).to_config() != config or start.domain_sizes != states.domain_sizes:
            raise ValueError(
                "the network to go on from has another shape or other inputs; "
                "take one that was learned from a database of this pattern"
            )
        network = rounded_from(start, options.coarser)
    sha = hashlib.sha256(states.database.table.data)
    for tensor in () if start is None else start.to_tensors().values():
        sha.update(tensor.tobytes())
    before = None if start is None else start.to_metadata()
    described = [options.to_dict(), config, asdict(layout), before, sha.hexdigest(), code_digest()]
    network, digest = network.to(states.device), fingerprint_of(described)
    about = {
        "features": (options.features_name, feature_config),
        "model": (options.model, config),
        "cost": layout.cost,
        "domain": None,
        "training": {"options": options.chosen(**TABLE_DEFAULTS)},
    }
    base = data.database.base
    kept = {}
    if base is not None:
        feature_config["base"] = asdict(base.layout)
        kept = {BASE_TABLE: np.ascontiguousarray(base.table)}
    begun = start is not None
    return Loop(network, source, None, options, digest, about, kept, is_rounding=begun)


def _check_table(options: TrainOptions) -> None:
    features, model, decode = options.entries()
    if not features.reads_tables:
        raise ValueError(
            f"a table holds states of a pattern, which features '{features.name}' cannot read; "
            "take model mlp on digits, or train on labels"
        )
    if options.objective.batches == "pairs":
        raise ValueError(
            f"objective '{options.objective.name}' compares states of plans, and a table has none; "
            "train on labels"
        )
    constants = options.objective.constants()
    if constants["base"] != "none" or constants["lower"] != "none":
        raise ValueError(
            "states of a pattern have no base and no lower bound; give --base none --lower none"
        )
    if options.in_integers and options.objective.form != "logits":
        raise ValueError(
            f"a network in integers learns classes, but objective '{options.objective.name}' "
            "learns a number; take --bits 0, or objective cea"
        )
    if options.in_integers and not model.can_round:
        fitting = [name for name in MODELS if MODELS.find(name).can_round]
        raise ValueError(
            f"model '{options.model}' cannot become one in integers; "
            f"take --bits 0, or model {', '.join(fitting)}"
        )
    if options.in_integers and options.model_options.get("norm", True) is not True:
        raise ValueError("a network in integers needs batch normalisation; leave out norm=false")
    if options.in_integers and options.model_options.get("convolution"):
        raise ValueError("a network in integers has no convolution; take --bits 16")
    if decode.is_certified and not options.in_integers:
        raise ValueError("a certified decode needs a network in integers; take --bits 8")


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device '{name}'; choose auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"cannot train on device '{name}'; choose auto, cpu or cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no GPU that torch can use; choose --device cpu")
    return device


def fingerprint_of(described: list[Any]) -> str:
    """Identifies a run, so that no checkpoint of another one is continued."""
    return digest_of(json.dumps(described, sort_keys=True))
