"""`hstar train`: learn a heuristic from labels."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hstar.commands.arguments import Commands, UsageError, positive
from hstar.runtime.atomic import check_writable, write_atomically

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset
    from hstar.training.train import Evaluation, TrainOptions, TrainResult

EPILOG = """\
examples:
  hstar train train.parquet --validation val.parquet -o model.safetensors
  hstar train train.parquet -m linear -l gaussian --sigma 1.41 --base none -o linear.safetensors
  hstar train train.parquet --seeds 0,1,2 -o 'models/blocks-{seed}.safetensors'
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        help="learn a heuristic from labels",
        description="Learn a heuristic from the labels that 'hstar label' wrote.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", metavar="LABELS", help="labels of the training problems")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=".safetensors")
    parser.add_argument(
        "--validation", metavar="LABELS", help="choose the best weights on these (default: a tenth)"
    )
    parser.add_argument("--test", metavar="LABELS", help="report errors on these at the end")
    parser.add_argument("-m", "--model", default="nlm", metavar="NAME", help="nlm, hgn or linear")
    parser.add_argument(
        "-l",
        "--loss",
        default="truncated-gaussian",
        metavar="NAME",
        help="gaussian, truncated-gaussian, l-gbfs or l-star",
    )
    parser.add_argument("--sigma", default="learn", help="'learn' or a positive number")
    parser.add_argument("--base", default="ff", help="heuristic to correct: none, ff, lmcut, ...")
    parser.add_argument("--lower", default="lmcut", help="lower bound: lmcut, hmax, blind or none")
    parser.add_argument(
        "--cap",
        default="fit",
        metavar="fit|none|X",
        help="the base is at most X times the lower bound (default: what the labels ask for)",
    )
    parser.add_argument("--epsilon", type=float, default=0.1, help="how far bounds are opened")
    parser.add_argument("--steps", type=positive, metavar="N")
    parser.add_argument("--batch", type=positive, metavar="N", help="states per step (256)")
    parser.add_argument("--learning-rate", type=float, metavar="X")
    parser.add_argument("--weight-decay", type=float, metavar="X")
    parser.add_argument("--clip", type=float, metavar="X", help="norm of gradients; 0: no bound")
    parser.add_argument("--schedule", metavar="NAME", help="cosine or constant")
    parser.add_argument("--seeds", default="0", metavar="LIST", help="such as 0,1,2: a model each")
    parser.add_argument("--evaluate-every", type=positive, metavar="N", help="steps")
    parser.add_argument("--device", metavar="NAME", help="auto, cpu or cuda")
    parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the model: width, depth, breadth, exclude_self, dense, types, hidden, ...",
    )
    parser.add_argument("--tensorboard", metavar="DIR", help="write curves for TensorBoard")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    import torch

    from hstar.training.dataset import load_dataset

    if options.threads:
        torch.set_num_threads(options.threads)
    seeds = _seeds(options.seeds)
    chosen = {seed: _train_options(options, seed) for seed in seeds}
    if options.test and options.loss in ("l-gbfs", "l-star"):
        raise UsageError("a ranking loss does not estimate costs, so there is no error to --test")
    if not options.output.endswith(".safetensors"):
        raise UsageError(f"the output must end in .safetensors, not '{options.output}'")
    outputs = {seed: _output(options.output, seed, len(seeds)) for seed in seeds}
    for path in outputs.values():
        check_writable(path)
    training = load_dataset(options.labels)
    if options.validation:
        validation = load_dataset(options.validation)
    elif len(training.tasks) < 2:
        raise UsageError("with one problem there is nothing to validate on; give --validation")
    else:
        training, validation = training.split(0.1, seed=0)
    test = load_dataset(options.test) if options.test else None
    if options.model == "nlm":
        _name_omitted(training, chosen[seeds[0]])
    print(
        f"{len(training)} states of {len(training.tasks)} problems to train on, "
        f"{len(validation)} of {len(validation.tasks)} to validate on",
        flush=True,
    )
    chosen = _with_cap(training, chosen)
    for seed, path in outputs.items():
        result = _train(training, validation, path, chosen[seed], options)
        print(
            f"{path}: best at step {result.best.step} of {result.curve[-1].step}, "
            f"{_errors(result.best)}, {result.parameters} parameters, {result.seconds:.0f} s",
            flush=True,
        )
        if test is not None:
            from hstar.training.evaluation import evaluate_model

            try:
                metrics = evaluate_model(path, test)
            except ValueError as error:
                raise UsageError(str(error)) from error
            print(f"{path}: on test problems {metrics.describe()}", flush=True)
    return 0


