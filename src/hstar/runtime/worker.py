"""A worker process of `hstar.runtime.pool`: it calls one function after another.

The first message on standard input is the module search path. Each further message is a function
and its arguments, and is answered on standard output. All messages are pickled.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

from hstar.runtime.faults import blame_user, fault_of_user
from hstar.runtime.resources import end_with_parent


def main() -> None:
    end_with_parent(os.getppid())
    libc = ctypes.CDLL(None)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a job prints must not get between the answers
    requests = sys.stdin.buffer
    sys.path[:] = pickle.load(requests)
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        forget_peak_memory()
        answers.write(_answer(function, arguments))
        answers.flush()
        del function, arguments
        gc.collect()
        if hasattr(libc, "malloc_trim"):  # glibc only: give memory back to the system
            libc.malloc_trim(0)


def _answer(function: Any, arguments: Any) -> bytes:
    try:
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:
        details, fault = traceback.format_exc(), fault_of_user(error)
        blame_user(error, fault)
        error.add_note(f"in a worker process:\n{details}")
        try:
            content = pickle.dumps((False, error))
            pickle.loads(content)  # not every exception can be rebuilt from its arguments
        except Exception:
            error = RuntimeError(f"in a worker process:\n{details}")
            blame_user(error, fault)
            content = pickle.dumps((False, error))
        return content


def forget_peak_memory() -> None:
    """Reset the measurement of peak memory, if the kernel allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
