"""Weisfeiler-Leman features are those of WLPlan, up to the order of the colours.

Only for domains without constants and goals without negation: WLPlan 2.1.0 gives constants the
colours of unknown vertices, and negative goals no edges.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from test_wl import KINDS, config_of, generated
from untrained_models import random_walk
from wlplan_peer import Peer

from hstar.slots.features.feature import SpaceStates
from hstar.slots.features.wl import WL


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "gripper", "miconic", "satellite"])
def test_counts_of_domains(domain: str, tmp_path: Path) -> None:
    task = generated(tmp_path, domain)
    states = random_walk(task, random.Random(0), 15)
    for rounds in range(4):
        for hash, statics in {(hash, statics): None for hash, statics, _ in KINDS}:
            expected = Peer(task, rounds, hash, statics).counts(states)
            config = WL.fit(config_of(task, rounds, hash, statics), [SpaceStates(task, states)])
            found = WL.encoder(config, task)(states).astype(np.int64)
            assert sorted(found.T.tolist()) == sorted(expected.T.tolist())
