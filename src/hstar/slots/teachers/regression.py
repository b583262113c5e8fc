"""Teachers that search backwards from the goal: "regression" (RSL, N-RSL) and "fsm"."""

from __future__ import annotations

from hstar.slots.teachers.backward import KINDS, NOVELTIES, sample_focused, sample_walks
from hstar.slots.teachers.sampler import sampling_teacher
from hstar.slots.teachers.teacher import one_of, share, whole_number

WALKS = sampling_teacher(
    "states around walks from the goal, with upper bounds (RSL, N-RSL)",
    sample_walks,
    KINDS,
    {
        "walks": (whole_number(1), "backward from the goal"),
        "length": (whole_number(1), "steps of a walk"),
        "novelty": (one_of(*NOVELTIES), "what a walk prefers"),
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