def _name_omitted(training: Dataset, options: TrainOptions) -> None:
    """Say which predicates an NLM of this breadth cannot see."""
    from hstar.features.atoms import Vocabulary

    breadth = options.model_options.get("breadth", 3)
    if isinstance(breadth, int):
        for name in Vocabulary.of(training.domain, breadth).omitted:
            print(f"predicate {name} has more than {breadth} arguments: the network ignores it")


def _with_cap(training: Dataset, chosen: dict[int, TrainOptions]) -> dict[int, TrainOptions]:
    """Fit the cap on the base, which is the same for all seeds, and say so."""
    from hstar.training.batches import base_error, with_fitted_cap

    first = next(iter(chosen.values()))
    if not first.fit_cap:
        return chosen
    try:
        fitted = with_fitted_cap(training, first.objective)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if fitted != first.objective:
        before, after = (base_error(training, o) for o in (first.objective, fitted))
        print(
            f"{fitted.base} is capped at {fitted.cap:.2f} x {fitted.lower}: its squared error on "
            f"the training labels falls from {before:.2f} to {after:.2f}",
            flush=True,
        )
    return {seed: replace(options, objective=fitted) for seed, options in chosen.items()}


def _train(
    training: Dataset,
    validation: Dataset,
    path: str,
    chosen: TrainOptions,
    options: argparse.Namespace,
) -> TrainResult:
    from hstar.runtime.progress import Progress
    from hstar.training.train import train

    writer = _tensorboard(options.tensorboard, path) if options.tensorboard else None
    with Progress(f"training {Path(path).name}", chosen.steps) as progress:

        def report(line: Evaluation, _: int) -> None:
            progress.update(line.step, f"loss {line.train_loss:.4f}  {_errors(line)}")
            if writer is not None:
                for name in ("train_loss", "validation_loss", "validation_mse"):
                    writer.add_scalar(name, getattr(line, name), line.step)

        try:
            result = train(training, validation, path, chosen, report)
        except (ValueError, FloatingPointError) as error:
            raise UsageError(str(error)) from error
    if writer is not None:
        writer.close()
    write_atomically(f"{path}.json", _resolved(chosen, options, result))
    return result


def _resolved(chosen: TrainOptions, options: argparse.Namespace, result: TrainResult) -> str:
    """What was really used, to be kept beside the model."""
    import json

    held = {"labels": options.labels, "validation": options.validation, **chosen.to_dict()}
    return json.dumps({**held, "seconds": round(result.seconds, 1)}, indent=1) + "\n"


def _train_options(options: argparse.Namespace, seed: int) -> TrainOptions:
    from hstar.objectives.losses import Objective
    from hstar.training.train import TrainOptions, defaults_of

    try:
        sigma = None if options.sigma == "learn" else float(options.sigma)
    except ValueError:
        raise UsageError(f"--sigma must be 'learn' or a number, not '{options.sigma}'") from None
    try:
        cap = None if options.cap in ("fit", "none") else float(options.cap)
    except ValueError:
        raise UsageError(f"--cap must be 'fit', 'none' or a number, not '{options.cap}'") from None
    given = {
        name: getattr(options, name)
        for name in (
            "steps",
            "batch",
            "learning_rate",
            "weight_decay",
            "clip",
            "schedule",
            "evaluate_every",
            "device",
        )
        if getattr(options, name) is not None
    }
    try:
        objective = Objective(
            options.loss, sigma, options.base, options.lower, options.epsilon, cap
        )
        return TrainOptions(
            model=options.model,
            model_options=dict(_model_option(text) for text in options.option),
            objective=objective,
            fit_cap=options.cap == "fit",
            seed=seed,
            **{**defaults_of(options.model, objective), **given},
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _model_option(text: str) -> tuple[str, Any]:
    import json

    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option takes NAME=VALUE, not '{text}'")
    try:
        return name, json.loads(value.lower())
    except ValueError:
        return name, value


def _seeds(text: str) -> list[int]:
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds takes numbers such as 0,1,2, not '{text}'") from None
    if len(set(seeds)) < len(seeds):
        raise UsageError(f"--seeds names a seed twice: {text}")
    return seeds


def _output(pattern: str, seed: int, count: int) -> str:
    if "{seed}" in pattern:
        return pattern.replace("{seed}", str(seed))
    if count == 1:
        return pattern
    path = Path(pattern)
    return str(path.with_name(f"{path.stem}-seed{seed}{path.suffix}"))


def _errors(line: Evaluation) -> str:
    if line.validation_mse != line.validation_mse:
        return f"validation loss {line.validation_loss:.4f}"
    return f"validation loss {line.validation_loss:.4f}, squared error {line.validation_mse:.3f}"


def _tensorboard(directory: str, path: str) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UsageError("--tensorboard needs the package: pip install tensorboard") from None
    return SummaryWriter(str(Path(directory) / Path(path).stem))
