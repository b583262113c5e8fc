"""A short run of the parser fuzzer; run tests/support/fuzz_parser.py for a long one."""

from __future__ import annotations

from fuzz_parser import fuzz


def test_mutants_only_ever_raise_pddl_errors() -> None:
    outcomes = fuzz(2000, seed=1)
    assert sum(outcomes.values()) == 2000
    assert {"parsed", "error in domain", "error in problem"} <= set(outcomes)
