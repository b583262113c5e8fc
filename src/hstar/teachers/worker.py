"""A process that labels one problem after another, so that a crash costs one problem at most.

Requests come as lines of JSON on standard input, answers go as lines of JSON to standard output. A
thread of its own reads the requests: when the input ends, whoever asked is gone, and the process
ends at once, even in the middle of a search.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from typing import Any, BinaryIO

from hstar import _core
from hstar.pddl import Domain, UnsupportedPddlError
from hstar.pddl.domain import read_domain
from hstar.pddl.errors import InputFileError
from hstar.pddl.source import source_from_bytes
from hstar.runtime.resources import Budget
from hstar.search import InvalidPlanError
from hstar.teachers.attempt import Attempt, read_problem_text
from hstar.teachers.optimal import label_optimally
from hstar.teachers.plans import label_given_plan


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write between the answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True)
    reader.start()
    domains: dict[str, Domain] = {}
    while True:
        answer = _answer(json.loads(requests.get()), domains)
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _read(stream: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    for line in stream:
        requests.put(line)
    os._exit(0)


def _answer(request: dict[str, Any], domains: dict[str, Domain]) -> dict[str, Any]:
    """The attempt, or the error that must end the whole run."""
    try:
        attempt = _attempt(request, domains)
    except InputFileError as error:
        kind = "unsupported" if isinstance(error, UnsupportedPddlError) else "input"
        where = [error.message, error.path, error.line, error.column]
        return {"error": kind, "details": where}
    except MemoryError:
        attempt = Attempt("out of memory")
    except InvalidPlanError as error:
        return {"error": "invalid plan", "details": [str(error)]}
    except Exception:
        return {"error": "internal", "details": [traceback.format_exc()]}
    return {"attempt": attempt.to_json(), "peak_bytes": _core.peak_resident_bytes()}


def _attempt(request: dict[str, Any], domains: dict[str, Domain]) -> Attempt:
    text = request["domain"]
    if text not in domains:
        source = source_from_bytes("domain.pddl", text.encode())
        domains[text] = read_domain(source)
    budget = Budget.starting_now(request["time_limit"], request["memory_limit"])
    problem = read_problem_text(request["path"], request["problem"], domains[text], request["cost"])
    if request["plan"] is not None:
        return label_given_plan(problem, request["plan"])
    return label_optimally(problem, budget, request["max_expansions"])


if __name__ == "__main__":
    main()
