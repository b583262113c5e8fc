"""Teachers that search backwards from the goal: "regression" (RSL, N-RSL) and "fsm"."""

from __future__ import annotations

from hstar.slots.teachers.backward import KINDS, NOVELTIES, sample_focused, sample_rollouts
from hstar.slots.teachers.sampler import sampling_teacher
from hstar.slots.teachers.teacher import one_of, share, whole_number

ROLLOUTS = sampling_teacher(
    "states around rollouts from the goal, with upper bounds (RSL, N-RSL)",
    sample_rollouts,
    KINDS,
    {
        "rollouts": (whole_number(1), "from the goal"),
        "length": (whole_number(1), "steps of a rollout"),
        "novelty": (one_of(*NOVELTIES), "what a rollout prefers"),
    },
)

FOCUSED = sampling_teacher(
    "states near the goal and along walks away from it, with upper bounds (FSM)",
    sample_focused,
    KINDS,
    {
        "breadth_first": (share, "of the pre-images, found breadth-first"),
        "length": (whole_number(0), "where walks end; 0: facts / mean effects"),
        "stride": (whole_number(1), "one set in so many along a walk is used"),
    },
)
