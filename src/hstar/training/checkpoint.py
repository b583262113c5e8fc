"""What a killed training run goes on from: groups of arrays and notes, in one .safetensors file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.runtime.atomic import write_atomically

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`fingerprint` identifies the run, `notes` are plain JSON."""

    fingerprint: str
    notes: dict[str, Any]
    groups: dict[str, Arrays]

    def group(self, name: str) -> Arrays:
        return self.groups[name]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    from safetensors.numpy import save

    tensors = {
        f"{group}/{name}": np.ascontiguousarray(array)
        for group, arrays in checkpoint.groups.items()
        for name, array in arrays.items()
    }
    text = json.dumps({"fingerprint": checkpoint.fingerprint, "notes": checkpoint.notes})
    write_atomically(path, save(tensors, metadata={"hstar": text}))


def read_checkpoint(path: Path, fingerprint: str) -> Checkpoint | None:
    """The checkpoint of this very run; None if there is none, or only of another run."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            held = json.loads((file.metadata() or {}).get("hstar", "{}"))
            if held.get("fingerprint") != fingerprint:
                return None
            groups: dict[str, Arrays] = {}
            for key in file.keys():  # noqa: SIM118
                group, _, name = key.partition("/")
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (SafetensorError, ValueError, OSError):
        return None
    return Checkpoint(fingerprint, held["notes"], groups)
