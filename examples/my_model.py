"""A model of your own: a network with one hidden layer on the four numbers of the relaxed plan.

    hstar train labels.parquet -m my_model:MODEL -o mine.safetensors
    hstar plan domain.pddl problem.pddl -H mine.safetensors

The file says "my_model:MODEL", so this module must be importable wherever the file is used.
"""

from typing import ClassVar

import torch

from hstar.slots.features.feature import check_options
from hstar.slots.models.model import Model


class SmallNetwork(Model):
    name = "small"
    features = ("relaxed-plans",)
    options: ClassVar = {"hidden": 8}
    training: ClassVar = {"learning_rate": 1e-2, "weight_decay": 0.0}

    def configure(self, features, outputs, options):
        check_options(options, self.options)
        return {"inputs": features["width"], "hidden": options["hidden"], "outputs": outputs}

    def build(self, config, generator):
        network = torch.nn.Sequential(
            torch.nn.Linear(config["inputs"], config["hidden"]),
            torch.nn.Tanh(),
            torch.nn.Linear(config["hidden"], config["outputs"]),
        )
        with torch.no_grad():  # drawn from the generator alone, so that a seed gives one file
            for parameter in network.parameters():
                parameter.uniform_(-0.3, 0.3, generator=generator)
        return network


MODEL = SmallNetwork()
