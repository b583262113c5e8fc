"""`hstar train`: learn a heuristic from labels or from a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import Options, Parser, UsageError, as_usage_error
from hstar.commands.training_options import (
    add_sweep,
    add_training,
    given_flags,
    training_options,
    values_by_name,
)
from hstar.pddl.errors import escape
from hstar.runtime.atomic import write_atomically
from hstar.runtime.resources import Budget
from hstar.slots.model_file import check_output

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset
    from hstar.training.loop import Line, Loop
    from hstar.training.options import TrainOptions

OF_TABLE = "start sampling alpha coarser quantize_from"  # options that only tables take
HELP = "learn a heuristic from labels or from a table"
DESCRIPTION = """\
Learn a heuristic from the labels that 'hstar label' wrote, or from a pattern database (FILE.pdb),
which holds the exact value of every state of a pattern. Run a killed command again to continue it.
"""
EPILOG = """\
examples:
  hstar train train.parquet --validation val.parquet -o model.safetensors
  hstar train train.parquet -m linear -l gaussian --sigma 1.41 --base none -o linear.safetensors
  hstar train train.parquet -l cea -o classes.safetensors
  hstar train eight.pdb -o eight.safetensors                        (certified, as 'pdb learn')
  hstar train train.parquet --seeds 0,1,2 -o 'models/blocks-{seed}.safetensors'
