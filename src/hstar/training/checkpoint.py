"""What a killed training run goes on from: groups of arrays and notes, in one .safetensors file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hstar.pddl.errors import InputFileError
from hstar.runtime.atomic import write_atomically

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.optim import Optimizer

Arrays = dict[str, NDArray[Any]]
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what torch calls what Adam keeps of a parameter


class CheckpointError(InputFileError):
    """A checkpoint that this run cannot go on from. It is never overwritten."""

    exit_code = 36  # the options or the output must change


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`fingerprint` identifies the run, `notes` are plain JSON."""

    fingerprint: str
    notes: dict[str, Any]
    groups: dict[str, Arrays]

    def write(self, path: Path) -> None:
        from safetensors.numpy import save

        tensors = {
            f"{group}/{name}": np.ascontiguousarray(array)
            for group, arrays in self.groups.items()
            for name, array in arrays.items()
        }
        text = json.dumps({"fingerprint": self.fingerprint, "notes": self.notes})
        write_atomically(path, save(tensors, metadata={"hstar": text}))

    @staticmethod
    def read(path: Path | None, fingerprint: str) -> Checkpoint | None:
        """The checkpoint of this run; None if there is none. Raises CheckpointError if the file
        belongs to another run (other labels, options or code) or is damaged."""
        from safetensors import SafetensorError, safe_open

        def refused(why: str) -> CheckpointError:
            what_to_do = "delete it to start anew, or choose another output"
            return CheckpointError(f"the checkpoint {why}; {what_to_do}", str(path))

        if path is None or not os.path.lexists(path):
            return None
        if path.is_symlink() or not path.is_file():
            raise refused("is no file")
        try:
            with safe_open(path, framework="numpy") as file:
                held = json.loads((file.metadata() or {}).get("hstar", "{}"))
                groups: dict[str, Arrays] = {}
                for key in file.keys():  # noqa: SIM118
                    group, _, name = key.partition("/")
                    groups.setdefault(group, {})[name] = file.get_tensor(key)
                found, notes = held["fingerprint"], held["notes"]
        except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
            raise refused(f"cannot be read ({error})") from None
        if found != fingerprint:
            raise refused("belongs to a training with other labels, options or code")
        return Checkpoint(fingerprint, notes, groups)


def weights_of(network: nn.Module) -> Arrays:
    """A copy of all that a network has learned."""
    return {name: one.detach().cpu().numpy().copy() for name, one in network.state_dict().items()}


def groups_of(network: nn.Module, optimiser: Optimizer) -> dict[str, Arrays]:
    """The weights of a network, and the moments of its optimiser, a kind of Adam."""
    groups = {"weights": weights_of(network), **{name: {} for name in MOMENTS}}
    for parameter_name, parameter in network.named_parameters():
        held = optimiser.state.get(parameter, {})  # nothing for a parameter without gradient
        for name in held:
            groups[name][parameter_name] = np.atleast_1d(held[name].cpu().numpy())
    return groups


def restore_groups(
    network: nn.Module, optimiser: Optimizer, groups: dict[str, Arrays], step_on: torch.device
) -> None:
    """Go on from what `groups_of` returned. `step_on` is where the optimiser counts its steps."""
    import torch

    weights = {name: torch.from_numpy(array.copy()) for name, array in groups["weights"].items()}
    network.load_state_dict(weights)
    for name, parameter in network.named_parameters():
        if name not in groups.get("exp_avg", {}):
            continue
        step, *moments = (torch.from_numpy(groups[group][name].copy()) for group in MOMENTS)
        moments = [one.view(parameter.shape).to(parameter.device) for one in moments]
        held = dict(zip(MOMENTS, [step[0].to(step_on), *moments], strict=True))
        optimiser.state[parameter] = held
