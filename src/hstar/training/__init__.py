"""The one training loop, its batch sources, recorded steps, checkpoints and evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.training.dataset import Dataset as Dataset
    from hstar.training.dataset import dataset_of as dataset_of
    from hstar.training.dataset import load_dataset as load_dataset
    from hstar.training.evaluation import baseline_mse as baseline_mse
    from hstar.training.evaluation import evaluate_model as evaluate_model
    from hstar.training.loop import Line as Line
    from hstar.training.loop import Loop as Loop
    from hstar.training.loop import checkpoint_of as checkpoint_of
    from hstar.training.native import MlpOptions as MlpOptions
    from hstar.training.options import TABLE_DEFAULTS as TABLE_DEFAULTS
    from hstar.training.options import Sampling as Sampling
    from hstar.training.options import TrainOptions as TrainOptions
    from hstar.training.options import default_options as default_options
    from hstar.training.source import TableData as TableData
    from hstar.training.together import train_together as train_together
    from hstar.training.train import choose_device as choose_device
    from hstar.training.train import prepare as prepare
    from hstar.training.train import prepare_table as prepare_table

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