"""


def add_arguments(parser: Parser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("file", metavar="LABELS", help="a file of labels, or a pattern database")
    about = "[DOMAIN] PROBLEM, for a pattern database of a planning task"
    parser.add_argument("pddl", nargs="*", metavar="PDDL", help=about)
    parser.add("-o --output FILE", "the model file to write (.safetensors)", required=True)
    about = "labels that choose the best weights (default: a tenth of the problems)"
    parser.add("--validation LABELS", about)
    parser.add("--test LABELS", "labels on which to report errors at the end")
    parser.add("--seeds LIST", "seeds such as 0,1,2: one model for each (default: 0)", default="0")
    about = "how weights are found: torch, linear (wl) or mlp (facts) in the core (default: torch)"
    parser.add("--fit NAME", about)
    parser.add("--tensorboard DIR", "a folder for learning curves in TensorBoard's format")
    add_training(parser)
    add_sweep(parser, "--sweep-batch")


def run(options: Options) -> int:
    from hstar.pdb.file import is_pdb_file

    of_table = is_pdb_file(options.file)
    others = "fit validation test tensorboard" if of_table else OF_TABLE
    if wrong := [name for name, value in options.values_of(others).items() if value is not None]:
        about = "labels; a table holds the value of every state" if of_table else "tables"
        raise UsageError(f"--{wrong[0].replace('_', '-')} is for {about}")
    if of_table:
        from hstar.commands.pdb import learn_table

        return learn_table(options)
    if options.pddl:
        raise UsageError("labels hold their problems already; give PDDL files with a database only")
    if options.fit not in (None, "torch"):
        return train_by_fit(options)
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(options.threads or before)
    try:
        return train_on_labels(options)
    finally:
        torch.set_num_threads(before)


def train_by_fit(options: Options) -> int:
    """By another fit than torch, which has no curve to tell of."""
    from hstar.training.fit import Limits
    from hstar.training.from_labels import train_from_labels

    names = "validation test tensorboard decode compile"
    others = given_flags(options) | {k: v for k, v in options.values_of(names).items() if v}
    if others:
        raise UsageError(f"the fit '{options.fit}' takes no --{next(iter(others))}")
    for seed, path in _outputs(options).items():
        limits = Limits(Budget(), seed, options.steps, options.threads or 1)
        slots = options.values_of("model features objective")
        named = values_by_name(options)
        with as_usage_error():
            check_output(path)
            train_from_labels(options.file, path, options.fit, limits, **slots, options=named)
        print(f"The model is in {escape(path)}.")
    return 0


def train_on_labels(options: Options) -> int:
    from hstar.training.dataset import base_error, check_same_kind, fitted, load_dataset
    from hstar.training.evaluation import evaluate_model

    outputs = _outputs(options)
    chosen = {seed: training_options(options, seed, of_table=False) for seed in outputs}
    first = next(iter(chosen.values()))
    if options.test and first.objective.batches == "pairs":
        raise UsageError("a ranking does not estimate costs, so there is no error to --test")
    with as_usage_error():
        for path in outputs.values():
            check_output(path)
    training = load_dataset(options.file)
    if options.validation:
        validation = load_dataset(options.validation)
    elif len(training.tasks) < 2:
        raise UsageError("with one problem there is nothing to validate on; give --validation")
    else:
        training, validation = training.split(0.1, seed=0)
    test = load_dataset(options.test) if options.test else None
    print(
        f"{len(training)} states of {len(training.tasks)} problems to train on, "
        f"{len(validation)} of {len(validation.tasks)} to validate on"
    )
    with as_usage_error():
        for other in (validation, test):
            if other is not None:
                check_same_kind(training, other)
        objective = fitted(first.objective, training)
    _describe(first, objective, training)
    for seed, path in outputs.items():
        one = replace(chosen[seed], objective=objective)
        result = _train(training, validation, path, one, options)
        print(
            f"{escape(path)}: best at step {result.best['step']} of {result.curve[-1]['step']}, "
            f"{_errors(result.best)}, {result.parameters} parameters, {result.seconds:.0f} s"
        )
        if objective.score == "mse" and objective.constants()["base"] != "none":
            alone = base_error(validation, objective)
            print(f"{objective.constants()['base']} alone: squared error {alone:.3f}")
        if result.warning is not None:
            print(f"warning: {result.warning}")
        if test is not None:
            with as_usage_error():
                found = evaluate_model(path, test, trust=True)
            likelihood = ""
            if first.objective.form == "location-scale":
                likelihood = f" ({found['mse_clip']:.3f} clipped), "
                likelihood += f"negative log-likelihood {found['nll']:.3f}"
            print(
                f"{escape(path)}: on test problems squared error {found['mse']:.3f}{likelihood}, "
                f"{found['states']} states of {found['problems']} problems"
            )
    return 0


def _describe(options: TrainOptions, fitted: Any, training: Dataset) -> None:
    """Say what the model cannot see, and what was taken from the labels."""
    from hstar.training.dataset import base_error

    features, _, _ = options.entries()
    chosen = {k: v for k, v in options.model_options.items() if k in features.options}
    tasks = [labelled.task for labelled in training.tasks]
    config = features.configure(tasks, {**features.options, **chosen}, training.cost)
    for warning in features.warnings(config):
        print(warning)
    constants = fitted.constants()
    if constants["cap"] is not None and getattr(options.objective, "cap", None) == "fit":
        before, after = (base_error(training, one) for one in (replace(fitted, cap=None), fitted))
        print(
            f"{constants['base']} is capped at {constants['cap']:.2f} x {constants['lower']}: its "
            f"squared error on the training labels falls from {before:.2f} to {after:.2f}"
        )


def _train(
    training: Dataset, validation: Dataset, path: str, chosen: TrainOptions, options: Options
) -> Loop:
    """Train one model, and keep what was really used in a file beside it."""
    from hstar.runtime.progress import Progress
    from hstar.training.train import prepare

    writer = _tensorboard(options.tensorboard, path) if options.tensorboard else None
    with Progress(f"training {Path(path).name}", chosen.steps) as progress:

        def report(line: Line, _: int) -> None:
            progress.update(line["step"], f"loss {line['train_loss']:.4f}  {_errors(line)}")
            if writer is not None:
                for name in line.keys() - {"step"}:
                    writer.add_scalar(name, line[name], line["step"])

        with as_usage_error():
            result = prepare(training, validation, chosen).write(path, report)
    if writer is not None:
        writer.close()
    held = {"labels": options.file, "validation": options.validation, **chosen.to_dict()}
    held["seconds"] = round(result.seconds, 1)
    write_atomically(f"{path}.json", json.dumps(held, indent=1) + "\n")
    return result


def _outputs(options: Options) -> dict[int, str]:
    try:
        seeds = [int(part) for part in options.seeds.split(",")]
    except ValueError:
        message = f"--seeds takes numbers such as 0,1,2, not '{options.seeds}'"
        raise UsageError(message) from None
    if len(set(seeds)) < len(seeds):
        raise UsageError(f"--seeds names a seed twice: {options.seeds}")
    pattern, path = options.output, Path(options.output)
    if "{seed}" not in pattern and len(seeds) > 1:
        pattern = str(path.with_name(f"{path.stem}-seed{{seed}}{path.suffix}"))
    return {seed: pattern.replace("{seed}", str(seed)) for seed in seeds}


def _errors(line: Line) -> str:
    text = f"validation loss {line['validation_loss']:.4f}"
    if "validation_mse" in line:
        text += f", squared error {line['validation_mse']:.3f}"
    return text


def _tensorboard(directory: str, path: str) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError("--tensorboard needs the package: pip install tensorboard") from None
    return SummaryWriter(str(Path(directory) / Path(path).stem))
