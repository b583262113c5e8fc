"""Files of earlier versions of hstar, read as if they were written today.

Two formats came before: "hstar-model-1" for models of a domain and "hstar-learned-pdb-1" for
certified networks. Certificates are about the model and not about the file, so they stay as they
are. `hstar model convert` writes such a file in the new format.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hstar.slots.model_file import FORMAT, NO_DIGEST, ModelFileError, with_digest

Tensors = dict[str, NDArray[Any]]
OBJECTIVE = {"loss", "sigma", "base", "lower", "epsilon", "cap"}
LEAST_SIGMA, SIGMA_RANGE = 0.1, 10.0  # were constants of the program, not of the file


def upgraded(
    metadata: dict[str, Any], tensors: Tensors, content: bytes, path: str
) -> tuple[dict[str, Any], bool]:
    """The metadata in today's form, and whether the digest matches. Raises ModelFileError."""
    found = metadata.get("format")
    if found == "hstar-model-1":
        rest = {key: value for key, value in metadata.items() if key != "digest"}
        return _domain_model(rest, path), _digest(rest, tensors) == metadata["digest"]
    if found == "hstar-learned-pdb-1":
        held = with_digest(content, str(metadata["digest"]), NO_DIGEST)
        intact = hashlib.sha256(held).hexdigest() == metadata["digest"]
        return _pattern_model(metadata), intact
    raise ModelFileError(f"the file has format {found!r}, this hstar reads {FORMAT!r}", path)


def _domain_model(old: dict[str, Any], path: str) -> dict[str, Any]:
    objective, config, model = old["objective"], old["config"], old["model"]
    for key in objective.keys() - OBJECTIVE:
        if objective[key]:
            raise ModelFileError(
                f"the model was trained with {key!r}, which this version of hstar does not know; "
                "train it again",
                path,
            )
    cost = old["cost"]
    slots = {key: config.get(key) for key in ("receiver_slots", "sender_slots")}
    kinds: dict[str, tuple[str, Any, Any]] = {  # features, their configuration, the network's
        "nlm": ("atoms", config.get("vocabulary", {}), config.get("network")),
        "hgn": ("hypergraph", {**slots, "cost": cost}, config),
        "linear": (
            "relaxed-plans",
            {"cost": cost, "width": 4},
            {"inputs": 4, "outputs": config.get("outputs")},
        ),
    }
    features, feature_config, network = kinds[model]
    constants = {key: objective.get(key) for key in ("base", "lower", "epsilon", "cap", "sigma")}
    return {
        "form": "float",
        "features": {"name": features, "config": feature_config},
        "model": {"name": model, "config": network},
        "objective": {"name": objective["loss"], **constants},
        "decode": {
            **constants,
            "name": old["decode"],
            "least_sigma": LEAST_SIGMA,
            "sigma_range": SIGMA_RANGE,
        },
        "cost": cost,
        "domain": old["domain"],
        "training": old["training"],
        "certificate": None,
    }


def _pattern_model(old: dict[str, Any]) -> dict[str, Any]:
    decoding = old["decoding"]
    strict = (old["certificate"] or {}).get("overestimates") == 0
    name = "argmax" if decoding["thresholds"] is None else "strict" if strict else "quantile"
    return {
        "form": "integers",
        "features": {"name": "digits", "config": {"layout": old["layout"], "base": old["base"]}},
        "model": {"name": "mlp", "config": old["network"]},
        "objective": {"name": "cea"},
        "decode": {**decoding, "name": name} | {key: old[key] for key in ("values", "exceptions")},
        "cost": old["layout"]["cost"],
        "domain": None,
        "training": old["notes"],
        "certificate": old["certificate"],
    }


def _digest(metadata: dict[str, Any], tensors: Tensors) -> str:
    sha = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        sha.update(f"{name} {array.dtype} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()
