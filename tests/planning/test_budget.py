"""Budgets of time and memory for Python code."""

import signal

import pytest

from hstar.runtime import resources
from hstar.runtime.resources import Budget


def test_a_late_alarm_does_not_start_the_timer_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An alarm may come just before the timer is stopped, and its handler run just after."""
    stop = resources._stop_timer

    def stop_with_a_late_handler() -> None:
        stop()
        handler = signal.getsignal(signal.SIGALRM)
        assert callable(handler)
        handler(signal.SIGALRM, None)

    monkeypatch.setattr(resources, "_stop_timer", stop_with_a_late_handler)
    before = signal.getsignal(signal.SIGALRM)
    try:
        with Budget.starting_now(1000, 2**40).enforced():
            pass
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) == before
    finally:
        stop()
